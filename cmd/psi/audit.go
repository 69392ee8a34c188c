package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/psi-shapley/psi"
)

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
