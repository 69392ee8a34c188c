package main

import (
	"bytes"
	"context"
	_ "embed" // the script that trains trees
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/internal/prose"
	"github.com/psi-shapley/psi/table"
)

//go:embed withtrees.py
var treeScript string

// splitRows is the second word of the seed that chooses validation rows.
const splitRows = 0x73706C6974

// tableSource is a table in memory with the schema that it was read with.
type tableSource struct {
	table.Source
	schema *table.Schema
}

func (s *tableSource) Schema() *table.Schema { return s.schema }

// bothTables holds the rows of a training in memory, which networks and trees both learn from.
type bothTables struct {
	training, validation *table.Table
	schema               *table.Schema
}

func (b *bothTables) source(t *table.Table) table.Source { return &tableSource{t.Source(), b.schema} }

// readBoth reads the rows of a training. Without a validation table, it sets a share of the rows aside.
func readBoth(ctx context.Context, rows *trainingRows, f *trainFlags) (*bothTables, error) {
	all, err := table.ReadAll(ctx, rows.training)
	if err != nil {
		return nil, inFile(err, rows.name)
	}
	b := &bothTables{training: all, schema: rows.training.Schema()}
	if rows.validation != nil {
		b.validation, err = table.ReadAll(ctx, rows.validation.Source)
		return b, inFile(err, rows.validation.file)
	}
	order := rand.New(rand.NewPCG(f.seed, splitRows)).Perm(all.Rows())
	aside := max(1, int(f.validationFraction*float64(all.Rows())))
	if aside >= all.Rows() {
		return nil, &plainError{rows.name, "it has too few rows to set some aside", "give more rows"}
	}
	slices.Sort(order[:aside])
	slices.Sort(order[aside:])
	b.validation, b.training = all.Select(order[:aside]), all.Select(order[aside:])
	return b, nil
}

// fieldsOf returns the schema of the columns of a table.
func fieldsOf(schema *table.Schema, t *table.Table) *table.Schema {
	part := &table.Schema{}
	for _, c := range t.Columns {
		part.Fields = append(part.Fields, *schema.Field(c.Name))
	}
	return part
}

