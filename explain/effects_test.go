package explain

import (
	"math"
	"testing"
)

// Main effects and interactions add up to what the attributions add up to, whatever these are.
func TestEffectsAddUp(t *testing.T) {
	rng := newRand(t)
	for range 20 {
		e := randomExplanation(rng, shape{rows: 2, outputs: 2, players: 1 + rng.IntN(8), interactions: true})
		for row := range e.Rows {
			for output := range e.Outputs {
				var got, want, size float64
				for _, x := range e.Effects(row, output) {
					got, size = got+x.Value, size+math.Abs(x.Value)
					if !e.observed(row)[x.A] || x.B >= 0 && !e.observed(row)[x.B] {
						t.Errorf("%+v is of a player that is not there", x)
					}
				}
				for _, phi := range e.means(row, output) {
					want += phi
				}
				if math.Abs(got-want) > 1e-12*math.Max(1, size) {
					t.Errorf("effects add up to %g, attributions to %g", got, want)
				}
			}
		}
	}
}

// The effects of y = 2a + 3b + 4ab at a = b = 1, absent columns being 0: φ_a = 2 + 4/2, φ_b = 3 + 4/2, I_ab = 4.
func TestEffectsOfAProduct(t *testing.T) {
	e := onePrediction([]float64{4, 5}, []float64{0, 0}, 1)
	e.Interactions = []float64{0, 4, 4, 0}
	want := []Effect{{0, -1, 2}, {1, -1, 3}, {0, 1, 4}}
	got := e.Effects(0, 0)
	if len(got) != len(want) {
		t.Fatalf("got %+v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("effect %d is %+v, want %+v", i, got[i], want[i])
		}
	}
}
