package registry

import (
	"math"
	"testing"
	"time"

	"github.com/psi-shapley/psi"
)

// One slow pass of a single row, such as the first on a busy machine, must not make the queue refuse for long.
func TestPaceIsOfRowsNotOfPasses(t *testing.T) {
	q := newQueue(Limits{}, 1, func(int) {})
	perRow := func() float64 { return q.paces[psi.Values].perRow() }
	if perRow() != 0 {
		t.Errorf("before any pass a row takes %g s", perRow())
	}
	q.learn(lane(psi.Values), 1, time.Second)
	if math.Abs(perRow()-1) > 1e-9 {
		t.Errorf("one row in a second: %g s each", perRow())
	}
	for range 3 {
		q.learn(lane(psi.Values), 60, 6*time.Millisecond)
	}
	if got := perRow(); got > .006 {
		t.Errorf("after 180 rows at .1 ms each, a row is thought to take %g s", got)
	}
	for range 200 {
		q.learn(lane(psi.Values), 60, 60*time.Millisecond)
	}
	if got := perRow(); math.Abs(got-.001) > 1e-5 {
		t.Errorf("rows have long taken 1 ms, but are thought to take %g s", got)
	}
	if got := q.paces[psi.Spread].perRow(); got != 0 {
		t.Errorf("another depth: %g s", got)
	}
}
