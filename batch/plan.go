package batch

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"iter"
	"strings"
	"time"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/internal/pipeline"
	"github.com/psi-shapley/psi/internal/store"
	"github.com/psi-shapley/psi/table"
)

// unitCells is how many cells a unit has if row groups are small: some seconds of one core, whatever the number of columns
// (docs/scale.md). A larger row group is a unit of its own.
const unitCells = 2 << 20

const (
	pageUnits = 4096 // of a page of the plan
	footers   = 32   // read at once

	anyKey = "x" // to see what comes before a key
)

// Request asks for a job.
type Request struct {
	Model    []byte // content of the model file
	Name     string // of it
	In       string
	Out      string
	Options  Options
	Force    bool                   // write to a place that holds the results of another program
	Progress func(files, units int) // nil if nobody wants to know

	unitRows int64 // 0: by unitCells
}

// Errors of places that cannot be written to without harm.
var (
	ErrOverlap = errors.New("the results would lie among the tables that are read")
	ErrForeign = errors.New("the results of another program are here")
)

// CheckLocations sees, without reading anything, that In and Out do not overlap.
func (r *Request) CheckLocations() error {
	if store.Overlap(r.In, r.Out) {
		return fmt.Errorf("%s: %w: IN is %s", r.Out, ErrOverlap, r.In)
	}
	return nil
}

// ErrOtherBatch is a place that holds another job already.
var ErrOtherBatch = errors.New("another batch was planned here, of other files, another model or other options")

// Plan cuts a job into units and writes them down. If the place holds the same job already, that is the plan, and old is true.
func Plan(ctx context.Context, r *Request) (job *Job, old bool, err error) {
	if err := r.CheckLocations(); err != nil {
		return nil, false, err
	}
	columns, err := r.check()
	if err != nil {
		return nil, false, err
	}
	in, pattern, err := store.Open(ctx, r.In) // before OUT, which a wrong IN must not leave behind
	if err != nil {
		return nil, false, err
	}
	defer in.Close()
	out, err := store.Create(ctx, r.Out)
	if err != nil {
		return nil, false, err
	}
	defer out.Close()

	p := planner{
		job: &Job{
			Schema: jobSchema, Model: digestOf(r.Model), In: absolute(r.In), Named: strings.TrimSuffix(in.Name(anyKey), anyKey), Options: r.Options, Submitted: time.Now().UTC().Truncate(time.Second),
		},
		in: in, out: out, digest: sha256.New(), progress: r.Progress,
	}
	p.unitRows = cmp.Or(r.unitRows, max(1, unitCells/int64(columns)))
	p.job.UnitRows = p.unitRows
	before, err := Read(ctx, out)
	switch {
	case errors.Is(err, ErrNoBatch):
		if err := r.checkForeign(ctx, out); err != nil {
			return nil, false, err
		}
	case err != nil:
		return nil, false, err
	default:
		p.dry = true
	}
	if err := p.plan(ctx, pattern); err != nil {
		return nil, false, err
	}
	if p.dry {
		if before.ID != p.job.ID {
			return nil, false, fmt.Errorf("%s: %w", out.Name(""), ErrOtherBatch)
		}
		return before, true, nil
	}
	if err := out.Write(ctx, modelKey, r.Model); err != nil {
		return nil, false, err
	}
	return p.job, false, writeJSON(ctx, out, jobKey, p.job)
}

// checkForeign keeps the marks of another program's results, such as Spark's, from being taken for
// this job's or deleted: a place without a job has no success and no summary, unless they are left
// of a batch of psi's.
func (r *Request) checkForeign(ctx context.Context, out *store.Location) error {
	if r.Force {
		return nil
	}
	_, err := ReadSummary(ctx, out, SummaryKey)
	if err == nil {
		return nil
	}
	key := SummaryKey
	if errors.Is(err, store.ErrNotFound) {
		key = successKey
		_, err = out.Stat(ctx, key)
	}
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil
	case store.Passing(err) || errors.Is(err, context.Canceled) || errors.Is(err, fs.ErrPermission):
		return err
	}
	return fmt.Errorf("%s: %w", out.Name(key), ErrForeign)
}

// check sees that the model is one and can do what is asked; columns is how many it reads.
func (r *Request) check() (columns int, err error) {
	m, err := psi.OpenOptions{}.Decode(r.Name, r.Model)
	if err != nil {
		return 0, err
	}
	defer m.Close()
	none, err := m.NoRows(r.Options.explain())
	if err != nil {
		return 0, err
	}
	_, err = r.Options.tabulate(none)
	return len(m.Columns()), err
}

// planner writes the pages of a plan.
type planner struct {
	job      *Job
	in, out  *store.Location
	unitRows int64
	dry      bool // nothing is written: only the digest is wanted
	progress func(files, units int)

	digest hash.Hash
	page   bytes.Buffer
}

