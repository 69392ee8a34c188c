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
		Long: `audit computes Shapley values from the model's values of coalitions alone, without the
part of the network that gave the attributions: from all coalitions up to 16 columns, from
sampled orders of the columns beyond that. It then says how near the attributions are, and
how much worse predictions get when cells are missing.

If DATA has the target, audit also measures the importance in loss: how much each column lowers the
squared error, or the log loss, of a row. If the model was trained with --validation-by and DATA has that
column, standard errors are over groups of rows that share its value, else over rows. Columns are found
if a one-sided test says so, with at most 5 % false discoveries expected. Give rows that the model has
not learned from: on training rows, columns of noise may seem to help. psi inspect shows the importance
in loss on the validation rows of the training.`,
		Example: `  psi audit model.psi test.csv
  psi audit model.psi test.csv --rows 50 --json`,
		Args: arguments(modelArgument, dataArgument),
	}
	c.Flags().IntVar(&count, "rows", count, "rows to audit, drawn from DATA")
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
