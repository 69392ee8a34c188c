package batch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/psi-shapley/psi/batch/internal/queue"
	"github.com/psi-shapley/psi/internal/store"
)

// States of a job in the queue's list.
const (
	Running   = "running"
	Finished  = "finished"
	Failed    = "failed" // finished, but some units were given up
	Cancelled = "cancelled"
)

// shared is where a job was submitted to, without passwords.
type shared struct {
	Queue string `json:"queue"`
}

// Submit puts the units of a planned job that have no part yet into a queue; those that were given up are tried anew. It
// returns how many there are. OUT tells where the queue is.
func Submit(ctx context.Context, at QueueAt, where string) (*Job, int, error) {
	hosts, err := queue.Hosts(at.URL)
	if err != nil {
		return nil, 0, err
	}
	return submit(ctx, at, where, func(out *store.Location) error { return writeJSON(ctx, out, queueKey, shared{hosts}) })
}

// QueueOf is the queue that OUT says its job was submitted to; "" if it says none.
func QueueOf(ctx context.Context, where string) (string, error) {
	out, err := locationOf(ctx, where)
	if err != nil {
		return "", err
	}
	defer out.Close()
	content, err := out.Read(ctx, queueKey, maxJSON)
	if errors.Is(err, store.ErrNotFound) {
		return "", nil
	}
	var told shared
	if err == nil {
		err = json.Unmarshal(content, &told)
	}
	return told.Queue, err
}

func submit(ctx context.Context, at QueueAt, where string, tell func(*store.Location) error) (*Job, int, error) {
	q, out, job, err := reach(ctx, at, where)
	if err != nil {
		return nil, 0, err
	}
	defer q.Close()
	defer out.Close()
	if err := q.Clear(ctx, job.ID); err != nil {
		return nil, 0, err
	}
	if err := job.forgive(ctx, out); err != nil {
		return nil, 0, err
	}
	for _, key := range []string{successKey, SummaryKey} { // of how it ended before
		if err := out.Delete(ctx, key); err != nil {
			return nil, 0, err
		}
	}
	done, err := job.done(ctx, out)
	if err != nil {
		return nil, 0, err
	}
	if err := errors.Join(remember(ctx, q, job, where, Running), tell(out)); err != nil {
		return nil, 0, err
	}
	todo := 0
	units := func(yield func(Unit, error) bool) {
		for u, err := range job.units(ctx, out) {
			if err == nil {
				if done.has(u.Number) {
					continue
				}
				todo++
			}
			if !yield(u, err) {
				return
			}
		}
	}
	return job, todo, put(ctx, q, job, absolute(where), units)
}

// forgive takes the failures back, so that their units are tried anew.
func (j *Job) forgive(ctx context.Context, out *store.Location) error {
	var units []int
	for f, err := range Failures(ctx, out) {
		if err != nil {
			return err
		}
		units = append(units, f.Unit)
	}
	if err := j.amend(ctx, out, units); err != nil {
		return err
	}
	for _, unit := range units {
		if err := out.Delete(ctx, failedKey(unit)); err != nil {
			return err
		}
	}
	return nil
}

// Cancel takes the units of a job that nobody has begun out of its queue. What is done stays.
func Cancel(ctx context.Context, at QueueAt, where string) (*Job, error) {
	q, out, job, err := reach(ctx, at, where)
	if err != nil {
		return nil, err
	}
	defer q.Close()
	defer out.Close()
	if err := q.Clear(ctx, job.ID); err != nil {
		return nil, err
	}
	return job, remember(ctx, q, job, where, Cancelled)
}

// reach opens a queue and the place of a job.
func reach(ctx context.Context, at QueueAt, where string) (*queue.Queue, *store.Location, *Job, error) {
	out, err := locationOf(ctx, where)
	if err != nil {
		return nil, nil, nil, err
	}
	job, err := Read(ctx, out)
	if err != nil {
		return nil, nil, nil, errors.Join(err, out.Close())
	}
	q, err := queue.Connect(ctx, at)
	if err != nil {
		return nil, nil, nil, errors.Join(err, out.Close())
	}
	return q, out, job, nil
}

// put sends units, and after them the word to finish.
func put(ctx context.Context, q *queue.Queue, job *Job, out string, units iter.Seq2[Unit, error]) error {
	_, err := q.Put(ctx, job.ID, func(yield func([]byte, error) bool) {
		for u, err := range units {
			var body []byte
			if err == nil {
				body, err = json.Marshal(message{Out: out, Unit: &u})
			}
			if !yield(body, err) || err != nil {
				return
			}
		}
		yield(json.Marshal(message{Out: out, Finish: true}))
	})
	return err
}

func remember(ctx context.Context, q *queue.Queue, job *Job, out, state string) error {
	return q.Remember(ctx, queue.Job{ID: job.ID, Out: absolute(out), State: state, Units: job.Units, Submitted: job.Submitted})
}

// set is some of the units of a job.
type set []uint64

func (s set) has(unit int) bool { return s[unit/64]>>(unit%64)&1 == 1 }
func (s set) add(unit int)      { s[unit/64] |= 1 << (unit % 64) }

// done are the units whose parts are there.
func (j *Job) done(ctx context.Context, out *store.Location) (set, error) {
	units := make(set, j.Units/64+1)
	for o, err := range out.List(ctx, "part-*-"+j.ID+".parquet") {
		if err != nil {
			return nil, err
		}
		var unit int
		if _, err := fmt.Sscanf(o.Key, "part-%d-", &unit); err == nil && unit >= 0 && unit < j.Units && o.Key == j.partKey(unit) {
			units.add(unit)
		}
	}
	return units, nil
}

// listed goes over units that are at hand.
func listed(units []Unit) iter.Seq2[Unit, error] {
	return func(yield func(Unit, error) bool) {
		for u := range slices.Values(units) {
			if !yield(u, nil) {
				return
			}
		}
	}
}
