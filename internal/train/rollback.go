package train

import (
	"fmt"
	"math"
)

const (
	slowerBy      = 0.3 // what a rollback multiplies the learning rate by
	mostRollbacks = 5   // of a phase
)

func isFinite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// rollBack goes back to the last sound validation, or the start of the phase, with a
// lower rate, and says so.
func (r *Run) rollBack(p *phase) (note string, err error) {
	at, slowing, rollbacks := r.step, r.slowing*slowerBy, r.rollbacks+1
	if rollbacks > mostRollbacks {
		return "", fmt.Errorf("train: %s diverges at step %d even at a rate of %.1g: check the table for absurd values, or set a lower rate", p.name, at, p.rate*r.slowing)
	}
	if err := r.Restore(r.good); err != nil {
		return "", err
	}
	r.slowing, r.rollbacks = slowing, rollbacks
	return fmt.Sprintf("%s diverged at step %d: went back to step %d, rate now %.2g", p.name, at, r.step, p.rate*slowing), nil
}
