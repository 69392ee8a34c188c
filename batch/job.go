package batch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/internal/store"
	"github.com/psi-shapley/psi/table"
)

// Options say how rows are explained.
type Options struct {
	Mode         explain.Mode `json:"mode"`
	Z            float64      `json:"z"`
	Top          int          `json:"top"`
	Long         bool         `json:"long"` // a line for each row and player, in place of one for each row
	Interactions bool         `json:"interactions"`
}

func (o Options) explain() psi.ExplainOptions {
	return psi.ExplainOptions{Mode: o.Mode, Z: o.Z, Top: o.Top, Interactions: o.Interactions}
}

// tabulate is the layout of the parts.
func (o Options) tabulate(e *explain.Explanation) (*table.Table, error) {
	if o.Long {
		return e.Long()
	}
	return e.Wide()
}

// Job is what is to be done: what to explain, by which model, and how.
type Job struct {
	Schema  string  `json:"schema"`
	ID      string  `json:"job"` // follows from all below but Submitted: the same request is the same job
	Model   string  `json:"model"`
	In      string  `json:"in"`
	Named   string  `json:"named"` // what files are called, before their key
	Options Options `json:"options"`
	Files   int     `json:"files"`
	Bytes   int64   `json:"bytes"` // of the files
	Rows    int64   `json:"rows"`  // that files say they have; text does not say
	Units   int     `json:"units"`
	Pages   int     `json:"pages"`

	UnitRows int64 `json:"unit_rows"` // of a unit, if row groups are small

	Submitted time.Time `json:"submitted"`
}

const jobSchema = "psi.batch/v1"

// Unit is the part of a job that one worker does at a time: row groups of an object.
type Unit struct {
	Number  int    `json:"unit"`
	Key     string `json:"key"`
	Size    int64  `json:"size"`
	Version string `json:"version"`
	Groups  []int  `json:"groups,omitempty"` // nil: all of the object
	First   int64  `json:"first"`            // number of its first row within the object
	Rows    int64  `json:"rows"`             // 0 if it is not known
	Empty   bool   `json:"empty,omitempty"`  // it has no rows: its object has fewer row groups by now
}

func (u *Unit) object() store.Object {
	return store.Object{Key: u.Key, Size: u.Size, Version: u.Version}
}

// Keys of what lies in OUT.
const (
	jobKey     = "_psi/job.json"
	modelKey   = "_psi/model.psi"
	queueKey   = "_psi/queue.json" // where the job was submitted to, if not to a queue of its own
	failedKeys = "_psi/failed/"
	successKey = "_SUCCESS"
)

// SummaryKey is that of what came of a job.
const SummaryKey = "_summary.json"

func pageKey(page int) string   { return fmt.Sprintf("_psi/plan/%06d.jsonl", page) }
func failedKey(unit int) string { return fmt.Sprintf("%s%08d.json", failedKeys, unit) }

func (j *Job) partKey(unit int) string { return fmt.Sprintf("part-%08d-%s.parquet", unit, j.ID) }

// file is what people call the object of a unit.
func (j *Job) file(u *Unit) string { return j.Named + u.Key }

// Most bytes of what is read whole.
const (
	maxJSON  = 64 << 20
	maxModel = 1 << 30
)

// ErrNoBatch is a place that holds no job.
var ErrNoBatch = errors.New("no batch was planned here")

// locationOf is where a job's result lies. Unlike store.Create it makes no directory: whoever asks about a job plans none.
func locationOf(ctx context.Context, where string) (*store.Location, error) {
	if !store.IsURL(where) {
		if _, err := os.Stat(where); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s: %w", where, ErrNoBatch)
		}
	}
	return store.Create(ctx, where)
}

// Read is the job of a place.
func Read(ctx context.Context, out *store.Location) (*Job, error) {
	content, err := out.Read(ctx, jobKey, maxJSON)
	if errors.Is(err, store.ErrNotFound) {
		return nil, fmt.Errorf("%s: %w", out.Name(""), ErrNoBatch)
	}
	if err != nil {
		return nil, err
	}
	j := &Job{}
	if err := json.Unmarshal(content, j); err != nil {
		return nil, fmt.Errorf("%s: %w", out.Name(jobKey), err)
	}
	if j.Schema != jobSchema {
		return nil, fmt.Errorf("%s is %q, which this version of psi does not know", out.Name(jobKey), j.Schema)
	}
	return j, nil
}

// absolute is what a path is called from anywhere on this machine.
func absolute(where string) string {
	if store.IsURL(where) {
		return where
	}
	if path, err := filepath.Abs(where); err == nil {
		return path
	}
	return where
}
