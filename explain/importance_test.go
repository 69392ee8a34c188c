package explain

import (
	"math"
	"slices"
	"testing"
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
