// Package treestest gives tests models of trees that libraries trained, with rows and what the libraries say of them.
package treestest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/psi-shapley/psi/table"
)

// File is a model that a library saved.
type File struct {
	Format  string
	Name    string   `json:"name"`
	Model   string   `json:"model"` // content of the file
	Columns []string `json:"columns"`
	Rows    [][]any  `json:"rows"` // numbers, labels, and nil for missing cells

	Raw           [][]float64   `json:"raw"`           // outputs of the rows
	Contributions [][][]float64 `json:"contributions"` // row, output, columns and the base
}

// Read returns the models of LightGBM and XGBoost. root is the path of the module.
func Read(root string) (list []File, err error) {
	for _, format := range []string{"lightgbm", "xgboost"} {
		content, err := os.ReadFile(filepath.Join(root, "internal", "trees", "testdata", format+".json"))
		if err != nil {
			return nil, err
		}
		var files []File
		if err := json.Unmarshal(content, &files); err != nil {
			return nil, err
		}
		for _, f := range files {
			f.Format = format
			list = append(list, f)
		}
	}
	return list, nil
}

// Find returns one of these models.
func Find(root, format, name string) (*File, error) {
	files, err := Read(root)
	if err != nil {
		return nil, err
	}
	for i := range files {
		if files[i].Format == format && files[i].Name == name {
			return &files[i], nil
		}
	}
	return nil, fmt.Errorf("there is no model %s of %s", name, format)
}

// Table returns the rows.
func (f *File) Table() *table.Table {
	t := &table.Table{}
	for d, name := range f.Columns {
		numbers, labels, observed, text := make([]float64, len(f.Rows)), make([]string, len(f.Rows)), make([]bool, len(f.Rows)), false
		for i, row := range f.Rows {
			switch v := row[d].(type) {
			case float64:
				numbers[i], observed[i] = v, true
			case string:
				labels[i], observed[i], text = v, true, true
			}
		}
		if text {
			t.Columns = append(t.Columns, table.CategoryColumn(name, labels, observed))
		} else {
			t.Columns = append(t.Columns, table.NumberColumn(name, numbers, observed))
		}
	}
	return t
}
