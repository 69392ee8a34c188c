package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/internal/prose"
	"github.com/psi-shapley/psi/table"
)

// modelData is the input data of a trained model.
type modelData struct {
	*data
	program *program
	path    string // of the model
	model   *psi.Model
	measure bool     // also read the target and the weight
	also    string   // further column to read; "" means none
	unknown []string // columns to treat as missing
	told    []string // columns already reported as ignored
	unread  unread
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
		if !slices.Contains(d.told, name) && !slices.Contains(d.unknown, name) {
			d.told = append(d.told, name)
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
	d.tell(ignored)
	return modelSource{source}, nil
}

// whole opens all tables as one.
func (d *modelData) whole(ctx context.Context) (table.Source, error) {
	var ignored []string
	source, err := d.data.join(ctx, d.options(&ignored))
	if err != nil {
		return nil, forModel(err)
	}
	d.tell(ignored)
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
		changed.Remedy = meant(e.Column, d.model.Columns(), e.Remedy)
	} else if near := nearest(e.Column, d.told); near != "" && near != e.Column {
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

// tell lists the ignored columns, at most a few of them.
func (d *modelData) tell(ignored []string) {
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
	d.program.note("ignored columns that the model does not use: %s", prose.Printable(few(ignored)))
}

// few joins names, at most a dozen.
func few(names []string) string {
	const most = 12
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:most], ", ") + ", …"
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
