package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/internal/pipeline"
	"github.com/psi-shapley/psi/internal/prose"
	"github.com/psi-shapley/psi/table"
)

// modelData is the input data of a trained model.
type modelData struct {
	*data
	program         *program
	path            string // of the model
	model           *psi.Model
	measure         bool     // also read the target and the weight
	also            string   // further column to read; "" means none
	unknown         []string // columns to treat as missing
	reportedIgnored []string // columns already reported as ignored
	unread          unread
}

// open opens a model and resolves its data. The caller closes the model.
func (p *program) open(ctx context.Context, path, argument, format string, backend choice) (*modelData, error) {
	d, err := p.data(ctx, argument, format)
	if err != nil {
		return nil, err
	}
	if err := d.checkFormat(); err != nil {
		return nil, err
	}
	model, err := psi.OpenOptions{Backend: psi.Backend(backend.word)}.Open(path)
	if err != nil {
		return nil, err
	}
	return &modelData{data: d, program: p, path: path, model: model}, nil
}

// options returns options that read the wanted columns and record the others.
func (d *modelData) options(ignored *[]string) table.Options {
	o := d.model.ReadOptions()
	o.Unread = d.unread.add
	wanted, manifest := o.Keep, d.model.Manifest()
	unknown := d.unknown
	if len(unknown) >= len(d.model.Columns()) {
		unknown = nil // rows are counted by the columns that are read
	}
	o.Keep = func(name string) bool {
		input := name != manifest.Target && name != manifest.Weight
		if name == d.also && name != "" || wanted(name) && (input || d.measure) && !slices.Contains(unknown, name) {
			return true
		}
		if !slices.Contains(d.reportedIgnored, name) && !slices.Contains(d.unknown, name) {
			d.reportedIgnored = append(d.reportedIgnored, name)
			*ignored = append(*ignored, name)
		}
		return false
	}
	return o
}

// part opens table i.
func (d *modelData) part(ctx context.Context, i int) (table.Source, error) {
	var ignored []string
	source, err := d.data.open(ctx, i, d.options(&ignored))
	if err != nil {
		return nil, forModel(err)
	}
	d.reportIgnored(ignored)
	return modelSource{source}, nil
}

// whole opens all tables as one.
func (d *modelData) whole(ctx context.Context) (table.Source, error) {
	var ignored []string
	source, err := d.data.join(ctx, d.options(&ignored))
	if err != nil {
		return nil, forModel(err)
	}
	d.reportIgnored(ignored)
	return modelSource{source}, nil
}

// hint adds a suggestion to an error about a column that the model or the table lacks.
func (d *modelData) hint(err error) error {
	e, ok := errors.AsType[*table.Error](err)
	if !ok || e.Row >= 0 || e.Column == "" {
		return err
	}
	changed := *e
	if !d.model.ReadOptions().Keep(e.Column) {
		changed.Remedy = didYouMean(e.Column, d.model.Columns(), e.Remedy)
	} else if near := nearest(e.Column, d.reportedIgnored); near != "" && near != e.Column {
		changed.Remedy = fmt.Sprintf("the table has %q: if it is the same column, rename it. Otherwise %s", prose.Printable(near), e.Remedy)
	}
	return &changed
}

// blame adds the file to an error: the model's, unless it is about a cell or a column.
func (d *modelData) blame(err error, part string) error {
	err = d.hint(err)
	if e, ok := errors.AsType[*table.Error](err); ok && e.Row < 0 && e.Column == "" {
		return inFile(err, d.path)
	}
	return inFile(err, part)
}

// reportIgnored lists the ignored columns, at most a few of them.
func (d *modelData) reportIgnored(ignored []string) {
	if len(ignored) == 0 {
		return
	}
	manifest := d.model.Manifest()
	for i, name := range ignored {
		switch name {
		case manifest.Target:
			ignored[i] += " (the target)"
		case manifest.Weight:
			ignored[i] += " (the weight)"
		}
	}
	d.program.logf("ignored columns that the model does not use: %s", prose.Printable(joinFirst(ignored)))
}

// joinFirst joins names, at most a dozen.
func joinFirst(names []string) string {
	const limit = 12
	if len(names) <= limit {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:limit], ", ") + ", …"
}

// modelSource adds remedies to errors about cells that the model cannot read.
type modelSource struct{ table.Source }

func (s modelSource) Next(ctx context.Context) (*table.Table, error) {
	chunk, err := s.Source.Next(ctx)
	return chunk, forModel(err)
}

// forModel sets the remedy of errors about cells: the kinds of the columns were fixed when the model was trained.
func forModel(err error) error {
	if e, ok := errors.AsType[*table.Error](err); ok && e.Row >= 0 && e.Column != "" {
		changed := *e
		changed.Message = strings.TrimSuffix(e.Message, ", as it was declared")
		changed.Remedy = "correct the cell, or leave it empty if the value is missing"
		return &changed
	}
	return err
}

// drawn draws at most the given number of rows of all tables at random, the same at each call. The first rows of a
// table may come from another time or place than the rest.
func (d *modelData) drawn(ctx context.Context, limit int) (*table.Sample, error) {
	source, err := d.whole(ctx)
	if err != nil {
		return nil, err
	}
	ahead := pipeline.ReadAhead(ctx, source)
	defer ahead.Close()
	return reservoir(ctx, ahead, limit)
}

