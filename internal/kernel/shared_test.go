package kernel_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/form/formtest"
	"github.com/psi-shapley/psi/internal/kernel"
)

// σ_d that classes share is the formula's, in double precision, from weights that are read one by one: the same for each class.
func TestSharedSigmaByHand(t *testing.T) {
	c := cases()["classes that share σ"]
	c.Inputs = form.Inputs{Levels: []int{2, 3, 4}}
	c.Hidden = 0
	rng := rand.New(rand.NewPCG(11, 0))
	weights := formtest.Weights(rng, c)
	rows := formtest.Rows(rng, c.Inputs, 9, .2)
	relu := func(x float64) float64 { return max(x, 0) }
	w := func(name string, at int) float64 { return float64(weights[name][at]) }
	for set, n := range kernel.OnEach(c, weights, 3) {
		x, err := n.Pass(t.Context(), rows, form.Everything)
		if err != nil {
			t.Fatal(err)
		}
		for r := range rows.Rows {
			for d := range 3 {
				last := w("sigma_out_bias", d)
				for j := range c.SigmaWidth {
					inner := w("sigma_in_bias", d*c.SigmaWidth+j)
					for i := range c.Embedding {
						z := relu(w("levels", int(rows.Codes[r*3+d])*c.Embedding+i))
						inner += z * w("sigma_in", (d*c.Embedding+i)*c.SigmaWidth+j)
					}
					for k := range form.ContextWidth {
						lifted := w("sigma_context_bias", d*form.ContextWidth+k)
						for o := range c.Outputs {
							lifted += float64(x.Value[r*c.Outputs+o]) * w("sigma_context", (d*c.Outputs+o)*form.ContextWidth+k)
						}
						inner += relu(lifted) * w("sigma_lifted", (d*form.ContextWidth+k)*c.SigmaWidth+j)
					}
					last += relu(inner) * w("sigma_out", d*c.SigmaWidth+j)
				}
				want := float64(rows.Observed[r*3+d]) * w("noise_scale", 0) * math.Log1p(math.Exp(last))
				for o := range c.Outputs {
					if got := float64(x.Std[(r*c.Outputs+o)*3+d]); math.Abs(got-want) > 1e-5*(1+want) {
						t.Fatalf("%s: σ of column %d for class %d is %v, want %v", set, d, o, got, want)
					}
				}
			}
		}
	}
}
