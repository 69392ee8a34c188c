package registry

import (
	"context"
	"errors"
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

// A request is refused if its expected wait exceeds the limit or its deadline. The error says when to try again.
func TestQueueRefusesLongWaits(t *testing.T) {
	q := newQueue(Limits{Rows: 1000, Wait: time.Second}, 2, func(int) {})
	q.learn(aloneLane, 100, time.Second) // 10 ms a row, 5 ms by two workers
	for _, request := range []struct {
		what     string
		deadline time.Duration
		rows     int
		wait     time.Duration // 0 if it is taken
	}{
		{"nobody waits", time.Hour, 190, 0},
		{"a deadline before its turn in .95 s", 900 * time.Millisecond, 1, 950 * time.Millisecond},
		{"the same with more time", time.Hour, 20, 0},
		{"a wait of 1.05 s", time.Hour, 1, 1050 * time.Millisecond},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), request.deadline)
		t.Cleanup(cancel)
		err := q.put(&job{ctx: ctx, alone: &Alone{Work: request.rows}})
		busy, refused := errors.AsType[*BusyError](err)
		if refused != (request.wait > 0) || !refused && err != nil || refused && (busy.RetryAfter-request.wait).Abs() > time.Millisecond {
			t.Errorf("%s: %v", request.what, err)
		}
	}
}
