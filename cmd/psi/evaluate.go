package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/psi-shapley/psi"
)

// measureFlags are those of the commands that measure a model on a table.
type measureFlags struct {
	format  string
	backend choice
	json    bool
}

func (f *measureFlags) add(c *cobra.Command) {
	addBackend(c.Flags(), &f.backend)
	addInputFormat(c.Flags(), &f.format)
	addJSON(c.Flags(), &f.json)
}

func (p *program) evaluateCommand() *cobra.Command {
	var f measureFlags
	c := &cobra.Command{
		Use:   "evaluate MODEL DATA",
		Short: "Measure a model's predictions on rows whose outcome is known",
		Long: `evaluate compares predictions with the target column of DATA. Rows without a target are
left out. Rows count by the weight column of the training, if there was one and DATA has
it. Give rows that the model was not trained on: on its own it does better.`,
		Example: `  psi evaluate model.psi test.csv
  psi evaluate model.psi test.csv --json`,
		Args: arguments(modelArgument, dataArgument),
	}
	f.add(c)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return p.measure(cmd.Context(), args[0], args[1], f, func(m *psi.Model, rows psi.Source) error {
			return p.evaluate(cmd.Context(), m, rows, f.json)
		})
	}
	return c
}

// measure opens a model and a table with its target.
func (p *program) measure(ctx context.Context, path, argument string, f measureFlags, do func(*psi.Model, psi.Source) error) error {
	d, err := p.open(ctx, path, argument, f.format, f.backend)
	if err != nil {
		return err
	}
	defer d.model.Close()
	d.measure = true
	rows, err := d.whole(ctx)
	if err != nil {
		return err
	}
	defer rows.Close()
	return inFile(do(d.model, rows), d.name)
}

func (p *program) evaluate(ctx context.Context, m *psi.Model, rows psi.Source, asJSON bool) error {
	result, err := m.Evaluate(ctx, rows)
	if err != nil {
		return err
	}
	if asJSON {
		return p.document(result)
	}
	return result.Text(p.stdout, targetText(m.Manifest()))
}

// targetText is the target with its classes.
func targetText(m psi.Manifest) string {
	switch classes := m.Classes(); m.Task {
	case psi.Binary:
		return fmt.Sprintf("%s (%s or not)", m.Target, classes[1])
	case psi.Multiclass:
		return fmt.Sprintf("%s (%d classes)", m.Target, len(classes))
	}
	return m.Target
}
