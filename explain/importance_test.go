package explain

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/psi-shapley/psi/table"
)

// Importances are the mean sizes of attributions, worked out here player by player in the plainest way.
func TestImportances(t *testing.T) {
	rng := newRand(t)
	const rows, outputs, players = 40, 2, 3
	e := &Explanation{Mode: Fast, Scale: Score, Z: 1, Top: 1, Outputs: []string{"a", "b"}, Players: []string{"x", "y", "z"}, Rows: rows}
	for range rows {
		for d := range players {
			e.Observed = append(e.Observed, d != 1 || rng.IntN(3) > 0)
		}
	}
	for i := range rows * outputs * players {
		mean, std := rng.NormFloat64(), rng.Float64()
		if !e.Observed[i/(outputs*players)*players+i%players] {
			mean, std = 0, 0
		}
		e.Mean, e.Std = append(e.Mean, mean), append(e.Std, std)
	}
	for output := range outputs {
		for _, some := range [][]int{nil, {3, 5, 8, 20}} {
			list := e.Importances(output, some)
			if !slices.IsSortedFunc(list, func(a, b Importance) int { return int(math.Copysign(1, b.Mean-a.Mean)) }) {
				t.Errorf("not by size: %+v", list)
			}
			chosen := some
			if chosen == nil {
				for r := range rows {
					chosen = append(chosen, r)
				}
			}
			doubts := 0.0
			for _, im := range list {
				sum, n := 0.0, 0
				for _, r := range chosen {
					sum += math.Abs(e.Mean[(r*outputs+output)*players+im.Player])
					if e.Observed[r*players+im.Player] {
						n++
					}
				}
				if math.Abs(im.Mean-sum/float64(len(chosen))) > 1e-12 || im.Observed != n || im.Low > im.High {
					t.Errorf("output %d, rows %v: %+v, but the mean is %g and %d are observed", output, some, im, sum/float64(len(chosen)), n)
				}
				doubts += im.Spread
			}
			if math.Abs(doubts-1) > 1e-12 {
				t.Errorf("shares of doubt add up to %g", doubts)
			}
		}
	}
}

func TestQuantile(t *testing.T) {
	for share, want := range map[float64]float64{0: 1, .25: 2, .5: 3, .6: 3.4, 1: 5} {
		if got := Quantile([]float64{1, 2, 3, 4, 5}, share); math.Abs(got-want) > 1e-12 {
			t.Errorf("quantile %g is %g, want %g", share, got, want)
		}
	}
}

// The tally of two halves is that of the whole, and its means are those of plain loops.
func TestTally(t *testing.T) {
	e := randomExplanation(newRand(t), shape{rows: 40, outputs: 2, players: 3, probability: true})
	whole, left, right := NewTally(e.Outputs, e.Players), NewTally(e.Outputs, e.Players), NewTally(e.Outputs, e.Players)
	second, err := e.Only(e.Outputs[1])
	if err != nil {
		t.Fatal(err)
	}
	if !whole.Add(e) || !whole.Add(second) || !left.Add(e) || !right.Add(second) {
		t.Fatal("finite numbers have sums that are not")
	}
	left.Merge(right)
	if left.Rows != 80 || !slices.Equal(left.OutputRows, []int{40, 80}) || !slices.Equal(left.Missing, whole.Missing) {
		t.Errorf("%d rows, %v of the outputs, missing %v and %v", left.Rows, left.OutputRows, left.Missing, whole.Missing)
	}
	for output := range 2 {
		for d := range 3 {
			size, std, residual := 0.0, 0.0, 0.0
			for row := range 40 {
				size += math.Abs(e.Mean[(row*2+output)*3+d]) / 40
				std += e.Std[(row*2+output)*3+d] / 40
			}
			for _, r := range e.Residual {
				residual = max(residual, math.Abs(r))
			}
			for name, pair := range map[string][2]float64{
				"size": {left.MeanSize(output)[d], size}, "of the whole": {whole.MeanSize(output)[d], size},
				"std": {left.MeanStd(output)[d], std}, "residual": {left.Residual, residual},
			} {
				if math.Abs(pair[0]-pair[1]) > 1e-12*(1+pair[1]) {
					t.Errorf("output %d, player %d: %s %v, want %v", output, d, name, pair[0], pair[1])
				}
			}
		}
	}
}

func TestTallyLeavesOut(t *testing.T) {
	e := randomExplanation(newRand(t), shape{rows: 3, outputs: 1, players: 2})
	tally := NewTally(e.Outputs, e.Players)
	against := *e
	against.Against = "row 8"
	if tally.Add(&against); tally.Rows != 0 || tally.MeanSize(0) != nil {
		t.Error("differences were counted")
	}
	e.Mean[1] = math.Inf(1)
	if tally.Add(e) {
		t.Error("an infinite sum is called finite")
	}
	if tally.Clear(); tally.Rows != 0 || tally.Size[1] != 0 {
		t.Error("something is left")
	}
}

