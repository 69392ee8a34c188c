package proof

import (
	"slices"
	"strings"
	"testing"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/internal/synth"
)

// The table of docs/adr/0027-importance-in-loss.md: columns that matter are found, a copy as well as its original, and of
// columns that do not matter at most one in 20 is. 200 labels of two classes say less: some columns of logit are missed.
func TestImportanceInLoss(t *testing.T) {
	slow(t)
	for _, c := range []struct {
		set, matter string
		mayMiss     int // of the columns that matter, over all seeds
	}{{"null", "x1 x2 x3", 0}, {"copy", "x1 x2 x3 x2_copy", 0}, {"logit", "x1 x2 x3", 7}} {
		t.Run(c.set, func(t *testing.T) {
			matter := strings.Fields(c.matter)
			missed, noise, wrong := 0, 0, 0
			for seed := uint64(1); seed <= 5; seed++ {
				s, err := synth.Generate(c.set, 2000, seed)
				check(t, err)
				rows, err := s.Table()
				check(t, err)
				m, err := psi.Train(t.Context(), rows.Source(), psi.Config{Target: "y", Seed: seed})
				check(t, err)
				for _, x := range m.StoredAudit().LossImportance {
					t.Logf("%s, seed %d: %-7s %8.4f ± %.4f, p %.2g, found %v", c.set, seed, x.Player, *x.Mean, *x.StandardError, *x.P, x.Found)
					matters := slices.Contains(matter, x.Player)
					if !matters {
						noise++
					}
					if matters && !x.Found {
						missed++
					}
					if !matters && x.Found {
						wrong++
					}
				}
				m.Close()
			}
			t.Logf("%s: %d of %d columns that matter are missed, %d of %d others are found", c.set, missed, 5*len(matter), wrong, noise)
			if missed > c.mayMiss || 20*wrong > noise {
				t.Errorf("%s: %d columns that matter are missed, %d of %d others are found", c.set, missed, wrong, noise)
			}
		})
	}
}