// mixTrees trains trees on the rows that the model was trained on and mixes both. It returns the model that predicts the
// validation rows best: the mixture, or one of the two.
func (p *program) mixTrees(ctx context.Context, m *psi.Model, b *bothTables, f *trainFlags) (*psi.Model, error) {
	dir, err := os.MkdirTemp("", "psi-trees-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	p.logf("training trees with LightGBM")
	content, err := p.trainTrees(ctx, dir, m, b, f)
	if err != nil {
		return nil, err
	}
	file, err := psi.ReadTrees(content, "lightgbm")
	if err != nil {
		return nil, err
	}
	manifest := m.Manifest()
	rows, err := table.New(featuresOf(b.validation, m, b.validation.Column(manifest.Target))...)
	if err != nil {
		return nil, err
	}
	trees, err := file.Import(ctx, psi.ImportOptions{
		Target: manifest.Target, Absent: psi.AbsentByMissing, Masked: true, Classes: manifest.Classes(), Rows: &tableSource{rows.Source(), fieldsOf(b.schema, rows)},
	})
	if err != nil {
		return nil, err
	}
	mixture, err := psi.Mix(ctx, []*psi.Model{m, trees}, b.source(b.validation))
	if alone, is := errors.AsType[*psi.NoMixtureError](err); is {
		what := "network"
		if alone.Best == trees {
			what = "trees"
		}
		p.logf("a mixture does not clearly predict better: the model is the %s alone", what)
		return alone.Best, nil
	}
	if err != nil {
		return nil, err
	}
	shares := mixture.Manifest().Mixture.Shares
	p.logf("the model is a mixture: %.0f %% network, %.0f %% trees", 100*shares[0], 100*shares[1])
	return mixture, nil
}

// checkTrees finds out, before the training, whether trees can be trained.
func (f *trainFlags) checkTrees(ctx context.Context) error {
	child := exec.CommandContext(ctx, f.python, "-c", treeScript, "modules") //nolint:gosec // the user names the program
	var said bytes.Buffer
	child.Stderr = &said
	if err := child.Run(); err != nil {
		return treeFailure(err, f.python, said.String())
	}
	return nil
}

// treeTask is what the script reads.
type treeTask struct {
	Training   string `json:"training"`
	Validation string `json:"validation"`
	Objective  string `json:"objective"`
	Classes    int    `json:"classes"`
	Copies     int    `json:"copies"` // with hidden cells, for each row
	Seed       uint32 `json:"seed"`
	Out        string `json:"out"`
}

// cellsForCopies is the number of cells of a table beyond which trees learn from one copy with hidden cells instead of
// three.
const cellsForCopies = 20_000_000

// trainTrees runs the script and returns the text of its model.
func (p *program) trainTrees(ctx context.Context, dir string, m *psi.Model, b *bothTables, f *trainFlags) ([]byte, error) {
	manifest := m.Manifest()
	task := treeTask{
		Training: filepath.Join(dir, "training.arrow"), Validation: filepath.Join(dir, "validation.arrow"), Out: filepath.Join(dir, "model.txt"),
		Classes: 1, Copies: 3, Seed: uint32(f.seed),
	}
	switch {
	case manifest.Task == psi.Binary:
		task.Objective = "binary"
	case manifest.Task == psi.Multiclass:
		task.Objective, task.Classes = "multiclass", len(manifest.Classes())
	case manifest.TargetScaleName() == psi.LogMeanScale:
		task.Objective = "gamma"
	case manifest.TargetScaleName() == psi.LogScale:
		return nil, &usageError{"--with-trees does not work with --target-scale log", "use log-mean or identity"}
	default:
		task.Objective = "regression"
	}
	if b.training.Rows()*len(m.Columns()) > cellsForCopies {
		task.Copies = 1
	}
	for path, rows := range map[string]*table.Table{task.Training: b.training, task.Validation: b.validation} {
		if err := writeForTrees(ctx, path, rows, m); err != nil {
			return nil, err
		}
	}
	input, err := json.Marshal(task)
	if err != nil {
		return nil, err
	}
	child := exec.CommandContext(ctx, f.python, "-c", treeScript) //nolint:gosec // the user names the program
	var said bytes.Buffer
	child.Stdin, child.Stderr = bytes.NewReader(input), &said
	if err := child.Run(); err != nil {
		return nil, treeFailure(err, f.python, said.String())
	}
	return readFile(ctx, task.Out, maxTreeFile)
}

// absentModule is the exit code of the script if a module is missing.
const absentModule = 3

func treeFailure(err error, python, said string) error {
	exit, ran := errors.AsType[*exec.ExitError](err)
	switch {
	case !ran:
		return &usageError{fmt.Sprintf("--with-trees needs Python, and %s does not run: %v", prose.Printable(python), err), "name a Python that has lightgbm, pandas and pyarrow: --python PATH"}
	case exit.ExitCode() == absentModule:
		return &usageError{
			fmt.Sprintf("--with-trees needs LightGBM, and %s lacks the module %s", prose.Printable(python), prose.Printable(strings.TrimSpace(said))),
			fmt.Sprintf("%s -m pip install lightgbm pandas pyarrow, or name another Python with --python", prose.Printable(python)),
		}
	}
	lines := strings.Split(strings.TrimSpace(said), "\n")
	return &plainError{"", "LightGBM failed: " + prose.Printable(lines[len(lines)-1]), "train without --with-trees, or with another version of LightGBM"}
}

// featuresOf returns the model's columns of rows, and further ones.
func featuresOf(rows *table.Table, m *psi.Model, more ...*table.Column) []*table.Column {
	var columns []*table.Column
	for _, name := range m.Columns() {
		columns = append(columns, rows.Column(name))
	}
	return append(columns, more...)
}

// writeForTrees writes the rows that have a target: features f0, f1, … with times as seconds, the target as a number or
// the index of its class, and the weight.
func writeForTrees(ctx context.Context, path string, rows *table.Table, m *psi.Model) error {
	manifest := m.Manifest()
	y := rows.Column(manifest.Target)
	var known []int
	target, weight := []float64(nil), []float64(nil)
	w := rows.Column(manifest.Weight)
	for row, observed := range y.Observed {
		if !observed {
			continue
		}
		v := float64(slices.Index(manifest.Classes(), y.Text(row)))
		if manifest.Task == psi.Regression {
			v = y.Numbers[row]
		}
		share := 1.0
		if manifest.Weight != "" && w != nil {
			if share = w.Numbers[row]; !w.Observed[row] || share <= 0 {
				continue
			}
		}
		known, target, weight = append(known, row), append(target, v), append(weight, share)
	}
	columns := make([]*table.Column, 0, len(m.Columns()))
	for k, c := range featuresOf(rows, m) {
		feature := *c
		if feature.Kind != table.Category {
			feature.Kind, feature.Levels = table.Number, nil
		}
		feature.Name = fmt.Sprintf("f%d", k)
		columns = append(columns, &feature)
	}
	all, err := table.New(columns...)
	if err != nil {
		return err
	}
	all = all.Select(known)
	all.Columns = append(all.Columns, table.NumberColumn("target", target, nil), table.NumberColumn("weight", weight, nil))
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	sink, err := table.NewSink(file, table.ArrowFile)
	if err != nil {
		return err
	}
	if err := errors.Join(sink.Write(ctx, all), sink.Close()); err != nil {
		return err
	}
	return file.Close()
}
