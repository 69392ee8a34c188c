package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/internal/prose"
	"github.com/psi-shapley/psi/table"
)

// trainingRows holds the tables of a training.
type trainingRows struct {
	name       string
	training   table.Source
	validation *validation // nil if rows of the training table validate
	unread     unread
}

// underWay returns the name of the table that was read last.
func (r *trainingRows) underWay() string {
	if r.validation != nil && r.validation.underWay {
		return r.validation.file
	}
	return r.name
}

// Close closes both tables, which are read-only.
func (r *trainingRows) Close() {
	_ = r.training.Close()
	if r.validation != nil {
		_ = r.validation.Close()
	}
}

// trainingRows opens the tables of a training and reports how their columns are read.
func (p *program) trainingRows(ctx context.Context, argument string, f *trainFlags) (*trainingRows, error) {
	d, err := p.data(ctx, argument, f.format)
	if err != nil {
		return nil, err
	}
	if err := d.checkFormat(); err != nil {
		return nil, err
	}
	r := &trainingRows{name: d.name}
	options := table.Options{
		Categorical: f.categorical, Missing: f.missing, SampleRows: d.sampleRows(),
		Keep:  f.reads,
		Check: f.checkNames, Guess: &table.Guess{Decimal: f.decimal.word, DateOrder: table.DateOrder(f.dateOrder.word)},
	}
	if f.task.word == "binary" || f.task.word == "multiclass" {
		options.Guess.Except = []string{f.target} // its texts are the names of classes
	}
	if options.SampleRows >= 0 || d.parts() > 1 { // otherwise the notes on the columns cover all rows
		options.Unread = r.unread.add
	}
	source, err := d.join(ctx, options)
	if err != nil {
		return nil, inFile(err, d.name)
	}
	r.training = source
	if err := checkColumns(d.name, source.Schema(), f); err != nil {
		r.Close()
		return nil, err
	}
	p.reportColumns(source.Schema(), f)
	if f.validation != "" {
		if r.validation, err = p.validationRows(ctx, source.Schema(), f, &r.unread); err != nil {
			r.Close()
			return nil, err
		}
	}
	return r, nil
}

// validationRows opens the validation table, and reads it like the training table.
func (p *program) validationRows(ctx context.Context, as *table.Schema, f *trainFlags, missed *unread) (*validation, error) {
	d, err := p.data(ctx, f.validation, "")
	if err != nil {
		return nil, err
	}
	source, err := d.join(ctx, table.Options{Missing: f.missing, Unread: missed.add}.As(as))
	if err != nil {
		return nil, err
	}
	for _, field := range as.Fields {
		if source.Schema().Field(field.Name) == nil {
			_ = source.Close() // read-only
			return nil, &table.Error{File: d.name, Row: -1, Column: field.Name, Message: "this column of the training table is missing", Remedy: "add it, or exclude it from both with --drop"}
		}
	}
	return &validation{Source: source, file: d.name, target: f.target}, nil
}

// reads reports whether a column is read: as a feature, or in another role.
func (f *trainFlags) reads(name string) bool {
	return f.learnsFrom(name) || slices.Contains([]string{f.target, f.weight, f.validationBy, f.orderBy}, name)
}

// learnsFrom reports whether a column without another role is a feature.
func (f *trainFlags) learnsFrom(name string) bool {
	return !slices.Contains(f.drop, name) && (len(f.only) == 0 || slices.Contains(f.only, name))
}

// readOnly returns the columns that are read but not used as features: the one that orders the rows.
func (f *trainFlags) readOnly() []string {
	if f.orderBy != "" && !f.learnsFrom(f.orderBy) {
		return []string{f.orderBy}
	}
	return nil
}

// checkNames rejects flags that name columns which the table does not have, before its rows are read.
func (f *trainFlags) checkNames(names []string) error {
	for _, flag := range []struct {
		columns []string
		missing string
		remedy  string
	}{
		{[]string{f.target}, "the table has no such column to predict", "choose one of "},
		{f.drop, "the table has no such column to drop", "choose among "},
		{f.only, "the table has no such column to use", "choose among "},
		{f.keep, "the table has no such column to keep", "choose among "},
		{[]string{f.validationBy, f.orderBy, f.weight}, "the table has no such column", "choose one of "},
		{f.categorical, "the column is declared a category but the table has no such column", "choose among "},
		{f.missingAsLevel, "--missing-as-level names this column, but it is not a feature", "choose among "},
		{f.grouped(), "a group names this column, but the table does not have it", "choose among "},
	} {
		for _, name := range flag.columns {
			if name != "" && !slices.Contains(names, name) {
				return &table.Error{Row: -1, Column: name, Message: flag.missing, Remedy: didYouMean(name, names, flag.remedy+joinFirst(names))}
			}
		}
	}
	return nil
}

