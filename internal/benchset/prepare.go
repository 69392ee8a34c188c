package benchset

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/psi-shapley/psi/table"
)

// load reads the set and prepares it: rows that do not count leave, numbers that mean missing become missing, the target
// goes last in its own units or classes.
func (r recipe) load(dir string) (*table.Table, error) {
	raw, err := r.read(dir)
	if err != nil {
		return nil, err
	}
	if err := r.check(raw); err != nil {
		return nil, err
	}
	inputs, target := r.divide(raw)
	if r.keep != nil {
		inputs, target = r.divide(raw.Select(r.keptRows(inputs)))
	}
	inputs = slices.DeleteFunc(inputs, func(c *table.Column) bool { return slices.Contains(r.leave, c.Name) })
	for i, c := range inputs {
		inputs[i] = r.withoutCodes(c)
		if r.fill {
			inputs[i] = filled(inputs[i])
		}
	}
	if r.task == Regression {
		target = r.scaled(target)
	} else if target, err = r.classed(target); err != nil {
		return nil, err
	}
	return table.New(append(inputs, target)...)
}

// check reports a file that is not the one the recipe was written for.
func (r recipe) check(raw *table.Table) error {
	target := raw.Column(r.target)
	if target == nil {
		return fmt.Errorf("no column %q", r.target)
	}
	if row := slices.Index(target.Observed, false); row >= 0 {
		return fmt.Errorf("row %d: the target %q is missing", row, r.target)
	}
	for _, c := range raw.Columns {
		labels := slices.Contains(r.categories, c.Name) || c.Name == r.target && r.classes != nil
		if !labels && c.Kind != table.Number {
			return fmt.Errorf("column %q should hold numbers: %s", c.Name, c.Reason)
		}
	}
	return nil
}

// divide returns the inputs in file order, and the target.
func (r recipe) divide(t *table.Table) (inputs []*table.Column, target *table.Column) {
	for _, c := range t.Columns {
		if c.Name == r.target {
			target = c
		} else {
			inputs = append(inputs, c)
		}
	}
	return inputs, target
}

func (r recipe) keptRows(inputs []*table.Column) []int {
	var rows []int
	for row := range inputs[0].Len() {
		if r.keep(inputs, row) {
			rows = append(rows, row)
		}
	}
	return rows
}

// withoutCodes returns the input with the numbers that mean missing missing.
func (r recipe) withoutCodes(c *table.Column) *table.Column {
	if r.missing == nil || c.Kind != table.Number {
		return c
	}
	observed := slices.Clone(c.Observed)
	for row, value := range c.Numbers {
		observed[row] = observed[row] && !r.missing(c.Name, value)
	}
	return table.NumberColumn(c.Name, c.Numbers, observed)
}

// scaled returns a regression target divided by the recipe's divisor.
func (r recipe) scaled(c *table.Column) *table.Column {
	values := slices.Clone(c.Numbers)
	if r.divisor != 0 {
		for row := range values {
			values[row] /= r.divisor
		}
	}
	return table.NumberColumn(Target, values, nil)
}

// classed returns a class target with the file's labels replaced by c0, c1, ….
func (r recipe) classed(c *table.Column) (*table.Column, error) {
	classes := make([]string, c.Len())
	for row := range classes {
		label := c.Text(row)
		class, known := r.classes[label]
		if !known {
			return nil, fmt.Errorf("row %d: no class for %q in the target %q", row, label, c.Name)
		}
		classes[row] = class
	}
	return table.CategoryColumn(Target, classes, nil), nil
}

// text returns the recipe's files as one CSV text.
func (r recipe) text(dir string) ([]byte, error) {
	var whole bytes.Buffer
	if r.header != "" {
		whole.WriteString(r.header + "\n")
	}
	for _, f := range r.files {
		part, err := f.text(dir)
		if err != nil {
			return nil, err
		}
		whole.Write(part)
		whole.WriteByte('\n')
	}
	return whole.Bytes(), nil
}

// text returns the unpacked file without the lines to skip and without blank lines at its end.
func (f file) text(dir string) ([]byte, error) {
	path := filepath.Join(dir, filepath.FromSlash(f.path))
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", path, ErrAbsent)
	}
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(f.path, ".gz") {
		unpacked, err := gzip.NewReader(bytes.NewReader(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if text, err = io.ReadAll(unpacked); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	for range f.skip {
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	return bytes.TrimRight(text, "\r\n"), nil
}

// read returns the columns the recipe keeps, as the file has them.
func (r recipe) read(dir string) (*table.Table, error) {
	text, err := r.text(dir)
	if err != nil {
		return nil, err
	}
	options := table.Options{
		Name:        r.name,
		Keep:        func(column string) bool { return !slices.Contains(r.drop, column) },
		Categorical: r.categories,
		Delimiter:   r.delimiter,
		NoHeader:    r.noHeader,
		SampleRows:  -1,
	}
	if r.classes != nil {
		options.Categorical = append(slices.Clone(r.categories), r.target)
	}
	source, err := table.OpenReader(bytes.NewReader(text), table.CSV, options)
	if err != nil {
		return nil, err
	}
	raw, err := table.ReadAll(context.Background(), source)
	return raw, errors.Join(err, source.Close())
}
