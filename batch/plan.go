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

// unitCells is the number of cells of a unit if row groups are small. It takes one core a few seconds, for any number of
// columns (docs/scale.md). A larger row group is a unit of its own.
const unitCells = 2 << 20

const (
	pageUnits = 4096 // of a page of the plan
	footers   = 32   // read at once

	anyKey = "x" // stands for any key, to find the prefix of all names
)

// Request is the input of a job. The same request on the same files is the same job.
type Request struct {
	Model   string  // the model file: a path or a URL
	In      string  // the tables: a file, a directory or a pattern, or a URL of one of these
	Options Options // how to explain the rows
	// Reference is a table of reference rows, at most 1,000, for the games baseline and interventional: a path or a URL; ""
	// means none. Plan copies it to Out.
	Reference string
	Force     bool                   // write to a location that holds results of another program
	Progress  func(files, units int) // called after each file; may be nil

	unitRows int64 // 0: by unitCells
}

// Plan splits the tables of a request into units, and writes the plan and a copy of the model to Out. If Out holds the same
// job already, Plan returns that with old = true and writes nothing. Errors include [ErrOverlap], [ErrForeign] and
// [ErrOtherBatch].
//
// Plan reads the footers of Parquet files, 32 at a time, and of other formats only the file names.
func (r *Runner) Plan(ctx context.Context, q Request) (job *Job, old bool, err error) {
	if store.Overlap(q.In, r.Out) {
		return nil, false, fmt.Errorf("%s: %w: IN is %s", r.Out, ErrOverlap, q.In)
	}
	model, err := readModel(ctx, q.Model)
	if err != nil {
		return nil, false, err
	}
	if q.Reference != "" && q.Options.Game == "" {
		q.Options.Game = psi.InterventionalGame
	}
	columns, reference, err := q.check(ctx, model)
	if err != nil {
		return nil, false, err
	}
	in, pattern, err := store.Open(ctx, q.In) // before OUT, which a wrong IN must not leave behind
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
			Schema: jobSchema, Model: digestOf(model), In: absolute(q.In), Named: strings.TrimSuffix(in.Name(anyKey), anyKey), Options: q.Options, Submitted: time.Now().UTC().Truncate(time.Second),
		},
		in: in, out: out, digest: sha256.New(), progress: q.Progress,
	}
	cells := int64(columns)
	if reference != nil {
		p.job.Reference = &reference.Reference
		cells *= int64(reference.Reference.Rows)
	}
	p.unitRows = cmp.Or(q.unitRows, max(1, unitCells/cells))
	p.job.UnitRows = p.unitRows
	before, err := readJob(ctx, out)
	switch {
	case errors.Is(err, ErrNoBatch):
		if !q.Force {
			if err := checkForeign(ctx, out); err != nil {
				return nil, false, err
			}
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
	if err := out.Write(ctx, modelKey, model); err != nil {
		return nil, false, err
	}
	if reference != nil {
		if err := out.Write(ctx, reference.Key, reference.content); err != nil {
			return nil, false, err
		}
	}
	return p.job, false, writeJSON(ctx, out, jobKey, p.job)
}

// readModel returns the content of a model file, by path or URL.
func readModel(ctx context.Context, where string) ([]byte, error) {
	in, pattern, err := store.Open(ctx, where)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	key, single := store.Single(pattern)
	if !single {
		return nil, fmt.Errorf("%s is no file: name a model, such as model.psi", where)
	}
	return in.Read(ctx, key, maxModel)
}

// checkForeign refuses a location without a job that has a _SUCCESS or a summary, unless psi wrote the summary. They mark
// results of another program, such as Spark: psi must neither delete them nor take them for its own.
func checkForeign(ctx context.Context, out *store.Location) error {
	_, err := readSummary(ctx, out, SummaryKey)
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
	case store.IsTransient(err) || errors.Is(err, context.Canceled) || errors.Is(err, fs.ErrPermission):
		return err
	}
	return fmt.Errorf("%s: %w", out.Name(key), ErrForeign)
}

// check decodes the model and checks that it can do what the options ask for. It returns the number of columns it reads, and
// the reference rows.
func (q *Request) check(ctx context.Context, model []byte) (columns int, reference *referenceTable, err error) {
	m, err := psi.OpenOptions{}.Decode(q.Model, model)
	if err != nil {
		return 0, nil, err
	}
	defer m.Close()
	if reference, err = q.readReference(ctx, m); err != nil {
		return 0, nil, err
	}
	how := q.Options.explain(reference.table())
	none, err := m.NoRows(how)
	if err != nil {
		return 0, nil, err
	}
	if err := reference.check(ctx, m, how); err != nil {
		return 0, nil, err
	}
	_, err = q.Options.tabulate(none)
	return len(m.Columns()), reference, err
}

// planner makes the units of a job and writes the pages of its plan.
type planner struct {
	job      *Job
	in, out  *store.Location
	unitRows int64
	dry      bool // write nothing: only the digest is wanted
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
		Reference *Reference `json:",omitempty"`
	}{p.job.Model, p.job.In, p.job.Options, p.digest.Sum(nil), p.job.Reference})
	sum := sha256.Sum256(whole)
	p.job.ID = hex.EncodeToString(sum[:6])
	return err
}

// tables lists the objects whose name ends like a table format.
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

// cut splits an object into units of at least one row group and, if possible, at most unitRows rows. An object whose footer
// cannot be read becomes one unit, which fails with the reason when a worker runs it.
func (p *planner) cut(ctx context.Context, o store.Object) ([]unit, error) {
	whole := unit{Key: o.Key, Size: o.Size, Version: o.Version}
	if format, err := table.FormatOf(o.Key); err != nil || format != table.Parquet {
		return []unit{whole}, err
	}
	var groups []table.RowGroup
	err := retry(ctx, nil, func() (err error) {
		groups, err = footer(ctx, p.in, o, table.Layout)
		return err
	})
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case store.IsTransient(err):
		return nil, err
	case err != nil || len(groups) == 0:
		return []unit{whole}, nil //nolint:nilerr // the worker reports it
	}
	var units []unit
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

// access is what readers of footers need.
type access = interface {
	io.ReadSeeker
	io.ReaderAt
}

// footer reads a part of a Parquet file's footer.
func footer[T any](ctx context.Context, p *store.Location, o store.Object, read func(access) (T, error)) (T, error) {
	r, err := p.Open(ctx, o)
	if err != nil {
		var none T
		return none, err
	}
	defer r.Close()
	return read(r)
}

// add appends a unit to the current page.
func (p *planner) add(ctx context.Context, u unit) error {
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

// turn writes the current page and begins the next.
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

// units iterates over the units of the plan, in order.
func (j *Job) units(ctx context.Context, out *store.Location) iter.Seq2[unit, error] {
	return func(yield func(unit, error) bool) {
		for page := range j.Pages {
			content, err := out.Read(ctx, pageKey(page), maxJSON)
			if err != nil {
				yield(unit{}, err)
				return
			}
			lines := json.NewDecoder(bytes.NewReader(content))
			for lines.More() {
				var u unit
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
