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

// job is rows of a request that wait for a pass, or a computation that shares none.
type job struct {
	ctx    context.Context //nolint:containedctx // of the request, whose end takes the job off the queue
	rows   *psi.Rows
	alone  *Alone // nil if the rows share passes with others
	depth  psi.Depth
	since  time.Time
	answer *psi.Answer
	err    error
	done   chan struct{}
}

// lane is where a job waits: its depth, or the lane of jobs that share no pass.
type lane int

const (
	aloneLane = lane(psi.Doubt) + 1
	lanes     = aloneLane + 1
)

func (j *job) lane() lane {
	if j.alone != nil {
		return aloneLane
	}
	return lane(j.depth)
}

// work is how many rows the job counts as.
func (j *job) work() int {
	if j.alone != nil {
		return j.alone.Work
	}
	return j.rows.Len()
}

// queue holds the requests that wait for the workers of a version, one worker for each core. A worker takes all jobs that
// gathered while the last pass ran. With few requests none waits for another; with many, they fill the passes. No request
// waits longer for others than one pass takes.
type queue struct {
	limits Limits
	watch  func(rows int) // called with the number of waiting rows

	mu      sync.Mutex
	arrived *sync.Cond
	waiting [lanes][]*job // the oldest first
	rows    [lanes]int    // that wait
	paces   [lanes]pace
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
	j := &job{rows: rows, depth: depth}
	err := q.await(ctx, j)
	if err != nil {
		return nil, err
	}
	return j.answer, nil
}

// await puts a job into the queue and waits until it is done.
func (q *queue) await(ctx context.Context, j *job) error {
	j.ctx, j.since, j.done = ctx, time.Now(), make(chan struct{})
	if err := q.put(j); err != nil {
		return err
	}
	select {
	case <-j.done:
		return j.err
	case <-ctx.Done(): // the worker drops the job
		return ctx.Err()
	}
}

func (q *queue) put(j *job) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return errGone
	}
	if err := q.refusal(j.ctx, j.work()); err != nil {
		return err
	}
	q.waiting[j.lane()] = append(q.waiting[j.lane()], j)
	q.count(j.lane(), j.work())
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
	for lane, n := range q.rows {
		waiting += n
		seconds += q.paces[lane].perRow() * float64(n)
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

func (q *queue) count(in lane, rows int) {
	q.rows[in] += rows
	all := 0
	for _, n := range q.rows {
		all += n
	}
	q.watch(all)
}

// take waits for jobs of one lane: those that have waited longest, and others that fit beside them. It returns none when
// the queue is closed.
func (q *queue) take() []*job {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		oldest := -1
		for lane, jobs := range q.waiting {
			if len(jobs) > 0 && (oldest < 0 || jobs[0].since.Before(q.waiting[oldest][0].since)) {
				oldest = lane
			}
		}
		if oldest >= 0 {
			return q.gather(lane(oldest))
		}
		if q.closed {
			return nil
		}
		q.arrived.Wait()
	}
}

// gather removes the oldest jobs of a lane from the queue, at least one.
func (q *queue) gather(from lane) []*job {
	jobs := q.waiting[from]
	n, rows := 1, jobs[0].work()
	for from != aloneLane && n < len(jobs) && rows+jobs[n].work() <= maxExtraRows {
		rows += jobs[n].work()
		n++
	}
	q.waiting[from] = jobs[n:]
	if n == len(jobs) {
		q.waiting[from] = nil // frees the memory of the removed jobs
	}
	q.count(from, -rows)
	return jobs[:n]
}

// pace is the recent time per row. It is weighted by rows, not a mean of passes: a pass of one row takes several times as
// long for it as a full pass does for each row.
type pace struct{ seconds, rows float64 }

func (p pace) perRow() float64 { return p.seconds / max(p.rows, 1) }

// learn updates the pace of a lane with a pass.
func (q *queue) learn(of lane, rows int, took time.Duration) {
	const kept = .9 // of the past, at each pass
	q.mu.Lock()
	defer q.mu.Unlock()
	p := &q.paces[of]
	p.seconds, p.rows = kept*p.seconds+took.Seconds(), kept*p.rows+float64(rows)
}

// close makes the workers end when no job waits, and refuses later jobs.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.arrived.Broadcast()
}
