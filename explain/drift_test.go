package explain

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// attributed is an explanation whose players' attributions are drawn.
func attributed(rows int, draw ...func() float64) *Explanation {
	e := onePrediction(make([]float64, len(draw)), make([]float64, len(draw)), 1)
	e.Rows, e.Mean, e.Observed = rows, nil, nil
	for range rows {
		for _, d := range draw {
			e.Mean, e.Observed = append(e.Mean, d()), append(e.Observed, true)
		}
	}
	e.Std = make([]float64, len(e.Mean))
	return e
}

func TestDriftsFindTheColumnThatMoved(t *testing.T) {
	rng := fixedRand(t, 3)
	normal := func(mean, std float64) func() float64 {
		return func() float64 { return mean + std*rng.NormFloat64() }
	}
	before := attributed(3000, normal(0, 1), normal(0, 1), normal(0, 2))
	after := attributed(2000, normal(0, 1), normal(.5, 1), normal(0, 2))
	list, err := Drifts(before, after, 0)
	if err != nil {
		t.Fatal(err)
	}
	if list[0].Player != "x1" || !list[0].Drifted() {
		t.Errorf("the column that moved is not first: %+v", list)
	}
	// The distance of N(0, 1) from N(μ, 1) is |μ|.
	if d := list[0].Distance; math.Abs(d-.5) > .1 {
		t.Errorf("distance %v of distributions .5 apart", d)
	}
	// E|N(μ, 1)| = √(2/π)·exp(−μ²/2) + μ·erf(μ/√2).
	change := math.Sqrt(2/math.Pi)*(math.Exp(-.125)-1) + .5*math.Erf(.5/math.Sqrt2)
	if x := list[0]; math.Abs(x.After-x.Before-change) > 4*x.ChangeError || x.ChangeError > .03 {
		t.Errorf("mean size changed by %v ± %v, not by %v", x.After-x.Before, x.ChangeError, change)
	}
}

// distances are those of tables of one column: the one observed, and the one beyond which there is an alarm.
func distances(a, b []float64, rng *rand.Rand) (distance, chance float64) {
	x := relabel([][]float64{a}, [][]float64{b}, rng)[0]
	return x.distance, x.chance
}

// Of tables from one distribution one in twenty is to be called drifted.
func TestDriftsByChance(t *testing.T) {
	const trials = 400
	rng := fixedRand(t, 5)
	called := 0
	for range trials {
		a, b := make([]float64, 150), make([]float64, 100)
		for _, list := range [][]float64{a, b} {
			for i := range list {
				list[i] = math.Exp(rng.NormFloat64())
			}
		}
		if distance, chance := distances(a, b, rand.New(rand.NewPCG(rng.Uint64(), 0))); distance > chance {
			called++
		}
	}
	if share := float64(called) / trials; share < .02 || share > .09 {
		t.Errorf("%.3f of pairs of equal tables are called drifted", share)
	}
}

func TestDistanceByHand(t *testing.T) {
	// 0 and 1 against 0 and 3: half of the mass moves by 2.
	if d, _ := distances([]float64{0, 1}, []float64{3, 0}, fixedRand(t, 1)); math.Abs(d-1) > 1e-12 {
		t.Errorf("distance %v, not 1", d)
	}
}

func TestDriftsOfOtherModels(t *testing.T) {
	a, b := attributed(3, func() float64 { return 1 }), attributed(3, func() float64 { return 1 })
	b.Model = "sha256:another"
	if _, err := Drifts(a, b, 0); err == nil {
		t.Error("explanations of two models were compared")
	}
}

// clustered are attributions of one column in units of some rows: half of their variance is the unit's own. Units are numbered from first on.
func clustered(rng *rand.Rand, first, units, rows int, shift float64) (x [][]float64, of []string) {
	for g := range units {
		common := rng.NormFloat64()
		for range rows {
			x, of = append(x, []float64{shift + common + rng.NormFloat64()}), append(of, fmt.Sprint(first+g))
		}
	}
	return x, of
}

// Tables of other units than before, from one distribution, differ by more than rows would: relabelling rows alarms far too often,
// relabelling units in one of twenty pairs. The standard error of the change is that of many such pairs.
func TestDriftByUnitsHoldsItsRate(t *testing.T) {
	const trials, groups, size = 400, 24, 10
	rng := fixedRand(t, 31)
	byRows, byUnits, found := 0, 0, 0
	var change, estimated float64
	for range trials {
		before, first := clustered(rng, 0, groups, size, 0)
		after, second := clustered(rng, groups, groups, size, 0)
		moved, _ := clustered(rng, groups, groups, size, 1.5)
		units := Units{first, second}
		drift := func(after [][]float64, units Units) Drift {
			list, err := DriftsBy(explained(before), explained(after), 0, units)
			if err != nil {
				t.Fatal(err)
			}
			return list[0]
		}
		if drift(after, Units{}).Drifted() {
			byRows++
		}
		same := drift(after, units)
		if same.Drifted() {
			byUnits++
		}
		if drift(moved, units).Drifted() {
			found++
		}
		change += math.Pow(same.After-same.Before, 2) / trials
		estimated += same.ChangeError * same.ChangeError / trials
	}
	t.Logf("alarms by rows in %d, by units in %d of %d; a shift was found in %d", byRows, byUnits, trials, found)
	if byRows < trials/4 || byUnits < trials/50 || byUnits > trials/11 || found < 9*trials/10 {
		t.Errorf("by rows %d, by units %d, found %d of %d", byRows, byUnits, found, trials)
	}
	if ratio := math.Sqrt(estimated / change); ratio < .85 || ratio > 1.15 {
		t.Errorf("standard errors of the change are %.2f of its deviation", ratio)
	}
}

