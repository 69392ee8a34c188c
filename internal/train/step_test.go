package train

import (
	"math"
	"testing"

	"github.com/psi-shapley/psi/internal/form"
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

// Every row of a large table is seen, at any size.
func TestStepsGrowWithRows(t *testing.T) {
	for _, classes := range []bool{false, true} {
		last := 0
		for _, rows := range []int{1e4, 3e4, 1e5, 1e6, 1e8} {
			c := Default(form.Exact, form.Size{Rows: rows, Columns: 10, Classes: classes})
			if c.Steps < last || c.Steps*c.Batch < rows {
				t.Errorf("%d rows (classes: %v): %d steps of %d rows", rows, classes, c.Steps, c.Batch)
			}
			last = c.Steps
		}
	}
}
