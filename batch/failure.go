package batch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"strings"

	"github.com/psi-shapley/psi/internal/store"
	"github.com/psi-shapley/psi/table"
)

// Failure is why a unit was given up.
type Failure struct {
	Unit     int    `json:"unit"`
	File     string `json:"file"`
	Groups   []int  `json:"row_groups"` // null: the whole file
	Row      *int64 `json:"row"`        // within the file; null if it is not about one
	Column   string `json:"column"`
	Message  string `json:"message"`
	Remedy   string `json:"remedy"`
	Attempts int    `json:"attempts"`
}

// How often a unit is tried.
const (
	failures   = 3  // whose rows fail: the same bytes fail the same way, unless they were read wrong
	deliveries = 10 // whose workers die, or find no store for all their patience
)

// failureOf puts what went wrong with a unit in words.
func failureOf(j *Job, u *Unit, err error, attempts int) *Failure {
	f := &Failure{Unit: u.Number, File: j.file(u), Groups: u.Groups, Message: err.Error(), Attempts: attempts}
	switch e, is := errors.AsType[*table.Error](err); {
	case is:
		f.Column, f.Message, f.Remedy = e.Column, e.Message, e.Remedy
		if e.Row >= 0 {
			row := int64(e.Row)
			f.Row = &row
		}
		if e.Column != "" { // the kinds of the columns were settled when the model was trained
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
		f.Remedy = "mend the file, then psi batch resume"
	}
	return f
}

// Failures are those of the job, in order of units.
func Failures(ctx context.Context, out *store.Location) iter.Seq2[*Failure, error] {
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

// writingError is a result that could not be written, which says nothing about the unit.
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
