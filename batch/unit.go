package batch

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/internal/pipeline"
	"github.com/psi-shapley/psi/internal/store"
	"github.com/psi-shapley/psi/table"
)

// tallyNote is the key of a unit's tally in the footer of its part.
const tallyNote = "psi.tally"

// task is a job that a worker has open.
type task struct {
	*Job
	in, out *store.Location
	model   *psi.Model
	rows    *table.Table // reference rows of the game; nil if it has none
}

// how returns how to explain the rows.
func (t *task) how() psi.ExplainOptions { return t.Options.explain(t.rows) }

// open opens a job and its model.
func open(ctx context.Context, where string, backend psi.Backend) (*task, error) {
	out, err := locationOf(ctx, where)
	if err != nil {
		return nil, err
	}
	t := &task{out: out}
	if t.Job, err = readJob(ctx, out); err == nil {
		t.in, _, err = store.Open(ctx, t.In)
	}
	if err == nil {
		t.model, err = t.readModel(ctx, backend)
	}
	if err == nil {
		t.rows, err = t.readReference(ctx)
	}
	if err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

func (t *task) readModel(ctx context.Context, backend psi.Backend) (*psi.Model, error) {
	content, err := t.out.Read(ctx, modelKey, maxModel)
	if err != nil {
		return nil, err
	}
	name := t.out.Name(modelKey)
	if got := digestOf(content); got != t.Model {
		return nil, fmt.Errorf("%s is not the model of the job: its digest is %s, not %s", name, got, t.Model)
	}
	return psi.OpenOptions{Backend: backend}.Decode(name, content)
}

func (t *task) close() {
	if t.model != nil {
		t.model.Close()
	}
	for _, p := range []*store.Location{t.in, t.out} {
		if p != nil {
			_ = p.Close()
		}
	}
}

// unitStats counts the rows and bytes of a unit.
type unitStats struct {
	rows        int
	read, wrote int64
}

// do explains the rows of a unit and writes its part.
func (t *task) do(ctx context.Context, u *unit) (unitStats, error) {
	r, err := t.in.Open(ctx, u.object())
	if err != nil {
		return unitStats{}, err
	}
	defer r.Close()
	w, err := t.out.Create(ctx, t.partKey(u.Number))
	if err != nil {
		return unitStats{}, writing(err)
	}
	defer w.Abort()
	p := &part{task: t, unit: u, to: w}
	p.sink = table.NewParquetSink(p)
	if err := p.fill(ctx, r); err != nil {
		return unitStats{}, err
	}
	if err := t.in.Same(ctx, u.object()); err != nil {
		return unitStats{}, err
	}
	_, read := r.Taken()
	return unitStats{p.tally.Rows, read, p.bytes}, p.close()
}

// part is the result of a unit while it is written.
type part struct {
	*task
	unit  *unit
	tally *explain.Tally
	sink  *table.ParquetSink
	to    *store.Writer
	bytes int64
}

// Write implements io.Writer. It marks its errors as no fault of the rows.
func (p *part) Write(content []byte) (int, error) {
	n, err := p.to.Write(content)
	p.bytes += int64(n)
	return n, writing(err)
}

// fill explains the rows of the unit.
func (p *part) fill(ctx context.Context, r io.Reader) error {
	none, err := p.model.NoRows(p.how())
	if err != nil {
		return err
	}
	p.tally = explain.NewTally(none.Outputs, none.Players)
	if err := p.write(ctx, none); err != nil { // so that a part without rows has its columns
		return err
	}
	if p.unit.Empty {
		return nil
	}
	source, err := p.source(r)
	if err != nil {
		return err
	}
	rows := pipeline.ReadAhead(ctx, source)
	defer rows.Close()
	return pipeline.WriteBehind(ctx, func(ctx context.Context) iter.Seq2[*explain.Explanation, error] {
		return p.model.Explanations(ctx, rows, p.how())
	}, p.write)
}

// sourceOf reads the unit's row groups: only the columns that the model uses.
func (t *task) sourceOf(u *unit, r io.Reader) (table.Source, error) {
	format, err := table.FormatOf(u.Key)
	if err != nil {
		return nil, err
	}
	options := readOptions(t.model, t.file(u))
	options.RowGroups, options.ChunkRows = u.Groups, t.chunkRows()
	return table.OpenReader(r, format, options)
}

// readOptions returns options that read only the columns that the model uses.
func readOptions(m *psi.Model, name string) table.Options {
	options, manifest := m.ReadOptions(), m.Manifest()
	inputs := options.Keep
	options.Keep = func(name string) bool { return inputs(name) && name != manifest.Target && name != manifest.Weight }
	options.Name = name
	return options
}

func (p *part) source(r io.Reader) (table.Source, error) { return p.sourceOf(p.unit, r) }

func (p *part) write(ctx context.Context, e *explain.Explanation) error {
	e.File = p.file(p.unit)
	e.FirstRow += int(p.unit.First)
	if !p.tally.Add(e) {
		return fmt.Errorf("rows %d to %d have attributions that are not finite", e.FirstRow, e.FirstRow+e.Rows-1)
	}
	lines, err := p.Options.tabulate(e)
	if err != nil {
		return err
	}
	return p.sink.Write(ctx, lines)
}

// close completes the part, with the tally in its footer.
func (p *part) close() error {
	tally, err := json.Marshal(p.tally)
	if err != nil {
		return err
	}
	if err := p.sink.Note(tallyNote, string(tally)); err != nil {
		return err
	}
	if err := p.sink.Close(); err != nil {
		return err
	}
	return writing(p.to.Close())
}
