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

// Submit puts the units of the planned job that have no part yet into the shared queue, and returns their number. Units that
// failed before are tried again. Out then names the queue, without passwords, for [Open].
func (r *Runner) Submit(ctx context.Context) (job *Job, units int, err error) {
	hosts, err := queue.Hosts(r.Queue.URL)
	if err != nil {
		return nil, 0, err
	}
	o, err := r.openQueued(ctx)
	if err != nil {
		return nil, 0, err
	}
	defer o.Close()
	units, err = o.submit(ctx, func() error { return writeJSON(ctx, o.out, queueKey, sharedQueue{hosts}) })
	return o.Job, units, err
}

// submit puts the units without a part into the queue. name writes down where the queue is.
func (o *opened) submit(ctx context.Context, name func() error) (units int, err error) {
	if err := o.queue.Clear(ctx, o.ID); err != nil {
		return 0, err
	}
	if err := o.forgive(ctx, o.out); err != nil {
		return 0, err
	}
	for _, key := range []string{successKey, SummaryKey} { // of how it ended before
		if err := o.out.Delete(ctx, key); err != nil {
			return 0, err
		}
	}
	done, err := o.done(ctx, o.out)
	if err != nil {
		return 0, err
	}
	if err := errors.Join(o.remember(ctx, Running), name()); err != nil {
		return 0, err
	}
	missing := func(yield func(unit, error) bool) {
		for u, err := range o.units(ctx, o.out) {
			if err == nil {
				if done.has(u.Number) {
					continue
				}
				units++
			}
			if !yield(u, err) {
				return
			}
		}
	}
	err = put(ctx, o.queue, o.Job, absolute(o.where), missing)
	return units, err
}

// forgive deletes the failures, so that their units are tried again.
func (j *Job) forgive(ctx context.Context, out *store.Location) error {
	var units []int
	for f, err := range failuresIn(ctx, out) {
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

// put sends units to the queue, and after them the order to finish.
func put(ctx context.Context, q *queue.Queue, job *Job, out string, units iter.Seq2[unit, error]) error {
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

// set is a set of the units of a job.
type set []uint64

func (s set) has(unit int) bool { return s[unit/64]>>(unit%64)&1 == 1 }
func (s set) add(unit int)      { s[unit/64] |= 1 << (unit % 64) }

// done returns the units that have a part.
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

// listed iterates over a list of units.
func listed(units []unit) iter.Seq2[unit, error] {
	return func(yield func(unit, error) bool) {
		for u := range slices.Values(units) {
			if !yield(u, nil) {
				return
			}
		}
	}
}
