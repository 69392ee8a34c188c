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
