// Command foldcsv writes one fold of a benchmark set as CSV files, so that other programs are measured on the very rows
// that psi is:
//
//	foldcsv SET FOLD DIR
//
// leaves train.csv, validation.csv and test.csv in DIR, the target last, and prints what the set is as one line of JSON.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/psi-shapley/psi/internal/benchset"
	"github.com/psi-shapley/psi/table"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "foldcsv:", err)
		os.Exit(1) //nolint:forbidigo // a command, if not in cmd
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) != 3 {
		return errors.New("usage: foldcsv SET FOLD DIR")
	}
	fold, err := strconv.Atoi(args[1])
	if err != nil || fold < 0 || fold >= benchset.Folds {
		return fmt.Errorf("fold %q: there are 0 to %d", args[1], benchset.Folds-1)
	}
	set, err := benchset.Load(args[0])
	if err != nil {
		return err
	}
	if err := writeFold(ctx, set, fold, args[2]); err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(describe(set, fold))
}

func writeFold(ctx context.Context, set *benchset.Set, fold int, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	train, validation, test := set.Fold(fold)
	return errors.Join(
		writeRows(ctx, set.Table.Select(train), filepath.Join(dir, "train.csv")),
		writeRows(ctx, set.Table.Select(validation), filepath.Join(dir, "validation.csv")),
		writeRows(ctx, set.Table.Select(test), filepath.Join(dir, "test.csv")),
	)
}

func writeRows(ctx context.Context, rows *table.Table, path string) error {
	sink, err := table.Create(path)
	if err != nil {
		return err
	}
	if err := sink.Write(ctx, rows); err != nil {
		return errors.Join(err, sink.Abort())
	}
	return sink.Close()
}

// description is what a reader of the files cannot see in them.
type description struct {
	Name        string        `json:"name"`
	Fold        int           `json:"fold"`
	Target      string        `json:"target"`
	Task        benchset.Task `json:"task"`
	Categorical []string      `json:"categorical"`
	Positive    string        `json:"positive,omitempty"` // of two classes
	Rows        int           `json:"rows"`               // of all parts
	Columns     int           `json:"columns"`            // without the target
}

func describe(set *benchset.Set, fold int) description {
	d := description{
		Name: set.Name, Fold: fold, Target: set.Target, Task: set.Task,
		Categorical: []string{}, Rows: set.Table.Rows(), Columns: len(set.Table.Columns) - 1,
	}
	for _, c := range set.Table.Columns {
		if c.Kind == table.Category && c.Name != set.Target {
			d.Categorical = append(d.Categorical, c.Name)
		}
	}
	if set.Task == benchset.Binary {
		d.Positive = "c1"
	}
	return d
}
