package explain

import (
	"math"
	"slices"
	"testing"
)

// Reasons are all players whose interval holds no 0, and only those, by size.
func TestReasonsAreSure(t *testing.T) {
	rng := newRand(t)
	for range 200 {
		n := 1 + rng.IntN(8)
		mean, std := make([]float64, n), make([]float64, n)
		for d := range mean {
			mean[d], std[d] = rng.NormFloat64(), rng.Float64()*float64(rng.IntN(2))
		}
		e := onePrediction(mean, std, 1)
		absent := rng.IntN(n)
		e.Observed[absent], e.Mean[absent], e.Std[absent] = false, 0, 0
		reasons := e.Reasons(0, 0, n)
		for d := range n {
			low, high := e.Mean[d]-e.Z*e.Std[d], e.Mean[d]+e.Z*e.Std[d]
			if sure := low > 0 || high < 0; sure != slices.Contains(reasons, d) {
				t.Errorf("player %d, from %g to %g: a reason is %v", d, low, high, !sure)
			}
		}
		for i := 1; i < len(reasons); i++ {
			if math.Abs(e.Mean[reasons[i]]) > math.Abs(e.Mean[reasons[i-1]]) {
				t.Errorf("reasons %v of means %v are not by size", reasons, e.Mean)
			}
		}
		if few := e.Reasons(0, 0, 1); len(few) > 1 || len(few) == 1 && few[0] != reasons[0] {
			t.Errorf("one of %v is %v", reasons, few)
		}
	}
}
