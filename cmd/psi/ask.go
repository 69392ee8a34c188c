package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/internal/prose"
	"github.com/psi-shapley/psi/table"
)

// askFlags holds the flags of ask.
type askFlags struct {
	reference  string
	rows       string
	unknown    []string
	maxColumns int
	format     string
	backend    choice
	json       bool
}

// questionsDocument is the JSON document of ask.
type questionsDocument struct {
	Schema    string     `json:"schema"`
	Model     string     `json:"model"`
	Questions []question `json:"questions"`
}

type question struct {
	Row       int     `json:"row"`
	Column    string  `json:"column"`
	Variance  float64 `json:"variance"`
	Reduction float64 `json:"reduction"`
	Share     float64 `json:"share"`
}

func (p *program) askCommand() *cobra.Command {
	var f askFlags
	c := &cobra.Command{
		Use:   "ask MODEL DATA",
		Short: "Rank the missing columns of each row by the value of knowing them",
		Long: `ask ranks the missing columns of each row of DATA: which value is worth measuring, or asking a
customer for, next? For each missing column it estimates the share of the outcome's variance
that would go, on average, if the value were known. For a model of classes, the outcome is
whether the row belongs to a class.

ask draws possible values of a missing cell from similar rows: from --reference FILE, or from
training rows that the model keeps (psi train --reference-rows).`,
		Example: `  psi ask model.psi new.csv --reference train.csv
  psi ask model.psi new.csv --reference train.csv --rows 17:18
  psi ask model.psi new.csv --reference train.csv --unknown income,age --json`,
		Args: arguments(modelArgument, dataArgument),
	}
	flags := c.Flags()
	flags.StringVar(&f.reference, "reference", "", "`FILE` of similar rows; psi draws 512 of them as possible values of missing cells (default the rows that the model keeps)")
	flags.StringVar(&f.rows, "rows", "", "use only the first `N` rows, or rows A to B-1 for A:B, counted from 0")
	flags.StringSliceVar(&f.unknown, "unknown", nil, "`COLUMNS` to treat as missing, whether or not DATA has them")
	flags.IntVar(&f.maxColumns, "most", 3, "maximum number of columns to name for each row")
	addBackend(flags, &f.backend)
	addInputFormat(flags, &f.format)
	addJSON(flags, &f.json)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return p.ask(cmd.Context(), args[0], args[1], &f)
	}
	return c
}

func (p *program) ask(ctx context.Context, path, argument string, f *askFlags) error {
	if f.maxColumns < 1 {
		return &usageError{fmt.Sprintf("--most is %d", f.maxColumns), "give a whole number from 1 up"}
	}
	o := psi.Ask{Unknown: f.unknown}
	var err error
	if o.From, o.To, err = parseRows(f.rows); err != nil {
		return err
	}
	d, err := p.open(ctx, path, argument, f.format, f.backend)
	if err != nil {
		return err
	}
	defer d.model.Close()
	d.unknown = f.unknown
	if f.reference == "" && d.model.ReferenceRows() == 0 {
		return &plainError{path, "the model keeps no training rows to draw values from", "add --reference FILE with rows like those of the training"}
	}
	if f.reference != "" {
		rows, err := p.openReference(ctx, d.model, f.reference)
		if err != nil {
			return err
		}
		defer rows.Close()
		o.Reference = rows
	}
	rows, err := d.whole(ctx)
	if err != nil {
		return err
	}
	defer rows.Close()
	result := questionsDocument{Schema: "psi.questions/v1", Model: d.model.Digest(), Questions: []question{}}
	for list, err := range d.model.Questions(ctx, rows, o) {
		if err != nil {
			return d.blame(err, d.name)
		}
		list = list[:min(len(list), f.maxColumns)]
		if !f.json {
			if _, err := fmt.Fprintln(p.stdout, askText(list)); err != nil {
				return err
			}
		}
		for _, q := range list {
			result.Questions = append(result.Questions, question{q.Row, q.Column, q.Variance, q.Reduction, q.Share()})
		}
	}
	switch {
	case f.json:
		return p.document(result)
	case len(result.Questions) == 0:
		p.logf("no cell is missing")
	}
	return nil
}

// openReference opens a table with the model's columns.
func (p *program) openReference(ctx context.Context, m *psi.Model, path string) (table.Source, error) {
	d, err := p.data(ctx, path, "")
	if err != nil {
		return nil, err
	}
	source, err := d.open(ctx, 0, m.ReadOptions())
	return source, forModel(err)
}

// askText returns a line for a row.
func askText(list []psi.Question) string {
	parts := make([]string, len(list))
	for i, q := range list {
		parts[i] = fmt.Sprintf("%s (%s of the variance)", prose.Printable(q.Column), shareText(q.Share()))
	}
	return fmt.Sprintf("row %d: ask for %s", list[0].Row, strings.Join(parts, ", then "))
}

// shareText formats the share by which the variance would decrease.
func shareText(share float64) string {
	if share < .005 {
		return "under 1%"
	}
	return fmt.Sprintf("%.0f%%", 100*share)
}
