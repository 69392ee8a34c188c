package train

import (
	"math"
	"testing"
)

func TestDropOutKeepsTheMean(t *testing.T) {
	rng := seeded(t, 1)
	for _, share := range []float64{0, 0.1, 0.5, 0.9} {
		kept := make([]float32, draws+3)
		dropOut(rng, share, kept)
		zeros := 0
		for i, v := range kept {
			switch v {
			case 0:
				zeros++
			case float32(1 / (1 - share)):
			default:
				t.Fatalf("share %g: element %d is %g", share, i, v)
			}
		}
		if got, bound := float64(zeros)/float64(len(kept)), 5*math.Sqrt(share*(1-share)/draws)+1.0/(1<<16); math.Abs(got-share) > bound {
			t.Errorf("share %g: %g of the elements are left out", share, got)
		}
	}
}
