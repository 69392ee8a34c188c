// Package dataset converts a source of rows to encoders, encoded training rows and validation rows. Memory is bounded
// for tables of any size: beyond a limit, rows are kept in unlinked files, which the system frees when the process
// ends.
//
// A row passes through gather (counted, digested, kept), split (training or validation), traits (properties of the
// features), the fit of the encoders (training rows only) and their Encode.
package dataset

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/train"
	"github.com/psi-shapley/psi/table"
)

// Options configure Read.
type Options struct {
	Target   string
	Task     encode.Task                               // "" means encode.Auto
	Positive string                                    // of two classes; "" means the last one
	Link     func(*encode.Labels) (encode.Link, error) // chooses the scale of a number; nil means its own units
	Labels   *encode.Labels                            // known values of the target, to which those of the rows are added; may be nil
	Weight   string                                    // column of row weights, not used as a feature; may be empty

	Inputs         []string                                               // columns used as features
	Choose         func([]Trait) []string                                 // selects the features to keep, given their traits; nil keeps all
	MissingAsLevel []string                                               // of these, columns whose missing cells are a level of their own
	Bins           func(differentRows int, task encode.Task) (int, error) // number of bins of a numeric player, given the number of training rows without copies

	Validation table.Source // validation rows; nil takes some rows of the source
	Fraction   float64      // share of validation rows
	By         string       // column whose equal values stay on one side; may be empty
	OrderBy    string       // column of numbers or times whose newest rows validate; may be empty
	After      *float64     // rows above this value in OrderBy validate, whatever the Fraction; may be nil
	Seed       uint64       // of the random choice

	Scratch     string // directory for rows that do not fit into memory
	MemoryCells int    // maximum cells in memory; 0 means 2^23, about 100 MB
}

const defaultMemoryCells = 1 << 23

// MaxValidationRows limits the validation rows: more would slow down training without improving the choice of weights.
const MaxValidationRows = 16_384

// Dataset is a table prepared for training.
type Dataset struct {
	Encoder    *encode.Encoder
	Target     encode.Target
	Plain      encode.Target // of a number, in its own units
	Weighted   bool          // whether rows have weights
	Training   train.Store
	Units      []uint64   // units of the training rows: equal for rows that stay together; nil without such a column
	Validation train.Data // weights are on the scale of the training rows

	ValidationUnits []uint64 // units of the validation rows

	Rows       int      // rows used, of all sources
	Unlabelled int      // rows skipped because their target is missing
	Weightless int      // rows skipped because their weight is 0
	Repeats    Repeats  // duplicate rows of the source, not of Validation
	Notes      []string // remarks for users
	Digest     string   // of all cells read

	weights weights
	close   func() error
}

// Close frees the rows on disk.
func (ds *Dataset) Close() error { return ds.close() }

// Read reads all rows of a source. It does not close the source.
func Read(ctx context.Context, source table.Source, o Options) (ds *Dataset, err error) {
	if o.MemoryCells == 0 {
		o.MemoryCells = defaultMemoryCells
	}
	labels := o.Labels
	if labels == nil {
		labels = &encode.Labels{}
	}
	rows, err := gather(ctx, source, labels, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.close()) }()
	validationRows := &gathered{}
	if o.Validation != nil {
		if validationRows, err = gather(ctx, o.Validation, labels, o); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, validationRows.close()) }()
	}
	ds = &Dataset{
		Rows: rows.labelled + validationRows.labelled, Unlabelled: rows.unlabelled + validationRows.unlabelled,
		Weighted: o.Weight != "", Weightless: rows.weightless + validationRows.weightless, weights: weightsOf(o.Weight, rows, validationRows),
		Digest: digestOf(&rows.digest, &validationRows.digest), close: func() error { return nil },
	}
	if err := check(rows, validationRows, o); err != nil {
		return nil, err
	}
	if err := ds.choose(labels, o); err != nil {
		return nil, err
	}
	side, err := rows.divide(ctx, o)
	if err != nil {
		return nil, err
	}
	if missing := rows.labelled - rows.ordered; o.OrderBy != "" && missing > 0 {
		ds.note(fmt.Sprintf("column %q: %d rows have no value there, so none of them validates", o.OrderBy, missing))
	}
	if err := o.narrow(ctx, rows, side); err != nil {
		return nil, err
	}
	if err := ds.fit(ctx, rows, side, o); err != nil {
		return nil, err
	}
	if err := ds.encode(ctx, rows, validationRows, side, o); err != nil {
		return nil, errors.Join(err, ds.Close())
	}
	return ds, nil
}

