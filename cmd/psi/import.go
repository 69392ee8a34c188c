package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/internal/prose"
	"github.com/psi-shapley/psi/table"
)

// importFlags holds the flags of import.
type importFlags struct {
	target, rows, out string
	format, absent    choice
	missing, classes  []string
	masked            bool
	force, json       bool
}

func (p *program) importCommand() *cobra.Command {
	f := importFlags{format: optional(psi.TreeFormats()...), absent: choose(psi.AbsentByCover, psi.AbsentByMissing)}
	c := &cobra.Command{
		Use:   "import FILE --target NAME -o MODEL",
		Short: "Make a model of trees that another program trained",
		Long: `import reads a model of trees, such as XGBoost's or LightGBM's, and writes it as a psi model.
Its predictions are those of the program that trained it. psi explain then gives exact Shapley
values, and report, serve, batch, ask, evaluate and audit work as for a model that psi trained.

Trees do not say how uncertain their attributions are, so these have no interval. --rows names
a table that the trees were not trained on, and psi measures the model on it. If the rows have
the target, psi finds its errors and the ranges that contain 90 % of the targets. Predictions
stay as they are: psi recalibrate changes them.

A missing cell is a value for imported trees, with an attribution of its own. Only --unknown of
psi explain makes a column absent. The trees then weigh its branches by the training rows that
took them, as TreeSHAP does (the game path-dependent). psi explain --game interventional
--reference TABLE takes the values of reference rows instead. --absent missing-branch sends
absent columns where missing values go. That means something only for trees that learned from
rows with missing cells in every column.`,
		Example: `  psi import booster.json --target price -o price.psi
  psi import model.txt --target churn --rows holdout.csv -o churn.psi
  psi explain churn.psi new.csv`,
		Args: arguments(treesArgument),
	}
	flags := c.Flags()
	flags.StringVar(&f.target, "target", "", "`NAME` of what the trees predict; its column in --rows, if there is one")
	flags.Var(&f.format, "format", "format of FILE, if its content does not tell")
	flags.StringVar(&f.rows, "rows", "", "`TABLE` to measure the model on; rows that the trees were not trained on")
	flags.StringSliceVar(&f.missing, "missing", nil, "`WORDS` that mean a missing cell in --rows, besides the usual ones")
	flags.StringSliceVar(&f.classes, "classes", nil, "`NAMES` of the classes, in the order in which the trees number them (default those of FILE, or of the target in --rows, sorted)")
	flags.Var(&f.absent, "absent", "what happens to absent columns")
	flags.BoolVar(&f.masked, "masked", false, "with --absent missing-branch: the trees learned from rows with cells hidden at random (the game observational)")
	flags.StringVarP(&f.out, "out", "o", "", "`FILE` for the model")
	addJSON(flags, &f.json)
	addForce(flags, &f.force)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return p.importTrees(cmd.Context(), args[0], &f)
	}
	return c
}

// maxTreeFile is the maximum size of a file of trees, in bytes.
const maxTreeFile = 2 << 30

func (p *program) importTrees(ctx context.Context, path string, f *importFlags) error {
	switch f.out {
	case "":
		return &usageError{"psi import needs -o", "name the file for the model: -o model.psi"}
	case standardOutput:
		return &usageError{"a model cannot be written to standard output", "name a file: -o model.psi"}
	}
	if f.target == "" {
		return errNoTarget("import")
	}
	if err := p.checkFiles(ctx, f.force, []output{{path: f.out, content: contentModel}}, path, f.rows); err != nil {
		return err
	}
	content, err := readFile(ctx, path, maxTreeFile)
	if errors.Is(err, context.Canceled) {
		return err
	}
	if err != nil {
		return &plainError{path, "cannot be read: " + err.Error(), "check the path and its permissions"}
	}
	trees, err := psi.ReadTrees(content, f.format.word)
	if err != nil {
		return inFile(err, path)
	}
	o := psi.ImportOptions{Target: f.target, Absent: f.absent.word, Masked: f.masked, Classes: f.classes}
	if f.rows != "" {
		rows, err := p.importRows(ctx, trees, f)
		if err != nil {
			return err
		}
		defer rows.Close()
		o.Rows = rows
	}
	model, err := trees.Import(ctx, o)
	if err != nil {
		return inFile(err, f.blamed(path, err))
	}
	defer model.Close()
	if err := model.Save(f.out); err != nil {
		return err
	}
	return p.reportImport(model, f)
}

// blamed returns the file that an error of an import is about.
func (f *importFlags) blamed(path string, err error) string {
	if e, ok := errors.AsType[*psi.Error](err); ok && e.Column != "" && f.rows != "" {
		return f.rows
	}
	return path
}

// importRows opens the rows that measure an import.
func (p *program) importRows(ctx context.Context, trees *psi.Trees, f *importFlags) (table.Source, error) {
	d, err := p.data(ctx, f.rows, "")
	if err != nil {
		return nil, err
	}
	options := trees.ReadOptions()
	options.SampleRows, options.Missing = d.sampleRows(), f.missing
	options.Guess = &table.Guess{Except: []string{f.target}}
	source, err := d.join(ctx, options)
	if err != nil {
		return nil, inFile(err, f.rows)
	}
	return source, nil
}

// importDocument is the JSON document of import.
type importDocument struct {
	Schema   string             `json:"schema"`
	Model    string             `json:"model"`
	Digest   string             `json:"digest"`
	Task     psi.Task           `json:"task"`
	Imported *psi.Imported      `json:"imported"`
	Columns  int                `json:"columns"`
	Metrics  map[string]float64 `json:"metrics"` // empty without rows that have the target
	Audit    *psi.Audit         `json:"audit"`   // null without rows
}

func (p *program) reportImport(m *psi.Model, f *importFlags) error {
	manifest := m.Manifest()
	p.logf("%s\nNext: psi explain %s TABLE, or psi report %s TABLE", wrap(importText(f, m), p.stderrWidth()), quoted(f.out), quoted(f.out))
	if !f.json {
		return nil
	}
	return p.document(importDocument{
		Schema: "psi.import/v1", Model: f.out, Digest: m.Digest(), Task: manifest.Task, Imported: manifest.Imported,
		Columns: len(manifest.Columns), Metrics: manifest.Metrics, Audit: m.StoredAudit(),
	})
}

func importText(f *importFlags, m *psi.Model) string {
	manifest := m.Manifest()
	of := manifest.Imported
	var text strings.Builder
	fmt.Fprintf(&text, "%s predicts %s from %s by %s of at most %s (%s, objective %s). ", f.out, predicted(manifest), prose.Count(len(manifest.Columns), "column"),
		prose.Count(of.Trees, "tree"), prose.Count(of.Depth, "level"), of.Format, prose.Printable(of.Objective))
	fmt.Fprintf(&text, "Shapley values are those of the %s game: if a column is absent, %s. ", of.Game, of.Game.Absent())
	switch {
	case f.rows == "":
		text.WriteString("Without --rows nothing is measured, so that predictions have no ranges.")
	case len(manifest.Metrics) == 0:
		fmt.Fprintf(&text, "The rows have too few values of %s to measure predictions. %s", prose.Printable(f.target), auditText(m.StoredAudit()))
	default:
		fmt.Fprintf(&text, "On %s %s. %s", prose.Count(of.Rows, "row"), measuredText(manifest), auditText(m.StoredAudit()))
	}
	return text.String()
}
