package explain

import (
	"math"
	"testing"
)

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