// choose decides the task and the classes.
func (ds *Dataset) choose(labels *encode.Labels, o Options) error {
	target, note, err := labels.Target(o.Task, o.Positive)
	if err == nil && o.Link != nil && target.Task == encode.Regression {
		target.Link, err = o.Link(labels)
	}
	ds.Target = target
	ds.note(note)
	return err
}

func (ds *Dataset) note(text string) {
	if text != "" {
		ds.Notes = append(ds.Notes, text)
	}
}

// fit fits the encoders, the target's scale and that of the weights to the training rows.
func (ds *Dataset) fit(ctx context.Context, rows *gathered, side split, o Options) error {
	if err := ds.lookForRepeats(ctx, rows, o); err != nil {
		return err
	}
	bins, err := o.Bins(ds.Repeats.without(rows.labelled-side.candidates), ds.Target.Task)
	if err != nil {
		return err
	}
	fitter, err := encode.NewFitter(rows.schema, o.Inputs, bins)
	if err != nil {
		return err
	}
	if err := fitter.MissingAsLevel(o.MissingAsLevel); err != nil {
		return err
	}
	target := encode.NewTargetFitter(ds.Target)
	err = rows.each(ctx, func(chunk *table.Table, first int) error {
		counts := o.counts(chunk)
		training := side.to(trainingSide, chunk, first, counts)
		weights := ds.weights.of(chunk)
		ds.weights.add(weights, training)
		if err := target.Add(chunk.Column(o.Target), weights, training); err != nil {
			return err
		}
		return fitter.Add(chunk, training)
	})
	if err != nil {
		return err
	}
	if ds.Target, err = target.Finish(); err != nil {
		return err
	}
	ds.Plain = target.Plain()
	for _, class := range target.Absent() {
		ds.note(fmt.Sprintf("no training row has the class %q, only validation rows do: nothing can be learned of it", class))
	}
	if ds.Encoder, err = fitter.Finish(); err != nil {
		return err
	}
	for _, p := range ds.Encoder.Players {
		if slices.Contains(o.MissingAsLevel, p.Name) && !p.Gap {
			ds.note(fmt.Sprintf("column %q: no training row lacks a value, so a missing cell is no level: it is unknown", p.Name))
		}
		if o.Choose == nil && len(p.Levels) == 0 && p.Rare > 0 { // Choose reports such columns itself
			ds.note(fmt.Sprintf("column %q: every label is so rare that none is told from another: the column says nothing", p.Name))
		}
	}
	return nil
}

// encode encodes the training rows and the validation rows.
func (ds *Dataset) encode(ctx context.Context, rows, validationRows *gathered, side split, o Options) error {
	training := newStore(ds.Encoder, o)
	ds.Training, ds.close = training, training.close
	validation := &memory{}
	side.limitValidation(MaxValidationRows)
	err := rows.each(ctx, func(chunk *table.Table, first int) error {
		counts := o.counts(chunk)
		trains := side.to(trainingSide, chunk, first, counts)
		if err := ds.add(training, chunk, trains, o.Target); err != nil {
			return err
		}
		validates := side.to(validationSide, chunk, first, counts)
		ds.Units = o.appendUnits(ds.Units, chunk, trains)
		ds.ValidationUnits = o.appendUnits(ds.ValidationUnits, chunk, validates)
		return ds.add(validation, chunk, validates, o.Target)
	})
	if err != nil {
		return err
	}
	all := split{validationKeys: keys{1, math.MaxUint64}, seed: o.Seed, candidates: validationRows.labelled, kept: math.MaxUint64}
	all.limitValidation(MaxValidationRows)
	err = validationRows.each(ctx, func(chunk *table.Table, first int) error {
		validates := all.to(validationSide, chunk, first, o.counts(chunk))
		ds.ValidationUnits = o.appendUnits(ds.ValidationUnits, chunk, validates)
		return ds.add(validation, chunk, validates, o.Target)
	})
	if err != nil {
		return err
	}
	ds.Validation = validation.Data
	return training.finish()
}

