package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/psi-shapley/psi/table"
)

// trainingRows are the tables of a training.
type trainingRows struct {
	name       string
	training   table.Source
	validation table.Source // nil if rows of training validate
}

// Close closes both tables, which were only read.
func (r *trainingRows) Close() {
	_ = r.training.Close()
	if r.validation != nil {
		_ = r.validation.Close()
	}
}

// trainingRows opens the tables of a training and says how their columns are read.
func (p *program) trainingRows(argument string, f *trainFlags) (*trainingRows, error) {
	d, err := p.data(argument, f.format)
	if err != nil {
		return nil, err
	}
	if err := d.checkFormat(); err != nil {
		return nil, err
	}
	var names []string
	options := table.Options{
		Categorical: f.categorical, Missing: f.missing, SampleRows: d.sampleRows(),
		Keep: func(name string) bool {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
			return !slices.Contains(f.drop, name)
		},
	}
	source, err := d.join(options)
	if err != nil {
		return nil, err
	}
	r := &trainingRows{name: d.name, training: source}
	for _, name := range f.drop {
		if !slices.Contains(names, name) {
			r.Close()
			return nil, &table.Error{File: d.name, Row: -1, Column: name, Message: "the table has no such column to drop", Remedy: "choose among " + few(names)}
		}
	}
	if err := checkColumns(d.name, source.Schema(), f); err != nil {
		r.Close()
		return nil, err
	}
	p.tellColumns(source.Schema(), f)
	if f.task.word == "auto" {
		r.training = &targetWatch{Source: source, target: f.target, atEnd: func(values []float64) error { return refuseTwo(d.name, f.target, values) }}
	}
	if f.validation != "" {
		if r.validation, err = p.validationRows(source.Schema(), f); err != nil {
			r.Close()
			return nil, err
		}
	}
	return r, nil
}

// validationRows opens the table to validate on, and reads it as the training's.
func (p *program) validationRows(as *table.Schema, f *trainFlags) (table.Source, error) {
	d, err := p.data(f.validation, "")
	if err != nil {
		return nil, err
	}
	kinds := map[string]table.Kind{}
	for _, field := range as.Fields {
		kinds[field.Name] = field.Kind
	}
	source, err := d.join(table.Options{
		Kinds: kinds, Missing: f.missing,
		Keep: func(name string) bool { _, known := kinds[name]; return known },
	})
	if err != nil {
		return nil, err
	}
	for _, field := range as.Fields {
		if source.Schema().Field(field.Name) == nil {
			_ = source.Close() // it was only read
			return nil, &table.Error{File: d.name, Row: -1, Column: field.Name, Message: "the table lacks this column, which the training table has", Remedy: "add it, or drop it from both by --drop"}
		}
	}
	return &targetWatch{Source: source, target: f.target, atEnd: func(values []float64) error { return refuseNone(d.name, f.target, values) }}, nil
}

// checkColumns refuses targets that are classes, and tables of the target alone. That the
// target is missing, psi.Train says.
func checkColumns(file string, schema *table.Schema, f *trainFlags) error {
	target := schema.Field(f.target)
	if target == nil {
		return nil
	}
	wrong := func(message, remedy string) error {
		return &table.Error{File: file, Row: -1, Column: target.Name, Message: message, Remedy: remedy}
	}
	inputs := len(schema.Fields) - 1
	if schema.Field(f.validationBy) != nil {
		inputs--
	}
	auto := f.task.word == "auto"
	switch {
	case inputs == 0:
		return &plainError{file, "no input column is left", "the table needs one beside the target: drop fewer"}
	case target.Kind == table.Category:
		return wrong("the target is text, and classes cannot be predicted yet ("+target.Reason+")", "choose a target of numbers")
	case target.Kind == table.Boolean && auto:
		return wrong("the target is true or false, and classes cannot be predicted yet", "to predict it as the numbers 0 and 1, add --task regression")
	case target.Kind == table.Time && auto:
		return wrong("the target is a time", "choose a target of numbers, or add --task regression to predict seconds since 1970")
	}
	return nil
}

// targetWatch looks at the target's values as they are read, for only the end of a table
// can tell how many there are.
type targetWatch struct {
	table.Source
	target string
	values []float64 // different ones, at most three
	atEnd  func(values []float64) error
}

func (s *targetWatch) Next(ctx context.Context) (*table.Table, error) {
	const enough = 3
	chunk, err := s.Source.Next(ctx)
	if errors.Is(err, io.EOF) {
		if failure := s.atEnd(s.values); failure != nil {
			return nil, failure
		}
	}
	if err != nil {
		return nil, err
	}
	if y := chunk.Column(s.target); y != nil {
		for i, v := range y.Numbers {
			if len(s.values) == enough {
				break
			}
			if y.Observed[i] && !slices.Contains(s.values, v) {
				s.values = append(s.values, v)
			}
		}
	}
	return chunk, nil
}

func refuseTwo(file, target string, values []float64) error {
	if len(values) != 2 {
		return nil
	}
	return &table.Error{
		File: file, Row: -1, Column: target,
		Message: fmt.Sprintf("the target is %g or %g in every row, which looks like two classes, and classes cannot be predicted yet", slices.Min(values), slices.Max(values)),
		Remedy:  "to predict it as a number, add --task regression",
	}
}

func refuseNone(file, target string, values []float64) error {
	if len(values) > 0 {
		return nil
	}
	return &table.Error{
		File: file, Row: -1, Column: target, Message: "no row has a value in the target column, so none can validate",
		Remedy: "give rows whose outcome is known",
	}
}

// tellColumns says how the columns are read, but not of hundreds of them.
func (p *program) tellColumns(schema *table.Schema, f *trainFlags) {
	const most = 30
	shown := schema.Fields[:min(most, len(schema.Fields))]
	lines := make([][]string, 0, len(shown))
	for _, field := range shown {
		name := field.Name
		switch name {
		case f.target:
			name += " (target)"
		case f.validationBy:
			name += " (keeps rows together)"
		}
		lines = append(lines, []string{clean(name), field.Kind.String(), clean(field.Reason)})
	}
	p.note("how the columns are read:\n%s", strings.TrimSuffix(aligned("  ", lines), "\n"))
	if more := len(schema.Fields) - most; more > 0 {
		p.note("  … and %d more; psi inspect shows all", more)
	}
}
