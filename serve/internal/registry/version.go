package registry

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/table"
)

// Version is a loaded model that answers requests. Release it after use.
type Version struct {
	Name, Version string
	Model         *psi.Model
	Tag           any // result of Observer.Prepare
	Cost          Cost

	file     found
	observer Observer
	queue    *queue
	leases   sync.WaitGroup
	workers  sync.WaitGroup
}

// Cost is what loading a version took.
type Cost struct {
	File   int64         // bytes
	Took   time.Duration // to read and decode
	Memory int64         // bytes, estimated
}

// build decodes the content of a file and makes a version.
func (reg *Registry) build(file found, content []byte) (_ *Version, err error) {
	v := &Version{Name: file.name, Version: file.version, file: file, observer: reg.options.Observer}
	defer func() {
		if p := recover(); p != nil { // a file must not end the server
			err = fmt.Errorf("panic while loading a model: %v\n%s", p, debug.Stack())
		}
		if err != nil {
			v.free()
		}
	}()
	open := psi.OpenOptions{Backend: reg.options.Backend}
	if v.Model, err = open.Decode(file.at.objects.Name(file.object.Key), content); err != nil {
		return nil, err
	}
	if v.Tag, err = reg.options.Observer.Prepare(v); err != nil {
		return nil, err
	}
	workers := runtime.GOMAXPROCS(0)
	v.queue = newQueue(reg.options.Limits, workers, func(rows int) { v.observer.Waiting(v, rows) })
	for range workers {
		v.workers.Go(v.work)
	}
	return v, nil
}

// Release ends a lease.
func (v *Version) Release() { v.leases.Done() }

// retire frees the model when its last lease ends.
func (v *Version) retire() {
	v.leases.Wait()
	v.queue.close()
	v.workers.Wait()
	v.free()
	v.observer.Unloaded(v)
}

func (v *Version) free() {
	if v.Model != nil {
		v.Model.Close()
	}
}

// Busy returns a *BusyError if the queue of the model is full. Call it before decoding a body, to save that work.
func (v *Version) Busy(ctx context.Context) error { return v.queue.full(ctx) }

// Ask passes rows through the model, together with rows of other requests, and waits for the answer. It returns a *BusyError
// if the rows would wait too long.
func (v *Version) Ask(ctx context.Context, t *table.Table, unknown []string, depth psi.Depth) (*psi.Answer, error) {
	rows, err := v.Model.Read(t, unknown...)
	if err != nil {
		return nil, err
	}
	return v.queue.ask(ctx, rows, depth)
}

// Alone is a computation that shares no pass with other requests, such as explanations in a game of the request's own.
type Alone struct {
	Rows  int // to explain
	Work  int // how many rows it counts as in the queue
	Depth psi.Depth

	Do func(ctx context.Context) error // uses one core; the context is the request's
}

// Run runs a computation on one of the version's workers, after requests that have waited longer. It returns a *BusyError if
// the computation would wait too long. If the context ends first, Run returns, and Do must end soon.
func (v *Version) Run(ctx context.Context, a Alone) error { return v.queue.await(ctx, &job{alone: &a}) }

// work runs passes until the queue is closed.
func (v *Version) work() {
	for {
		jobs := v.queue.take()
		if jobs == nil {
			return
		}
		switch live := dropEnded(jobs); {
		case len(live) == 0:
		case live[0].alone != nil:
			v.run(live[0])
		default:
			v.pass(live)
		}
	}
}

// dropEnded returns the jobs whose request has not ended.
func dropEnded(jobs []*job) []*job {
	var live []*job
	for _, j := range jobs {
		if j.err = j.ctx.Err(); j.err != nil {
			close(j.done)
			continue
		}
		live = append(live, j)
	}
	return live
}

func (v *Version) run(j *job) {
	start, a := time.Now(), j.alone
	end := v.observer.Passing(v, Pass{Depth: a.Depth, Rows: a.Rows, Requests: []context.Context{j.ctx}, Waited: []time.Duration{start.Sub(j.since)}})
	j.err = a.Do(j.ctx)
	end(j.err)
	if j.err == nil {
		v.queue.learn(aloneLane, a.Work, time.Since(start))
	}
	close(j.done)
}

func (v *Version) pass(jobs []*job) {
	start := time.Now()
	p := Pass{Depth: jobs[0].depth}
	rows := make([]*psi.Rows, len(jobs))
	for i, j := range jobs {
		rows[i] = j.rows
		p.Rows += j.rows.Len()
		p.Requests = append(p.Requests, j.ctx)
		p.Waited = append(p.Waited, start.Sub(j.since))
	}
	ctx := context.Background()
	if len(jobs) == 1 {
		ctx = jobs[0].ctx // no other request needs the pass
	}
	end := v.observer.Passing(v, p)
	answers, err := v.Model.Pass(ctx, p.Depth, rows...)
	end(err)
	if half := len(jobs) / 2; err != nil && half > 0 { // because of one request's rows: the others are answered
		v.pass(jobs[:half])
		v.pass(jobs[half:])
		return
	}
	if err == nil {
		v.queue.learn(lane(p.Depth), p.Rows, time.Since(start))
	}
	for i, j := range jobs {
		if j.err = err; err == nil {
			j.answer = answers[i]
		}
		close(j.done)
	}
}
