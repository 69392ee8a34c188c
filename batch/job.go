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

// Options say how to explain the rows, as [psi.ExplainOptions] do, and how to lay out the parts.
type Options struct {
	Mode         explain.Mode `json:"mode"` // "" means fast
	Z            float64      `json:"z"`    // intervals are mean ∓ Z standard deviations; 0 means 1.96
	Top          int          `json:"top"`  // K of p_top; 0 means 3
	Long         bool         `json:"long"` // one line for each row and player, instead of one for each row
	Interactions bool         `json:"interactions"`
	Game         psi.Game     `json:"game,omitempty"` // "" means the model's own or, with Request.Reference, interventional
}

func (o Options) explain(reference *table.Table) psi.ExplainOptions {
	return psi.ExplainOptions{Mode: o.Mode, Z: o.Z, Top: o.Top, Interactions: o.Interactions, Game: o.Game, Reference: reference}
}

// tabulate lays out rows of a part.
func (o Options) tabulate(e *explain.Explanation) (*table.Table, error) {
	if o.Long {
		return e.Long()
	}
	return e.Wide()
}

// Job is a planned job: the document OUT/_psi/job.json.
type Job struct {
	Schema  string  `json:"schema"` // psi.batch/v1
	ID      string  `json:"job"`    // 12 hexadecimal digits, a digest of the model, In, Options, Reference and the units
	Model   string  `json:"model"`  // digest of the model file
	In      string  `json:"in"`
	Named   string  `json:"named"` // prefix of the file names, before their keys
	Options Options `json:"options"`

	Reference *Reference `json:"reference,omitempty"` // nil if the game has no reference rows

	Files int   `json:"files"`
	Bytes int64 `json:"bytes"` // size of the files
	Rows  int64 `json:"rows"`  // of Parquet files; other formats do not state their number
	Units int   `json:"units"`
	Pages int   `json:"pages"` // of the plan

	UnitRows int64 `json:"unit_rows"` // maximum rows of a unit that has more than one row group

	Submitted time.Time `json:"submitted"` // when it was planned
}

// Reference is the copy of a table of reference rows in the results of a job.
type Reference struct {
	Key    string `json:"key"`
	Digest string `json:"digest"`
	Rows   int    `json:"rows"`
}

const jobSchema = "psi.batch/v1"

// unit is the part of a job that one worker runs at a time: row groups of an object.
type unit struct {
	Number  int    `json:"unit"`
	Key     string `json:"key"`
	Size    int64  `json:"size"`
	Version string `json:"version"`
	Groups  []int  `json:"groups,omitempty"` // nil means the whole object
	First   int64  `json:"first"`            // number of its first row within the object
	Rows    int64  `json:"rows"`             // 0 if not known
	Empty   bool   `json:"empty,omitempty"`  // it has no rows: its object was replaced by one with fewer row groups
}

func (u *unit) object() store.Object {
	return store.Object{Key: u.Key, Size: u.Size, Version: u.Version}
}

// Keys of the objects in OUT.
const (
	jobKey     = "_psi/job.json"
	modelKey   = "_psi/model.psi"
	queueKey   = "_psi/queue.json" // the shared queue that the job was submitted to
	failedKeys = "_psi/failed/"
	successKey = "_SUCCESS"
)

// SummaryKey is the name of the summary within the results of a job.
const SummaryKey = "_summary.json"

func pageKey(page int) string   { return fmt.Sprintf("_psi/plan/%06d.jsonl", page) }
func failedKey(unit int) string { return fmt.Sprintf("%s%08d.json", failedKeys, unit) }

func (j *Job) partKey(unit int) string { return fmt.Sprintf("part-%08d-%s.parquet", unit, j.ID) }

// file returns the name of the file of a unit, as a path or URL.
func (j *Job) file(u *unit) string { return j.Named + u.Key }

// Maximum bytes of objects that are read whole.
const (
	maxJSON  = 64 << 20
	maxModel = 1 << 30
)

// locationOf opens the results of a job. Unlike store.Create it makes no directory, since only Plan writes to a new one.
func locationOf(ctx context.Context, where string) (*store.Location, error) {
	if !store.IsURL(where) {
		if _, err := os.Stat(where); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s: %w", where, ErrNoBatch)
		}
	}
	return store.Create(ctx, where)
}

// readJob reads the job of a location.
func readJob(ctx context.Context, out *store.Location) (*Job, error) {
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

// absolute makes a path valid in any working directory. URLs stay as they are.
func absolute(where string) string {
	if store.IsURL(where) {
		return where
	}
	if path, err := filepath.Abs(where); err == nil {
		return path
	}
	return where
}
