// Package intake turns a source of rows into what training needs: encoders, encoded
// training rows and validation rows. Memory stays bounded whatever the size of the
// table: beyond a limit, rows wait in unlinked files, which a killed process takes
// with it.
//
// A row passes through gather (counted, digested, kept), split (training or
// validation), the fit of the encoders (training rows only) and their Encode.
package intake

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/train"
	"github.com/psi-shapley/psi/table"
)

// Options say what the rows are for.
type Options struct {
	Target string
	Inputs []string                            // columns that become players
	Bins   func(trainingRows int) (int, error) // of a numeric player

	Validation table.Source // rows to validate on; nil takes some of the source's
	Fraction   float64      // of the rows that validate
	By         string       // column whose equal values stay on one side; may be empty
	Seed       uint64       // of the choice

	Scratch     string // directory for what does not fit into memory
	MemoryCells int    // that are held in memory; 0 means 2^23, about 100 MB
}

const usualMemoryCells = 1 << 23

// MostValidationRows bounds the rows that validate: more would slow training down
// without choosing better.
const MostValidationRows = 16_384

// Intake is what training needs to know of a table.
type Intake struct {
	Encoder    *encode.Encoder
	Target     encode.Target
	Training   train.Store
	Validation train.Data

	Rows       int    // with a target, of all sources
	Unlabelled int    // rows left out, because their target is missing
	Digest     string // of all cells read

	close func() error
}

// Close frees what lies on disk.
func (in *Intake) Close() error { return in.close() }

// Read takes in all rows of a source. It does not close it.
func Read(ctx context.Context, source table.Source, o Options) (in *Intake, err error) {
	if o.MemoryCells == 0 {
		o.MemoryCells = usualMemoryCells
	}
	rows, err := gather(ctx, source, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.close()) }()
	held := &gathered{}
	if o.Validation != nil {
		if held, err = gather(ctx, o.Validation, o); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, held.close()) }()
	}
	in = &Intake{
		Rows: rows.labelled + held.labelled, Unlabelled: rows.unlabelled + held.unlabelled,
		Digest: digestOf(rows, held), close: func() error { return nil },
	}
	if err := in.check(rows, held, o); err != nil {
		return nil, err
	}
	side := rows.split(o)
	if err := in.fit(ctx, rows, side, o); err != nil {
		return nil, err
	}
	if err := in.encode(ctx, rows, held, side, o); err != nil {
		return nil, errors.Join(err, in.Close())
	}
	return in, nil
}

// fewestRows is where training starts to make any sense.
const fewestRows = 10

func (in *Intake) check(rows, held *gathered, o Options) error {
	if rows.labelled < fewestRows {
		return &table.Error{
			Row:     -1,
			Message: fmt.Sprintf("%s with a value in the target column %q: training needs at least %d", countRows(rows.labelled), o.Target, fewestRows),
			Remedy:  "give more rows",
		}
	}
	if rows.least == rows.greatest {
		return &table.Error{
			Row: -1, Column: o.Target,
			Message: fmt.Sprintf("the target is %g in every row: there is nothing to learn", rows.least),
			Remedy:  "check that this is the column to predict",
		}
	}
	if o.Validation != nil && held.labelled == 0 {
		return &table.Error{Row: -1, Column: o.Target, Message: "no validation row has a target", Remedy: "check the validation table"}
	}
	if o.By != "" && o.Validation == nil && len(rows.units) < 2 {
		return &table.Error{
			Row: -1, Column: o.By,
			Message: "all rows have the same value, so they cannot be divided by it", Remedy: "name another column in --validation-by",
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

// fit learns the encoders and the target's scale from the training rows.
func (in *Intake) fit(ctx context.Context, rows *gathered, side split, o Options) error {
	bins, err := o.Bins(rows.labelled - side.candidates)
	if err != nil {
		return err
	}
	fitter, err := encode.NewFitter(rows.schema, o.Inputs, bins)
	if err != nil {
		return err
	}
	var target encode.TargetFitter
	err = rows.each(ctx, func(chunk *table.Table, first int) error {
		y := chunk.Column(o.Target)
		training := side.to(trainingSide, chunk, first, y)
		if err := target.Add(y, training); err != nil {
			return err
		}
		return fitter.Add(chunk, training)
	})
	if err != nil {
		return err
	}
	if in.Target, err = target.Finish(); err != nil {
		return err
	}
	in.Encoder, err = fitter.Finish()
	return err
}

// encode writes the training rows and the validation rows.
func (in *Intake) encode(ctx context.Context, rows, held *gathered, side split, o Options) error {
	training := newStore(in.Encoder, o)
	in.Training, in.close = training, training.close
	validation := &memory{}
	side.thin(MostValidationRows)
	err := rows.each(ctx, func(chunk *table.Table, first int) error {
		y := chunk.Column(o.Target)
		if err := in.add(training, chunk, side.to(trainingSide, chunk, first, y), o.Target); err != nil {
			return err
		}
		return in.add(validation, chunk, side.to(validationSide, chunk, first, y), o.Target)
	})
	if err != nil {
		return err
	}
	all := split{threshold: math.MaxUint64, seed: o.Seed, candidates: held.labelled, kept: math.MaxUint64}
	all.thin(MostValidationRows)
	err = held.each(ctx, func(chunk *table.Table, first int) error {
		return in.add(validation, chunk, all.to(validationSide, chunk, first, chunk.Column(o.Target)), o.Target)
	})
	if err != nil {
		return err
	}
	in.Validation = validation.Data
	return training.finish()
}

// appender takes encoded rows.
type appender interface {
	append(d train.Data) error
}

func (in *Intake) add(to appender, chunk *table.Table, keep func(row int) bool, target string) error {
	var rows []int
	for i := range chunk.Rows() {
		if keep(i) {
			rows = append(rows, i)
		}
	}
	if len(rows) == 0 {
		return nil
	}
	chosen := chunk.Select(rows)
	batch, err := in.Encoder.Encode(chosen)
	if err != nil {
		return err
	}
	return to.append(train.Data{Rows: batch, Target: in.Target.Encode(chosen.Column(target).Numbers)})
}
