package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Job is the entry of a job in the list of the queue. Out is the location of its results, which hold its state.
type Job struct {
	ID        string    `json:"id"`
	Out       string    `json:"out"`
	State     string    `json:"state"`
	Units     int       `json:"units"`
	Submitted time.Time `json:"submitted"`
}

// ErrNoJob matches the error of a job that the queue does not list.
var ErrNoJob = errors.New("no such job")

// Remember writes a job into the list, and replaces its entry if there is one.
func (q *Queue) Remember(ctx context.Context, job Job) error {
	if _, err := subjectOf(job.ID); err != nil {
		return err
	}
	content, err := json.Marshal(job)
	if err != nil {
		return err
	}
	return q.try(ctx, func(ctx context.Context) error {
		_, err := q.jobs.Put(ctx, job.ID, content)
		return err
	})
}

// Job returns a job of the list, or ErrNoJob.
func (q *Queue) Job(ctx context.Context, id string) (job Job, err error) {
	if _, err := subjectOf(id); err != nil {
		return Job{}, err
	}
	err = q.try(ctx, func(ctx context.Context) error {
		entry, err := q.jobs.Get(ctx, id)
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			return refuse(ErrNoJob, "%s: the queue at %s does not know the job %s; psi batch status without a job lists those it knows", ErrNoJob, q.address, id)
		}
		if err != nil {
			return err
		}
		job, err = q.read(entry)
		return err
	})
	return job, err
}

// Jobs lists all jobs, the latest first.
func (q *Queue) Jobs(ctx context.Context) (jobs []Job, err error) {
	err = q.try(ctx, func(ctx context.Context) error {
		jobs = nil
		watcher, err := q.jobs.WatchAll(ctx, jetstream.IgnoreDeletes())
		if err != nil {
			return err
		}
		defer func() { _ = watcher.Stop() }()
		for {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case entry, open := <-watcher.Updates():
				if !open {
					return errors.New("the list of jobs broke off")
				}
				if entry == nil { // the list is complete
					return nil
				}
				job, err := q.read(entry)
				if err != nil {
					return err
				}
				jobs = append(jobs, job)
			}
		}
	})
	slices.SortFunc(jobs, func(a, b Job) int {
		if order := b.Submitted.Compare(a.Submitted); order != 0 {
			return order
		}
		return strings.Compare(a.ID, b.ID)
	})
	return jobs, err
}

func (q *Queue) read(entry jetstream.KeyValueEntry) (Job, error) {
	var job Job
	if err := json.Unmarshal(entry.Value(), &job); err != nil {
		err = fmt.Errorf("the queue at %s, list %s, job %s: %w", q.address, bucket, entry.Key(), err)
		return Job{}, refuse(err, "%s", err.Error())
	}
	return job, nil
}
