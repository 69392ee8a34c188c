package explain_test

import (
	"math"
	"testing"

	"github.com/psi-shapley/psi/explain"
)

// However many standard deviations are asked for, an interval has ends, and is no narrower than with fewer.
func TestReachIsFinite(t *testing.T) {
	for _, bags := range []int{2, 4, 8, 32, 100} {
		last := 0.0
		for _, z := range []float64{0.1, 1.96, 8, 20, 40, 4.5e16, math.MaxFloat64} {
			e := &explain.Explanation{Z: z, Bags: bags, ModelStd: []float64{1}}
			reach := e.Reach()
			if math.IsInf(reach, 0) || !(reach >= last) {
				t.Errorf("%d bags, z %g: reach %g, after %g", bags, z, reach, last)
			}
			last = reach
		}
	}
}
