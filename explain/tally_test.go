package explain

import (
	"math"
	"slices"
	"testing"
)

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