// grouped returns the columns of all groups.
func (f *trainFlags) grouped() (names []string) {
	for _, group := range f.groups {
		names = append(names, group.Columns...)
	}
	return names
}

// checkColumns rejects tables without features, and times unless they are requested. psi.Train reports a missing
// target.
func checkColumns(file string, schema *table.Schema, f *trainFlags) error {
	target := schema.Field(f.target)
	if target == nil {
		return nil
	}
	inputs := len(schema.Fields) - 1
	for _, name := range []string{f.validationBy, f.weight} {
		if schema.Field(name) != nil {
			inputs--
		}
	}
	inputs -= len(f.readOnly())
	switch {
	case inputs <= 0:
		return &plainError{file, "no feature column is left", "the table needs at least one besides the target: drop fewer"}
	case target.Kind == table.Time && f.task.word == "auto":
		return &table.Error{
			File: file, Row: -1, Column: target.Name, Message: "the target is a time",
			Remedy: "choose another target, or add --task regression to predict seconds since 1970",
		}
	}
	return nil
}

// validation is a validation table. The training does not know the names of its two tables, so errors about this one
// are reported here: that it has no target, which is known only at its end, and that it is the one being read.
type validation struct {
	table.Source
	file, target string
	known        bool // whether a target occurred
	underWay     bool
}

// Next returns the next rows of the table.
func (s *validation) Next(ctx context.Context) (*table.Table, error) {
	chunk, err := s.Source.Next(ctx)
	s.underWay = err == nil
	if errors.Is(err, io.EOF) && !s.known {
		return nil, &table.Error{
			File: s.file, Row: -1, Column: s.target, Message: "no row has a value in the target column, so there are no validation rows",
			Remedy: "use rows with known outcomes",
		}
	}
	if err != nil {
		return nil, err
	}
	if y := chunk.Column(s.target); y != nil {
		s.known = s.known || slices.Contains(y.Observed, true)
	}
	return chunk, nil
}

// reportColumns reports how the columns are read, for at most a few of them.
func (p *program) reportColumns(schema *table.Schema, f *trainFlags) {
	const limit = 30
	shown := schema.Fields[:min(limit, len(schema.Fields))]
	lines := make([][]string, 0, len(shown))
	for _, field := range shown {
		name := field.Name
		switch name {
		case f.target:
			name += " (target)"
		case f.validationBy:
			name += " (keeps rows together)"
		case f.weight:
			name += " (weight)"
		case f.orderBy:
			name += " (orders rows)"
		}
		for _, group := range f.groups {
			if slices.Contains(group.Columns, field.Name) {
				name += " (in " + group.Name + ")"
			}
		}
		lines = append(lines, []string{prose.Printable(name), field.Kind.String(), prose.Printable(field.Reason)})
	}
	p.logf("how the columns are read:\n%s", strings.TrimSuffix(aligned("  ", lines), "\n"))
	if more := len(schema.Fields) - limit; more > 0 {
		p.logf("  … and %d more; psi inspect shows all", more)
	}
}

// parseGroups parses the values of --group, NAME=A,B each. A column with a comma in its name is quoted, as in --drop.
func parseGroups(texts []string) ([]psi.Group, error) {
	var groups []psi.Group
	of := map[string]string{} // group of each column
	for _, text := range texts {
		wrong := func(why string) error {
			return &usageError{fmt.Sprintf("--group is %q: %s", text, why), "give NAME=A,B: a name and the columns that share one attribution"}
		}
		name, list, ok := strings.Cut(text, "=")
		if !ok {
			return nil, wrong("it has no =")
		}
		if name == "" {
			return nil, wrong("the group has no name")
		}
		if slices.ContainsFunc(groups, func(g psi.Group) bool { return g.Name == name }) {
			return nil, wrong("another group has this name")
		}
		columns, err := csv.NewReader(strings.NewReader(list)).Read()
		if err != nil || slices.Contains(columns, "") {
			return nil, wrong("the list of columns is not valid")
		}
		for _, column := range columns {
			if before, twice := of[column]; twice {
				return nil, &usageError{fmt.Sprintf("column %q is in the group %q and in the group %q", column, before, name), "list the column once, in one group"}
			}
			of[column] = name
		}
		groups = append(groups, psi.Group{Name: name, Columns: columns})
	}
	return groups, nil
}
