package network_test

import (
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/psi-shapley/psi/internal/engine"
	"github.com/psi-shapley/psi/internal/form/formtest"
	"github.com/psi-shapley/psi/shapley"
)

// Where there are too many coalitions to enumerate, the exact head's attributions are
// held to 2,000 random orders of the players: 1,000 antithetic pairs, an order and its
// reverse. The distance is at most 3 standard errors for 99 in 100 attributions (of
// normal errors it would be for 99.7). It takes minutes; set PSI_SLOW to run it.
func TestExactHeadAgreesWithSampling(t *testing.T) {
	if os.Getenv("PSI_SLOW") == "" {
		t.Skip("slow: set PSI_SLOW to run it")
	}
	const (
		pairs  = 1000
		errors = 3    // standard errors that are allowed
		share  = 0.99 // of attributions that must be so near
		// Antithetic pairs are exact if players interact only in twos, so standard
		// errors can be as small as rounding is. They are not taken to be smaller.
		rounding = 1e-6 // of the root-mean-square attribution
	)
	backend, why, err := engine.Open("auto")
	if err != nil {
		t.Fatal(err)
	}
	t.Log(why)
	for _, c := range []struct{ players, rows int }{{57, 6}, {128, 2}} {
		for _, k := range exactKinds {
			t.Run(fmt.Sprintf("%s/players=%d", k.name, c.players), func(t *testing.T) {
				rng := fixedRand(t, 1)
				config := k.small(c.players, 1)
				config.Rank = 2
				config.Channels = 16 // with few, the errors of a row go together: 99 of 100 is then missed by chance
				s := newSubject(t, backend, config, rng)
				rows := formtest.Rows(rng, s.Inputs, c.rows, 0)
				e := s.evaluator(t, s.exactNodes())
				exact := explain(t, e, rows).Attributions
				floor := rounding * rootMeanSquare(exact)
				near, square := 0, 0.0
				var se []float64
				for i := range c.rows {
					sampled, err := shapley.Permutation(t.Context(), e.RowGame(rows, i), pairs, rng)
					if err != nil {
						t.Fatal(err)
					}
					for d := range c.players {
						se = append(se, max(sampled.StandardError(0, d), floor))
						distance := (float64(exact[i*c.players+d]) - sampled.At(0, d)) / se[len(se)-1]
						square += distance * distance / float64(len(exact))
						if math.Abs(distance) <= errors {
							near++
						}
					}
				}
				got := float64(near) / float64(len(exact))
				t.Logf("%.1f %% of %d attributions within %d standard errors, mean square %.2f", 100*got, len(exact), errors, square)
				t.Logf("standard errors are %.1e of the attributions", rootMeanSquare(se)/rootMeanSquare(exact))
				if got < share {
					t.Errorf("only %.1f %%", 100*got)
				}
			})
		}
	}
}

func rootMeanSquare[T float32 | float64](x []T) float64 {
	sum := 0.0
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	return math.Sqrt(sum / float64(len(x)))
}