// appendUnits appends the units of the chosen rows of a chunk, if there is a column of units.
func (o Options) appendUnits(units []uint64, chunk *table.Table, chosen func(row int) bool) []uint64 {
	by := chunk.Column(o.By)
	if by == nil {
		return units
	}
	for i := range chunk.Rows() {
		if chosen(i) {
			units = append(units, hashCell(o.Seed, by, i))
		}
	}
	return units
}

// appender accepts encoded rows.
type appender interface {
	append(d train.Data) error
}

func (ds *Dataset) add(to appender, chunk *table.Table, keep func(row int) bool, target string) error {
	var rows []int
	for i := range chunk.Rows() {
		if keep(i) {
			rows = append(rows, i)
		}
	}
	if len(rows) == 0 {
		return nil
	}
	y, err := ds.Target.Encode(chunk.Column(target), rows)
	if err != nil {
		return err
	}
	batch, err := ds.Encoder.Encode(chunk.Select(rows))
	if err != nil {
		return err
	}
	return to.append(train.Data{Rows: batch, Target: y, Weight: ds.weights.scaled(chunk, rows)})
}

// suit returns an error, before any row is read, if a table lacks columns that the options name.
func (o Options) suit(schema *table.Schema) error {
	wrong := func(column, message, remedy string) error {
		return &table.Error{Row: -1, Column: column, Message: message, Remedy: remedy}
	}
	names := append([]string{o.Target}, o.Inputs...)
	if o.Weight != "" {
		names = append(names, o.Weight)
	}
	for _, name := range names {
		if schema.Field(name) == nil {
			return wrong(name, "the table has no such column", "check the spelling, or give a table that has it")
		}
	}
	for _, name := range o.MissingAsLevel {
		if !slices.Contains(o.Inputs, name) {
			return wrong(name, "missing cells of this column are to be a level, but it is not a feature", "check the spelling, or leave it out of Config.MissingAsLevel")
		}
	}
	if o.Weight != "" {
		if o.Weight == o.Target {
			return wrong(o.Weight, "the target is also to be the weight of the rows", "name another column in Config.Weight")
		}
		if kind := schema.Field(o.Weight).Kind; kind != table.Number {
			return wrong(o.Weight, fmt.Sprintf("the weights are a %v, not numbers", kind), "name another column in Config.Weight")
		}
	}
	if o.OrderBy != "" {
		switch field := schema.Field(o.OrderBy); {
		case field == nil:
			return wrong(o.OrderBy, "the table has no such column", "check the spelling, or give a table that has it")
		case field.Kind != table.Number && field.Kind != table.Time:
			return wrong(o.OrderBy, fmt.Sprintf("the column is a %v, so it does not order the rows", field.Kind), "name a column of numbers or times in Config.OrderBy")
		}
	}
	return o.Task.Check(o.Target, schema.Field(o.Target).Kind)
}

// minRows is the minimum number of rows to train on.
const minRows = 10

// check returns an error if the rows cannot be trained on.
func check(rows, validationRows *gathered, o Options) error {
	counted := fmt.Sprintf("with a value in the target column %q", o.Target)
	if o.Weight != "" {
		counted += fmt.Sprintf(" and a weight in %q that is not 0", o.Weight)
	}
	if rows.labelled < minRows {
		return &table.Error{
			Row:     -1,
			Message: fmt.Sprintf("%s %s: training needs at least %d", countRows(rows.labelled), counted, minRows),
			Remedy:  "give more rows",
		}
	}
	if o.Validation != nil && validationRows.labelled == 0 {
		return &table.Error{Row: -1, Column: o.Target, Message: "there is no validation row " + counted, Remedy: "check the validation table"}
	}
	if o.By != "" && o.Validation == nil && len(rows.units) < 2 {
		return &table.Error{
			Row: -1, Column: o.By,
			Message: "all rows have the same value, so they cannot be divided by it", Remedy: "name another column in Config.ValidationBy",
		}
	}
	return nil
}

func countRows(n int) string {
	switch n {
	case 0:
		return "no row"
	case 1:
		return "only 1 row"
	}
	return fmt.Sprintf("only %d rows", n)
}