func (p *planner) plan(ctx context.Context, pattern string) error {
	tables := func(ctx context.Context) iter.Seq2[store.Object, error] { return p.tables(ctx, pattern) }
	for units, err := range pipeline.InOrder(ctx, footers, tables, p.cut) {
		if err != nil {
			return err
		}
		p.job.Files++
		p.job.Bytes += units[0].Size
		for _, u := range units {
			if err := p.add(ctx, u); err != nil {
				return err
			}
		}
		if p.progress != nil {
			p.progress(p.job.Files, p.job.Units)
		}
	}
	if p.job.Files == 0 {
		return &table.Error{File: p.job.In, Row: -1, Message: "no table is there", Remedy: "name files that end in .parquet, .csv, .csv.gz, .tsv or .arrow"}
	}
	if err := p.turn(ctx); err != nil {
		return err
	}
	whole, err := json.Marshal(struct {
		Model, In string
		Options   Options
		Units     []byte
	}{p.job.Model, p.job.In, p.job.Options, p.digest.Sum(nil)})
	sum := sha256.Sum256(whole)
	p.job.ID = hex.EncodeToString(sum[:6])
	return err
}

// tables are the objects whose name tells a format.
func (p *planner) tables(ctx context.Context, pattern string) iter.Seq2[store.Object, error] {
	return func(yield func(store.Object, error) bool) {
		for o, err := range p.in.List(ctx, pattern) {
			if err == nil {
				if _, unknown := table.FormatOf(o.Key); unknown != nil {
					continue
				}
			}
			if !yield(o, err) {
				return
			}
		}
	}
}

// cut makes units of an object: as many row groups each as hold unitRows, and at least one. What cannot be read is one
// unit, which will say why when its turn has come.
func (p *planner) cut(ctx context.Context, o store.Object) ([]Unit, error) {
	whole := Unit{Key: o.Key, Size: o.Size, Version: o.Version}
	if format, err := table.FormatOf(o.Key); err != nil || format != table.Parquet {
		return []Unit{whole}, err
	}
	var groups []table.RowGroup
	err := patiently(ctx, nil, func() (err error) {
		groups, err = footer(ctx, p.in, o, table.Layout)
		return err
	})
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case store.Passing(err):
		return nil, err
	case err != nil || len(groups) == 0:
		return []Unit{whole}, nil //nolint:nilerr // whoever explains it will say so
	}
	var units []Unit
	first := int64(0)
	for i, g := range groups {
		last := len(units) - 1
		if last < 0 || units[last].Rows+g.Rows > p.unitRows {
			next := whole
			next.First = first
			units, last = append(units, next), last+1
		}
		units[last].Groups = append(units[last].Groups, i)
		units[last].Rows += g.Rows
		first += g.Rows
	}
	return units, nil
}

// access is what reading a footer takes.
type access = interface {
	io.ReadSeeker
	io.ReaderAt
}

// footer reads something from the end of a Parquet file.
func footer[T any](ctx context.Context, p *store.Location, o store.Object, read func(access) (T, error)) (T, error) {
	r, err := p.Open(ctx, o)
	if err != nil {
		var none T
		return none, err
	}
	defer r.Close()
	return read(r)
}

// add writes a unit to the page under way.
func (p *planner) add(ctx context.Context, u Unit) error {
	u.Number = p.job.Units
	p.job.Units++
	p.job.Rows += u.Rows
	line, err := json.Marshal(u)
	if err != nil {
		return err
	}
	p.page.Write(append(line, '\n'))
	if p.job.Units%pageUnits == 0 {
		return p.turn(ctx)
	}
	return nil
}

// turn puts the page away and begins the next.
func (p *planner) turn(ctx context.Context) error {
	if p.page.Len() == 0 {
		return nil
	}
	p.digest.Write(p.page.Bytes())
	if !p.dry {
		if err := p.out.Write(ctx, pageKey(p.job.Pages), p.page.Bytes()); err != nil {
			return err
		}
	}
	p.job.Pages++
	p.page.Reset()
	return nil
}

// units are those of the plan, in order.
func (j *Job) units(ctx context.Context, out *store.Location) iter.Seq2[Unit, error] {
	return func(yield func(Unit, error) bool) {
		for page := range j.Pages {
			content, err := out.Read(ctx, pageKey(page), maxJSON)
			if err != nil {
				yield(Unit{}, err)
				return
			}
			lines := json.NewDecoder(bytes.NewReader(content))
			for lines.More() {
				var u Unit
				if err := lines.Decode(&u); err != nil {
					yield(u, fmt.Errorf("%s: %w", out.Name(pageKey(page)), err))
					return
				}
				if !yield(u, nil) {
					return
				}
			}
		}
	}
}

func digestOf(content []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(content)) }

func writeJSON(ctx context.Context, p *store.Location, key string, content any) error {
	text, err := json.MarshalIndent(content, "", "  ")
	if err != nil {
		return err
	}
	return p.Write(ctx, key, append(text, '\n'))
}
