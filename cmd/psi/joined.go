package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/psi-shapley/psi/table"
)

// joined reads the files of a pattern as one table. The first file decides the columns and their kinds.
type joined struct {
	data    *data
	options table.Options
	schema  *table.Schema
	source  table.Source // of the current file
	part    int
	labels  map[string]*labels // of each category
}

// join opens the data as one table.
func (d *data) join(ctx context.Context, options table.Options) (table.Source, error) {
	first, err := d.open(ctx, 0, options)
	if err != nil || d.parts() == 1 {
		return first, err
	}
	j := &joined{data: d, schema: &table.Schema{}, source: first, labels: map[string]*labels{}}
	for _, f := range first.Schema().Fields {
		f.Reason += fmt.Sprintf("; from the first of %d files", d.parts())
		j.schema.Fields = append(j.schema.Fields, f)
		j.labels[f.Name] = &labels{codes: map[string]int32{}}
	}
	j.options = options.As(j.schema)
	j.options.Check = nil
	return j, nil
}

func (j *joined) Schema() *table.Schema { return j.schema }

func (j *joined) Close() error { return j.source.Close() }

// Next returns rows of the current file, or of the next one.
func (j *joined) Next(ctx context.Context) (*table.Table, error) {
	for {
		chunk, err := j.source.Next(ctx)
		if err == nil {
			return j.adapt(chunk)
		}
		if !errors.Is(err, io.EOF) || j.part+1 == j.data.parts() {
			return nil, err
		}
		next, err := j.data.open(ctx, j.part+1, j.options)
		if err != nil {
			return nil, err
		}
		_ = j.source.Close() // read-only
		j.part, j.source = j.part+1, next
		for _, l := range j.labels {
			l.here = nil
		}
	}
}

// adapt gives the columns of a chunk the order and the codes of the first file.
func (j *joined) adapt(chunk *table.Table) (*table.Table, error) {
	columns := make([]*table.Column, len(j.schema.Fields))
	for i, f := range j.schema.Fields {
		c := chunk.Column(f.Name)
		if c == nil {
			return nil, &table.Error{
				File: j.data.part(j.part), Row: -1, Column: f.Name, Message: "this column is missing from the file; " + j.data.part(0) + " has it",
				Remedy: "add it, or use files with the same columns",
			}
		}
		if c.Kind == table.Category {
			c = j.labels[f.Name].recode(c)
		}
		columns[i] = c
	}
	return table.New(columns...)
}

// labels holds the labels of a category in all files so far.
type labels struct {
	list  []string
	codes map[string]int32
	here  []int32 // the code of each label of the current file
}

func (l *labels) recode(c *table.Column) *table.Column {
	for _, label := range c.Levels[len(l.here):] {
		code, known := l.codes[label]
		if !known {
			code = int32(len(l.list))
			l.codes[label] = code
			l.list = append(l.list, label)
		}
		l.here = append(l.here, code)
	}
	changed := *c
	changed.Levels = slices.Clip(l.list)
	changed.Codes = make([]int32, len(c.Codes))
	for i, code := range c.Codes {
		changed.Codes[i] = -1
		if code >= 0 {
			changed.Codes[i] = l.here[code]
		}
	}
	return &changed
}
