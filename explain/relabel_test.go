package explain

import (
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

// quantileDistance is Wasserstein's distance of samples of one size: the mean distance of their values by rank.
func quantileDistance(a, b []float64) float64 {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	sum := 0.0
	for i := range a {
		sum += math.Abs(a[i]-b[i]) / float64(len(a))
	}
	return sum
}

// Distances and adjusted p are those of the definition: the same divisions of the rows, made one by one.
func TestRelabelIsTheDefinition(t *testing.T) {
	const rows, columns = 40, 5
	rng := fixedRand(t, 7)
	first, second := make([][]float64, columns), make([][]float64, columns)
	for d := range columns {
		for range rows {
			first[d] = append(first[d], math.Exp(rng.NormFloat64()))
			second[d] = append(second[d], math.Exp(rng.NormFloat64()+.2*float64(d)))
		}
	}
	got := relabel(first, second, rand.New(rand.NewPCG(3, 0)))

	shuffled := rand.New(rand.NewPCG(3, 0))
	labels := slices.Concat(make([]int, rows), slices.Repeat([]int{1}, rows))
	divided := func(d int) float64 {
		var parts [2][]float64
		for i, x := range slices.Concat(first[d], second[d]) {
			parts[labels[i]] = append(parts[labels[i]], x)
		}
		return quantileDistance(parts[0], parts[1])
	}
	var observed [columns]float64
	for d := range observed {
		observed[d] = divided(d)
	}
	var random [199][columns]float64
	for b := range random {
		shuffled.Shuffle(len(labels), func(i, j int) { labels[i], labels[j] = labels[j], labels[i] })
		for d := range columns {
			random[b][d] = divided(d)
		}
	}
	// standard is x in units of the deviation of the distances of a column and of extra ones, about their mean.
	standard := func(x float64, d int, extra ...float64) float64 {
		n, sum, squares := 0.0, 0.0, 0.0
		for b := range random {
			extra = append(extra, random[b][d])
		}
		for _, v := range extra {
			n, sum, squares = n+1, sum+v, squares+v*v
		}
		return (x - sum/n) / math.Sqrt(squares/n-sum*sum/n/n)
	}
	for d := range columns {
		above := 0
		for b := range random {
			for j := range columns {
				if standard(random[b][j], j) >= standard(observed[d], d, observed[d]) {
					above++
					break
				}
			}
		}
		if p := float64(1+above) / 200; math.Abs(got[d].distance-observed[d]) > 1e-12 || got[d].p != p {
			t.Errorf("column %d: %+v, want distance %v and p %v", d, got[d], observed[d], p)
		}
		if x := got[d]; (x.distance > x.chance) != (x.p <= .05) {
			t.Errorf("column %d: distance %v beside chance %v, but p = %v", d, x.distance, x.chance, x.p)
		}
	}
	if got[columns-1].p > .05 || got[0].p <= .05 {
		t.Errorf("the test needs columns with and without an alarm: %+v", got)
	}
}

// Ten of 199 relabellings at or above T are one too many for p ≤ .05, and a distance of chance is where the tenth is
// reached: 190 has T = 90/√3300 among 1 … 199, and x among these and itself has it at 100 + 90 √(200/(199 − 90²/3300)).
func TestAlarmsBeginAtOneInTwenty(t *testing.T) {
	random := make([][]float64, relabellings)
	for b := range random {
		random[b] = []float64{float64(b + 1)}
	}
	chance := 100 + 90*math.Sqrt(200/(199-8100./3300))
	for distance, p := range map[float64]float64{250: 1. / 200, chance + .01: .05, chance - .01: 11. / 200, 190: 11. / 200, 0: 1} {
		x := maxT([]float64{distance}, random)[0]
		if math.Abs(x.p-p) > 1e-15 || (Drift{P: x.p}).Drifted() != (distance > chance) || math.Abs(x.chance-chance) > 1e-9 {
			t.Errorf("distance %v: %+v, want p %v and chance %v", distance, x, p, chance)
		}
	}
}

// If nothing has changed, there is some alarm in one of twenty comparisons, of few columns and of many.
func TestRateOfAlarmsDoesNotGrowWithColumns(t *testing.T) {
	rng := fixedRand(t, 22)
	repeats := 1500
	if os.Getenv("PSI_SLOW") != "" {
		repeats = 5000
	}
	for _, columns := range []int{1, 100} {
		draw := func() []float64 {
			x := make([]float64, columns)
			for d := range x {
				x[d] = math.Abs(rng.NormFloat64()) + math.Abs(rng.NormFloat64())
			}
			return x
		}
		alarms := 0
		for range repeats {
			random := make([][]float64, relabellings)
			for b := range random {
				random[b] = draw()
			}
			if slices.ContainsFunc(maxT(draw(), random), func(x standing) bool { return x.p <= alarm }) {
				alarms++
			}
		}
		share := float64(alarms) / float64(repeats)
		t.Logf("%d columns: some alarm in %.2f %% of %d", columns, 100*share, repeats)
		if sd := math.Sqrt(.05 * .95 / float64(repeats)); math.Abs(share-.05) > 3*sd {
			t.Errorf("%d columns: some alarm in %.4f", columns, share)
		}
	}
}

// A distance that every division of the rows gives is no alarm, neither is the rounding of one.
func TestColumnsWithoutVariationDoNotAlarm(t *testing.T) {
	const rows = 30
	constant, once, absent := slices.Repeat([]float64{.1}, rows), slices.Repeat([]float64{.1}, rows), slices.Repeat([]float64{.1}, rows)
	once[4] = .7
	for d, x := range relabel([][]float64{constant, absent}, [][]float64{constant, once}, fixedRand(t, 2)) {
		if x.p != 1 || x.distance > x.chance {
			t.Errorf("column %d: %+v", d, x)
		}
	}
	random := slices.Repeat([][]float64{{.1}}, relabellings)
	if x := maxT([]float64{.5}, random)[0]; x.p != 1 || x.chance < .5 {
		t.Errorf("a distance apart from all relabellings, which are equal: %+v", x)
	}
}

// twelve are the attributions of columns as tables have them: some go together, some are skewed, a few values, or almost
// always 0.
func twelve(rng *rand.Rand) []float64 {
	x := make([]float64, 12)
	common := rng.NormFloat64()
	for d := range 4 {
		x[d] = .95*common + .31*rng.NormFloat64()
	}
	x[4] = -x[0]
	x[5] = x[1] * x[1]
	x[6] = math.Exp(1.5 * rng.NormFloat64())
	x[7] = float64(rng.IntN(3))
	if rng.IntN(50) == 0 {
		x[8] = 1 + rng.NormFloat64()
	}
	for d := 9; d < len(x); d++ {
		x[d] = rng.NormFloat64()
	}
	return x
}

// explained is an explanation with these attributions.
func explained(rows [][]float64) *Explanation {
	e := attributed(0, make([]func() float64, len(rows[0]))...)
	for _, x := range rows {
		e.Mean = append(e.Mean, x...)
		e.Observed = append(e.Observed, slices.Repeat([]bool{true}, len(x))...)
	}
	e.Rows, e.Std = len(rows), make([]float64, len(e.Mean))
	return e
}

func drifted(t *testing.T, before, after [][]float64) (names []string) {
	t.Helper()
	list, err := Drifts(explained(before), explained(after), 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range list {
		if d.Drifted() {
			names = append(names, d.Player)
		}
	}
	return names
}

// Of two halves of one table some column is called drifted in one of twenty divisions, however many columns there are.
func TestHalvesOfOneTable(t *testing.T) {
	repeats, size := 200, 400
	if os.Getenv("PSI_SLOW") != "" {
		repeats, size = 2000, 2000
	}
	rng := fixedRand(t, 11)
	rows := make([][]float64, size)
	for i := range rows {
		rows[i] = twelve(rng)
	}
	alarms := 0
	for range repeats {
		rng.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		if len(drifted(t, rows[:size/2], rows[size/2:])) > 0 {
			alarms++
		}
	}
	share := float64(alarms) / float64(repeats)
	t.Logf("some alarm in %.2f %% of %d divisions of %d rows", 100*share, repeats, size)
	if share < .015 || share > .08 {
		t.Errorf("some alarm in %.3f of the divisions of one table", share)
	}
}

// A shift of .3 deviations in one of twelve columns is found.
func TestShiftOfOneColumn(t *testing.T) {
	const rows = 2000
	repeats := 20
	if os.Getenv("PSI_SLOW") != "" {
		repeats = 200
	}
	rng := fixedRand(t, 12)
	found, others := 0, 0
	for range repeats {
		var before, after [][]float64
		for range rows {
			x := twelve(rng)
			x[10] += .3
			before, after = append(before, twelve(rng)), append(after, x)
		}
		names := drifted(t, before, after)
		if slices.Contains(names, "x10") {
			found++
		}
		if slices.ContainsFunc(names, func(name string) bool { return name != "x10" }) {
			others++
		}
	}
	t.Logf("the shift was found in %d of %d pairs of tables; another column had an alarm in %d", found, repeats, others)
	if float64(found) < .95*float64(repeats) || float64(others) > .1*float64(repeats) {
		t.Errorf("found %d and others %d of %d", found, others, repeats)
	}
}

// Long tables are compared by some of their rows, taken from all over them.
func TestLongTablesAreSampled(t *testing.T) {
	const rows = 4 * maxCompared
	level := func(i int) float64 { return float64(i) / rows }
	var before, after [][]float64
	for i := range rows {
		before, after = append(before, []float64{level(i)}), append(after, []float64{level(rows - 1 - i)})
	}
	list, err := Drifts(explained(before), explained(after), 0)
	if err != nil {
		t.Fatal(err)
	}
	// Whole tables would have a distance of 0, and their first rows one of ¾.
	if d := list[0]; d.Distance == 0 || d.Distance > .02 || d.Drifted() {
		t.Errorf("%+v", d)
	}
}