// The mean doubt of a tally is that of plain loops. It is not known if it is not of some rows, or the tally is of an older version.
func TestTallyOfDoubt(t *testing.T) {
	rng := newRand(t)
	e, more := randomExplanation(rng, shape{rows: 30, outputs: 2, players: 3, doubt: true}), randomExplanation(rng, shape{rows: 10, outputs: 2, players: 3, doubt: true})
	tally, part := NewTally(e.Outputs, e.Players), NewTally(e.Outputs, e.Players)
	if !tally.Add(e) || !part.Add(more) {
		t.Fatal("finite numbers have sums that are not")
	}
	tally.Merge(part)
	for output := range 2 {
		for d := range 3 {
			want := 0.0
			for _, x := range []*Explanation{e, more} {
				for row := range x.Rows {
					want += x.ModelStd[(row*2+output)*3+d] / 40
				}
			}
			if got := tally.MeanModelStd(output)[d]; math.Abs(got-want) > 1e-12*(1+want) || want == 0 {
				t.Errorf("output %d, player %d: %v, want %v", output, d, got, want)
			}
		}
	}
	older := NewTally(e.Outputs, e.Players)
	older.Add(more)
	older.ModelStd, older.DoubtRows = nil, nil
	bare := *more
	bare.ModelStd, bare.Bags = nil, 0
	unknown := NewTally(e.Outputs, e.Players)
	unknown.Add(&bare)
	for what, other := range map[string]*Tally{"an older tally": older, "no doubt": unknown} {
		if other.MeanModelStd(0) != nil {
			t.Errorf("%s has a mean doubt", what)
		}
		all := NewTally(e.Outputs, e.Players)
		all.Add(e)
		if all.Merge(other); all.MeanModelStd(1) != nil || all.MeanStd(1) == nil {
			t.Errorf("with %s, the mean doubt is known", what)
		}
	}
	if tally.Clear(); tally.DoubtRows[0] != 0 || tally.ModelStd[1] != 0 {
		t.Error("something is left")
	}
}

// Labels make cohorts by how common they are, many numbers halves; rows without a value are in none.
func TestCohorts(t *testing.T) {
	towns := table.CategoryColumn("town", []string{"b", "a", "b", "c", "", "a", "b"}, []bool{true, true, true, true, false, true, true})
	got := Cohorts(towns)
	if len(got) != 3 || got[0].Name != "b" || !slices.Equal(got[0].Rows, []int{0, 2, 6}) || got[1].Name != "a" || got[2].Name != "c" {
		t.Errorf("towns: %+v", got)
	}
	ages := table.NumberColumn("age", []float64{1, 2, 3, 4, 5, 6, 7, 8, math.NaN()}, nil)
	got = Cohorts(ages)
	if len(got) != 2 || got[0].Name != "up to 4.5" || !slices.Equal(got[0].Rows, []int{0, 1, 2, 3}) || !slices.Equal(got[1].Rows, []int{4, 5, 6, 7}) {
		t.Errorf("ages: %+v", got)
	}
	if got := Cohorts(table.NumberColumn("none", []float64{math.NaN()}, nil)); len(got) != 0 {
		t.Errorf("a column without values has cohorts: %+v", got)
	}
}

// Each of a few values is a cohort of its own, as the hours of a day are: numbers in their order, labels by how common they are.
func TestCohortsOfFewValues(t *testing.T) {
	const rows = 240
	numbers := func(values int) *table.Column {
		list := make([]float64, rows)
		for i := range list {
			list[i] = float64((rows - i) % values)
		}
		return table.NumberColumn("hr", list, nil)
	}
	labels := func(values int) *table.Column {
		list := make([]string, rows)
		for i := range list {
			list[i] = fmt.Sprintf("label %02d", (i*i)%values)
		}
		return table.CategoryColumn("town", list, nil)
	}
	for _, c := range []struct{ values, want int }{{2, 2}, {24, 24}, {31, 31}, {32, 2}, {100, 2}} {
		got := Cohorts(numbers(c.values))
		if len(got) != c.want {
			t.Errorf("%d cohorts of %d values, want %d", len(got), c.values, c.want)
		}
		for i, cohort := range got {
			if c.want > 2 && cohort.Name != fmt.Sprint(i) {
				t.Errorf("cohort %d of %d values is %s", i, c.values, cohort.Name)
			}
		}
	}
	many := Cohorts(labels(127))
	if len(many) != maxBars || len(Cohorts(labels(13))) != 7 { // squares modulo 13
		t.Errorf("%d cohorts of many labels, %d of seven", len(many), len(Cohorts(labels(13))))
	}
	for i := range many[1:] {
		if len(many[i].Rows) < len(many[i+1].Rows) {
			t.Errorf("%s comes before %s", many[i].Name, many[i+1].Name)
		}
	}
	own := make([]float64, 30)
	for i := range own {
		own[i] = float64(i * i)
	}
	if got := Cohorts(table.NumberColumn("own", own, nil)); len(got) != 2 {
		t.Errorf("%d cohorts of 30 rows with 30 values", len(got))
	}
	gains := make([]float64, 300) // nearly all 0
	copy(gains, own[:20])
	if got := Cohorts(table.NumberColumn("gain", gains, nil)); len(got) != 2 {
		t.Errorf("%d cohorts of a column that is nearly always 0", len(got))
	}
}