// reservoir draws rows of a source with a fixed seed.
func reservoir(ctx context.Context, source table.Source, limit int) (*table.Sample, error) {
	sample := table.NewSample(limit, rand.New(rand.NewPCG(0, 0)))
	for {
		chunk, err := source.Next(ctx)
		if errors.Is(err, io.EOF) {
			return sample, nil
		}
		if err != nil {
			return nil, err
		}
		sample.Add(chunk)
	}
}

// noRow means that there is no row to compare with.
const noRow = -1

// comparison is the row to compare with; nil if there is none.
type comparison struct{ row *explain.Explanation }

// rowAgainst explains the row to compare with.
func (d *modelData) rowAgainst(ctx context.Context, row int, o psi.ExplainOptions) (*comparison, error) {
	switch {
	case row == noRow:
		return nil, nil
	case row < 0:
		return nil, &usageError{fmt.Sprintf("--against-row is %d", row), "give the number of a row, counted from 0"}
	case d.data.stdin != nil || d.data.parts() > 1:
		return nil, &usageError{"--against-row needs one file, which is read twice", "write the rows to a file"}
	}
	o.From, o.To = row, row+1
	for e, err := range d.explainPart(ctx, 0, o) {
		return &comparison{e}, d.blame(err, d.data.name)
	}
	return nil, &plainError{d.data.name, fmt.Sprintf("it has no row %d", row), "rows are counted from 0"}
}

// compared returns the difference of an explanation from the row.
func (a *comparison) compared(e *explain.Explanation) (*explain.Explanation, error) {
	if a == nil {
		return e, nil
	}
	return e.Minus(a.row, 0)
}

// all returns the differences of explanations from the row.
func (a *comparison) all(each func(context.Context) iter.Seq2[ofFile[*explain.Explanation], error]) func(context.Context) iter.Seq2[ofFile[*explain.Explanation], error] {
	return func(ctx context.Context) iter.Seq2[ofFile[*explain.Explanation], error] {
		return func(yield func(ofFile[*explain.Explanation], error) bool) {
			for part, err := range each(ctx) {
				if err == nil {
					part.rows, err = a.compared(part.rows)
				}
				if !yield(part, err) {
					return
				}
			}
		}
	}
}

// others counts the cells whose labels were unseen or rare in training.
type others struct {
	players []string // players that have such cells
	of      map[string]*otherLabels
}

type otherLabels struct {
	cells   int
	example string // one of the labels; "" for a group, whose cells are not distinguished
}

func (o *others) add(e *explain.Explanation) {
	for i, other := range e.Other {
		if !other {
			continue
		}
		row, d := i/len(e.Players), i%len(e.Players)
		name := e.Players[d]
		labels := o.of[name]
		if labels == nil {
			if o.of == nil {
				o.of = map[string]*otherLabels{}
			}
			labels = &otherLabels{}
			if e.Values[d] != nil {
				labels.example = e.Values[d].Text(row)
			}
			o.of[name], o.players = labels, append(o.players, name)
		}
		labels.cells++
	}
}

// reportOtherLabels reports once per run which labels were read as other, for at most a few columns.
func (p *program) reportOtherLabels(o others) {
	const limit, longest = 12, 40
	for i, name := range o.players {
		if i == limit {
			p.logf("… and the same in %s more", prose.Count(len(o.players)-limit, "column"))
			return
		}
		labels := o.of[name]
		example := ""
		if text := []rune(labels.example); len(text) > longest {
			example = fmt.Sprintf(", such as %q", string(text[:longest-1])+"…")
		} else if len(text) > 0 {
			example = fmt.Sprintf(", such as %q", labels.example)
		}
		have := "have labels"
		if labels.cells == 1 {
			have = "has a label"
		}
		p.logf("%s of %s %s that training saw rarely or never%s: read as other", prose.Count(labels.cells, "cell"), prose.Printable(name), have, example)
	}
}

// unread counts text cells that do not fit the reading of their columns. It is safe for concurrent use.
type unread struct {
	lock sync.Mutex

	from, to int // range of rows of each table that count; 0, 0 means all

	columns []string // columns that have such cells
	cells   map[string]int
	example map[string]string
}

func (u *unread) add(row int, column, text string) {
	u.lock.Lock()
	defer u.lock.Unlock()
	if row < u.from || u.to > 0 && row >= u.to {
		return
	}
	if u.cells == nil {
		u.cells, u.example = map[string]int{}, map[string]string{}
	}
	if u.cells[column]++; u.cells[column] == 1 {
		u.columns, u.example[column] = append(u.columns, column), text
	}
}

// reportUnread reports once per run what could not be read, for at most a few columns.
func (p *program) reportUnread(u *unread) {
	u.lock.Lock()
	defer u.lock.Unlock()
	const limit, longest = 12, 40
	for i, name := range u.columns {
		if i == limit {
			p.logf("… and the same in %s more", prose.Count(len(u.columns)-limit, "column"))
			return
		}
		example := u.example[name]
		if text := []rune(example); len(text) > longest {
			example = string(text[:longest-1]) + "…"
		}
		do := "do"
		if u.cells[name] == 1 {
			do = "does"
		}
		p.logf("%s", fmt.Sprintf("%s of %s %s not parse as in training, such as %q: treated as missing", prose.Count(u.cells[name], "cell"), prose.Printable(name), do, example))
	}
}
