package registry

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/psi-shapley/psi"
)

// BusyError refuses a request that would wait too long. The caller may try again after RetryAfter.
type BusyError struct{ RetryAfter time.Duration }

func (b *BusyError) Error() string {
	return fmt.Sprintf("the server is busy: try again in %.0f s", math.Ceil(b.RetryAfter.Seconds()))
}

// errGone is the error of a queue that is closed because its version was replaced.
var errGone = errors.New("the model's version is gone")

// job is rows of a request that wait for a pass.
type job struct {
	ctx    context.Context //nolint:containedctx // of the request, whose end takes the job off the queue
	rows   *psi.Rows
	depth  psi.Depth
	since  time.Time
	answer *psi.Answer
	err    error
	done   chan struct{}
}

// queue holds the requests that wait for the workers of a version, one worker for each core. A worker takes all jobs that
// gathered while the last pass ran. With few requests none waits for another; with many, they fill the passes. No request
// waits longer for others than one pass takes.
type queue struct {
	limits Limits
	watch  func(rows int) // called with the number of waiting rows

	mu      sync.Mutex
	arrived *sync.Cond
	waiting [psi.Doubt + 1][]*job // by depth, the oldest first
	rows    [psi.Doubt + 1]int    // that wait, by depth
	paces   [psi.Doubt + 1]pace
	workers int
	closed  bool
}

// Limits bound the queue of a version.
type Limits struct {
	Rows int           // maximum number of waiting rows
	Wait time.Duration // maximum expected wait; a request that would wait longer is refused at once
}

// maxExtraRows is the maximum number of rows that a worker takes beyond those of one request. It is large enough to make
// the fixed cost of a pass a small part.
const maxExtraRows = 256

func newQueue(limits Limits, workers int, watch func(rows int)) *queue {
	q := &queue{limits: limits, workers: workers, watch: watch}
	q.arrived = sync.NewCond(&q.mu)
	return q
}

// ask puts rows into the queue and waits for their answer.
func (q *queue) ask(ctx context.Context, rows *psi.Rows, depth psi.Depth) (*psi.Answer, error) {
	j := &job{ctx: ctx, rows: rows, depth: depth, since: time.Now(), done: make(chan struct{})}
	if err := q.put(j); err != nil {
		return nil, err
	}
	select {
	case <-j.done:
		return j.answer, j.err
	case <-ctx.Done(): // the worker drops the job
		return nil, ctx.Err()
	}
}

func (q *queue) put(j *job) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return errGone
	}
	if err := q.refusal(j.ctx, j.rows.Len()); err != nil {
		return err
	}
	q.waiting[j.depth] = append(q.waiting[j.depth], j)
	q.count(j.depth, j.rows.Len())
	q.arrived.Signal()
	return nil
}

// full refuses a request before any work on it, if there is no room for a single row.
func (q *queue) full(ctx context.Context) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.refusal(ctx, 1)
}

// refusal returns the error of rows that would wait too long or are too many; nil if they may wait.
func (q *queue) refusal(ctx context.Context, rows int) error {
	waiting, seconds := 0, 0.0
	for depth, n := range q.rows {
		waiting += n
		seconds += q.paces[depth].perRow() * float64(n)
	}
	if waiting == 0 {
		return nil
	}
	wait := time.Duration(seconds / float64(q.workers) * float64(time.Second)) // until all waiting rows are done
	deadline, has := ctx.Deadline()
	if waiting+rows > q.limits.Rows || wait > q.limits.Wait || has && time.Now().Add(wait).After(deadline) {
		return &BusyError{max(wait, 10*time.Millisecond)}
	}
	return nil
}

func (q *queue) count(depth psi.Depth, rows int) {
	q.rows[depth] += rows
	all := 0
	for _, n := range q.rows {
		all += n
	}
	q.watch(all)
}

// take waits for jobs of one depth: those that have waited longest, and others that fit beside them. It returns none when
// the queue is closed.
func (q *queue) take() []*job {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		oldest := -1
		for depth, jobs := range q.waiting {
			if len(jobs) > 0 && (oldest < 0 || jobs[0].since.Before(q.waiting[oldest][0].since)) {
				oldest = depth
			}
		}
		if oldest >= 0 {
			return q.gather(oldest)
		}
		if q.closed {
			return nil
		}
		q.arrived.Wait()
	}
}

// gather removes the oldest jobs of a depth from the queue, at least one.
func (q *queue) gather(depth int) []*job {
	jobs := q.waiting[depth]
	n, rows := 1, jobs[0].rows.Len()
	for n < len(jobs) && rows+jobs[n].rows.Len() <= maxExtraRows {
		rows += jobs[n].rows.Len()
		n++
	}
	q.waiting[depth] = jobs[n:]
	if n == len(jobs) {
		q.waiting[depth] = nil // frees the memory of the removed jobs
	}
	q.count(psi.Depth(depth), -rows)
	return jobs[:n]
}

// pace is the recent time per row. It is weighted by rows, not a mean of passes: a pass of one row takes several times as
// long for it as a full pass does for each row.
type pace struct{ seconds, rows float64 }

func (p pace) perRow() float64 { return p.seconds / max(p.rows, 1) }

// learn updates the pace with a pass.
func (q *queue) learn(depth psi.Depth, rows int, took time.Duration) {
	const kept = .9 // of the past, at each pass
	q.mu.Lock()
	defer q.mu.Unlock()
	p := &q.paces[depth]
	p.seconds, p.rows = kept*p.seconds+took.Seconds(), kept*p.rows+float64(rows)
}

// close makes the workers end when no job waits, and refuses later jobs.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.arrived.Broadcast()
}