// The same units at two times: what is their own is in both tables, and a small change of all shows.
func TestDriftOfTheSameUnits(t *testing.T) {
	const trials, groups, size = 300, 24, 10
	rng := fixedRand(t, 32)
	alarms, found := 0, 0
	for range trials {
		own := make([]float64, groups)
		for g := range own {
			own[g] = 3 * rng.NormFloat64()
		}
		visit := func(shift float64) (x [][]float64, of []string) {
			for g := range own {
				for range size {
					x, of = append(x, []float64{shift + own[g] + rng.NormFloat64()}), append(of, fmt.Sprint(g))
				}
			}
			return x, of
		}
		before, first := visit(0)
		for _, shift := range []float64{0, .5} {
			after, second := visit(shift)
			list, err := DriftsBy(explained(before), explained(after), 0, Units{first, second})
			switch {
			case err != nil:
				t.Fatal(err)
			case list[0].Drifted() && shift == 0:
				alarms++
			case list[0].Drifted():
				found++
			}
		}
	}
	t.Logf("alarms in %d of %d; a shift of a sixth of the units' deviation was found in %d", alarms, trials, found)
	if alarms < trials/60 || alarms > trials/11 || found < 95*trials/100 {
		t.Errorf("alarms %d, found %d of %d", alarms, found, trials)
	}
}

// A division keeps the rows of a unit in a table together, and as many units of one table alone in each.
func TestUnitsAreDividedAsWholes(t *testing.T) {
	u := Units{[]string{"a", "b", "a", "", "c"}, []string{"b", "d", "d", ""}}
	b := u.blocks()
	if u.Count() != 6 || len(b.both) != 1 || !slices.Equal(b.former, []bool{true, true, true, false, false}) {
		t.Fatalf("%d units, %+v", u.Count(), b)
	}
	divide, former, met := b.divider(fixedRand(t, 3)), make([]bool, 9), map[string]int{}
	for range 4000 {
		divide(former)
		alone := 0
		for _, row := range []int{0, 3, 4, 6, 8} {
			if former[row] {
				alone++
			}
		}
		if former[0] != former[2] || former[6] != former[7] || former[1] == former[5] || alone != 3 {
			t.Fatalf("%v", former)
		}
		met[fmt.Sprint(former)]++
	}
	for division, n := range met { // 2 · C(5, 3), equally likely
		if math.Abs(float64(n)-200) > 5*math.Sqrt(200) {
			t.Errorf("%s in %d of 4000", division, n)
		}
	}
	if len(met) != 20 {
		t.Errorf("%d divisions", len(met))
	}
}

// Few units cannot be divided in enough ways for an alarm.
func TestUnitsThatAreEnough(t *testing.T) {
	name := func(from, to int) (list []string) {
		for i := from; i < to; i++ {
			list = append(list, fmt.Sprint(i))
		}
		return list
	}
	for _, c := range []struct {
		units Units
		want  bool
	}{
		{Units{name(0, 3), name(3, 6)}, false}, // 20 divisions, 10 distances
		{Units{name(0, 4), name(4, 8)}, true},  // 70, 35
		{Units{name(0, 1), name(1, 20)}, false},
		{Units{name(0, 1), name(1, 40)}, true},
		{Units{name(0, 5), name(0, 5)}, false}, // 2⁵, 16
		{Units{name(0, 6), name(0, 6)}, true},
	} {
		if got := c.units.Enough(); got != c.want {
			t.Errorf("%v: %v", c.units, got)
		}
		before, after := make([][]float64, len(c.units.Before)), make([][]float64, len(c.units.After))
		for i := range before {
			before[i] = []float64{float64(i) / 1000}
		}
		for i := range after {
			after[i] = []float64{1000 + float64(i)/1000}
		}
		list, err := DriftsBy(explained(before), explained(after), 0, c.units)
		if err != nil || list[0].Drifted() != c.want {
			t.Errorf("%v: %+v, %v", c.units, list, err)
		}
	}
	if _, err := DriftsBy(explained([][]float64{{1}}), explained([][]float64{{1}}), 0, Units{Before: []string{"a"}}); err == nil {
		t.Error("units of one table alone are taken")
	}
}
