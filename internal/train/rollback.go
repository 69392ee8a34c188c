package train

import (
	"context"
	"fmt"
	"math"
)

const (
	slowerBy     = 0.3 // factor of the learning rate after a rollback
	maxRollbacks = 5   // per phase
)

func isFinite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// rollBack restores the last valid validation, or the start of the phase, with a lower learning rate, and returns a
// note. After maxRollbacks it keeps the best weights, or fails if no validation was valid. On tiny tables an overfitted
// model degrades on validation rows at any rate.
func (r *Run) rollBack(ctx context.Context, p *phase) (note string, err error) {
	at, slowing, rollbacks := r.step, r.slowing*slowerBy, r.rollbacks+1
	if rollbacks > maxRollbacks && len(r.kept) > 0 {
		return fmt.Sprintf("%s got worse until step %d at any rate: its best weights are kept", p.name, at), r.endPhase(ctx)
	}
	if rollbacks > maxRollbacks {
		return "", fmt.Errorf("train: %s diverges at step %d even at a rate of %.1g: check the table for absurd values, or set a lower rate", p.name, at, p.rate*r.slowing)
	}
	if err := r.Restore(r.good); err != nil {
		return "", err
	}
	r.slowing, r.rollbacks = slowing, rollbacks
	return fmt.Sprintf("%s diverged at step %d: went back to step %d, rate now %.2g", p.name, at, r.step, p.rate*slowing), nil
}
