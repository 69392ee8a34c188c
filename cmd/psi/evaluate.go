package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/psi-shapley/psi"
)

// measureFlags holds the flags of the commands that measure a model on a table.
type measureFlags struct {
	format  string
	backend choice
	json    bool
	units   bool // also read the column of units
}

func (f *measureFlags) add(c *cobra.Command) {
	addBackend(c.Flags(), &f.backend)
	addInputFormat(c.Flags(), &f.format)
	addJSON(c.Flags(), &f.json)
}

func (p *program) evaluateCommand() *cobra.Command {
	var f measureFlags
	var thresholds []float64
	c := &cobra.Command{
		Use:   "evaluate MODEL DATA",
		Short: "Measure a model's predictions on rows with known outcomes",
		Long: `evaluate compares predictions with the target column of DATA. It skips rows without a target.
It weights rows by the weight column of the training, if there was one and DATA has it. Use
rows that the model was not trained on: on training rows every model looks better than it is.

For two classes, --threshold sets the probability from which a row is called positive, and
shows the resulting confusion matrix, precision, recall and lift. Rare classes seldom reach a
probability of 0.5: try the share of positive rows first.`,
		Example: `  psi evaluate model.psi test.csv
  psi evaluate model.psi test.csv --threshold 0.05,0.2
  psi evaluate model.psi test.csv --json`,
		Args: arguments(modelArgument, dataArgument),
	}
	f.add(c)
	c.Flags().Float64SliceVar(&thresholds, "threshold", nil, "`PROBABILITIES` from which a row is called positive, such as 0.05,0.2")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		for _, t := range thresholds {
			if !(t >= 0 && t <= 1) {
				return &usageError{fmt.Sprintf("--threshold is %g, which is not a probability", t), "give a number from 0 to 1, such as 0.2"}
			}
		}
		return p.measure(cmd.Context(), args[0], args[1], f, func(m *psi.Model, rows psi.Source) error {
			return p.evaluate(cmd.Context(), m, rows, thresholds, f.json)
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
	if f.units {
		d.also = d.model.Manifest().Provenance.ValidationBy()
	}
	rows, err := d.whole(ctx)
	if err != nil {
		return err
	}
	defer rows.Close()
	defer p.reportUnread(&d.unread)
	return inFile(d.hint(do(d.model, rows)), d.name)
}

func (p *program) evaluate(ctx context.Context, m *psi.Model, rows psi.Source, thresholds []float64, asJSON bool) error {
	result, err := m.EvaluateAt(ctx, rows, thresholds...)
	if err != nil {
		return err
	}
	if asJSON {
		return p.document(result)
	}
	manifest := m.Manifest()
	if err := result.Text(p.stdout, targetText(manifest)); err != nil {
		return err
	}
	for _, d := range result.Decisions {
		if _, err := io.WriteString(p.stdout, "\n"); err != nil {
			return err
		}
		if err := d.Text(p.stdout, manifest.Classes()[1]); err != nil {
			return err
		}
	}
	return nil
}

// targetText returns the target with its classes.
func targetText(m psi.Manifest) string {
	switch classes := m.Classes(); m.Task {
	case psi.Binary:
		return fmt.Sprintf("%s (%s or not)", m.Target, classes[1])
	case psi.Multiclass:
		return fmt.Sprintf("%s (%d classes)", m.Target, len(classes))
	}
	return m.Target
}

func (p *program) auditCommand() *cobra.Command {
	var f measureFlags
	count := 200
	c := &cobra.Command{
		Use:   "audit MODEL DATA",
		Short: "Compare a model's attributions with Shapley values of the same model",
		Long: `audit recomputes Shapley values from the model's predictions for subsets of columns, without
the part of the network that gave the attributions. It uses all subsets for up to 16 columns
and samples orders of the columns beyond that. It reports how close the attributions are, and
how much worse predictions get when cells are missing.

If DATA has the target, audit also measures importance in loss: how much each column lowers
the squared error, or the log loss, of a row. A one-sided test picks the columns that help,
with at most 5 % false discoveries expected. Standard errors are over rows. If the model was
trained with --validation-by and DATA has that column, they are over groups of rows with the
same value instead.

Use rows that the model has not learned from: on training rows, columns of noise may seem to
help. psi inspect shows the importance in loss on the validation rows of the training.`,
		Example: `  psi audit model.psi test.csv
  psi audit model.psi test.csv --rows 50 --json`,
		Args: arguments(modelArgument, dataArgument),
	}
	c.Flags().IntVar(&count, "rows", count, "number of rows to audit, drawn from DATA")
	f.add(c)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if count < 1 {
			return &usageError{fmt.Sprintf("--rows is %d", count), "give a whole number from 1 up"}
		}
		f.units = true
		return p.measure(cmd.Context(), args[0], args[1], f, func(m *psi.Model, rows psi.Source) error {
			return p.audit(cmd.Context(), m, rows, count, f.json)
		})
	}
	return c
}

func (p *program) audit(ctx context.Context, m *psi.Model, rows psi.Source, count int, asJSON bool) error {
	result, err := m.Audit(ctx, rows, count)
	if err != nil {
		return err
	}
	if asJSON {
		return p.document(result)
	}
	return result.Text(p.stdout)
}
