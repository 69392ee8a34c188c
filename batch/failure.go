package batch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"strings"
	"time"

	"github.com/psi-shapley/psi/internal/store"
	"github.com/psi-shapley/psi/table"
)

// Failure is the reason why a unit failed: the document OUT/_psi/failed/UNIT.json.
type Failure struct {
	Unit     int    `json:"unit"`
	File     string `json:"file"`
	Groups   []int  `json:"row_groups"` // null means the whole file
	Row      *int64 `json:"row"`        // in the file, from 0; null if the failure is not about a row
	Column   string `json:"column"`     // "" if the failure is not about a column
	Message  string `json:"message"`
	Remedy   string `json:"remedy"`
	Attempts int    `json:"attempts"`
}

// How often a unit is tried.
const (
	failures   = 3  // if its rows fail: the same bytes fail the same way, unless they were read wrongly
	deliveries = 10 // if its workers die or cannot reach the store
)

// failureOf describes the error of a unit.
func failureOf(j *Job, u *unit, err error, attempts int) *Failure {
	f := &Failure{Unit: u.Number, File: j.file(u), Groups: u.Groups, Message: err.Error(), Attempts: attempts}
	switch e, is := errors.AsType[*table.Error](err); {
	case is:
		f.Column, f.Message, f.Remedy = e.Column, e.Message, e.Remedy
		if e.Row >= 0 {
			row := int64(e.Row)
			f.Row = &row
		}
		if e.Column != "" { // training decided the kinds of the columns
			f.Message = strings.TrimSuffix(e.Message, ", as it was declared")
			f.Remedy = "correct the cell, or leave it empty if the value is missing"
			if f.Row == nil {
				f.Remedy = "give the file the column, with empty cells where it is not known"
			}
		}
	case errors.Is(err, store.ErrChanged):
		f.Message, f.Remedy = "the file was changed or replaced after the job was planned", "psi batch resume takes it as it is now"
	case errors.Is(err, store.ErrNotFound):
		f.Message, f.Remedy = "the file is gone", "put it back, then psi batch resume"
	case errors.Is(err, fs.ErrPermission):
		f.Message, f.Remedy = "reading it is not permitted", "give the workers the right to read it"
	}
	if f.Remedy == "" {
		f.Remedy = "fix the file, then run psi batch resume"
	}
	return f
}

// failuresIn iterates over the failures of a job, in the order of units.
func failuresIn(ctx context.Context, out *store.Location) iter.Seq2[*Failure, error] {
	return func(yield func(*Failure, error) bool) {
		for o, err := range out.List(ctx, failedKeys+"*.json") {
			if err != nil {
				yield(nil, err)
				return
			}
			content, err := out.Read(ctx, o.Key, maxJSON)
			f := &Failure{}
			if err == nil {
				err = json.Unmarshal(content, f)
			}
			if !yield(f, err) || err != nil {
				return
			}
		}
	}
}

// writingError is the error of a result that could not be written. The unit is not at fault.
type writingError struct{ cause error }

func (e *writingError) Error() string {
	return fmt.Sprintf("the result cannot be written: %v", e.cause)
}
func (e *writingError) Unwrap() error { return e.cause }

func writing(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	return &writingError{err}
}

func isWriting(err error) bool {
	_, is := errors.AsType[*writingError](err)
	return is
}

// How long a worker waits for a store or a disk before the unit goes back to the queue, and how long between attempts.
const (
	retryTimeout = 10 * time.Minute
	minBackoff   = time.Second
	maxBackoff   = 15 * time.Second
)

// retry repeats something while its error may pass. It reports the first error and then one a minute.
func retry(ctx context.Context, report func(error), do func() error) error {
	start, rest, reported := time.Now(), minBackoff, time.Time{}
	for {
		err := do()
		if err == nil || ctx.Err() != nil || !isTransient(err) || time.Since(start) > retryTimeout {
			return err
		}
		if report != nil && time.Since(reported) > time.Minute {
			report(err)
			reported = time.Now()
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(rest):
		}
		rest = min(2*rest, maxBackoff)
	}
}

// isTransient reports whether an error is no fault of the rows: a store that is down, or a result that cannot be written.
func isTransient(err error) bool { return store.IsTransient(err) || isWriting(err) }
