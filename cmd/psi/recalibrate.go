package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/internal/prose"
)

// recalibrateFlags holds the flags of recalibrate.
type recalibrateFlags struct {
	measureFlags
	out   string
	force bool
}

func (p *program) recalibrateCommand() *cobra.Command {
	var f recalibrateFlags
	c := &cobra.Command{
		Use:   "recalibrate MODEL DATA -o MODEL",
		Short: "Adapt a model's base rate and scale to new rows, without training",
		Long: `recalibrate adapts a model to rows with known outcomes whose level differs from the
training's: another year, another region, a class that became rarer. It sets the base and one
factor of all attributions. The relative importance of the columns stays as it was trained,
and attributions still add up to the prediction. For a number, it also fits the 90 % ranges on
the same rows.

It prints the errors on DATA before and after. The errors after are out of fold: each fifth of
the rows is predicted by a model recalibrated on the other four. The new file records the
recalibration, and psi inspect shows it. Without -o nothing is written.

Rows without a target are skipped. At least 30 rows are needed. From more than 10,000 rows,
psi draws 10,000 at random with a fixed seed. If the effects of columns changed too, train a
new model.`,
		Example: `  psi recalibrate churn.psi this-year.csv
  psi recalibrate churn.psi this-year.csv -o churn-this-year.psi`,
		Args: arguments(modelArgument, dataArgument),
	}
	flags := c.Flags()
	flags.StringVarP(&f.out, "out", "o", "", "`FILE` for the recalibrated model; it cannot be MODEL")
	addForce(flags, &f.force)
	f.add(c)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return p.recalibrate(cmd.Context(), args[0], args[1], &f)
	}
	return c
}

func (p *program) recalibrate(ctx context.Context, path, argument string, f *recalibrateFlags) error {
	if f.out == standardOutput {
		return &usageError{"a model cannot be written to standard output", "name a file: -o model.psi"}
	}
	if f.out != "" {
		if err := p.checkFiles(ctx, f.force, []output{{path: f.out, content: contentModel}}, path, argument); err != nil {
			return err
		}
	}
	return p.measure(ctx, path, argument, f.measureFlags, func(m *psi.Model, rows psi.Source) error {
		fresh, err := m.Recalibrate(ctx, rows)
		if err != nil {
			return err
		}
		defer fresh.Close()
		if f.out != "" {
			if err := fresh.Save(f.out); err != nil {
				return err
			}
		}
		return p.reportRecalibration(m, fresh, f)
	})
}

// recalibration is the JSON document of recalibrate.
type recalibration struct {
	Schema string   `json:"schema"`
	Model  string   `json:"model"`  // digest of the input model
	File   *string  `json:"file"`   // null if nothing was written
	Digest *string  `json:"digest"` // of the file
	Task   psi.Task `json:"task"`
	psi.Recalibration
}

func (p *program) reportRecalibration(m, fresh *psi.Model, f *recalibrateFlags) error {
	manifest := fresh.Manifest()
	last := manifest.Recalibrations[len(manifest.Recalibrations)-1]
	if f.json {
		document := recalibration{Schema: "psi.recalibration/v1", Model: m.Digest(), Task: manifest.Task, Recalibration: last}
		if f.out != "" {
			digest := fresh.Digest()
			document.File, document.Digest = &f.out, &digest
		}
		return p.document(document)
	}
	lines := [][]string{{"", "before", "after"}}
	for _, metric := range metricsOf(manifest.Task) {
		if before, known := last.Before[metric.Name]; known {
			lines = append(lines, []string{metric.Name, prose.Number(before), prose.Number(last.After[metric.Name]), metric.Meaning})
		}
	}
	text := fmt.Sprintf("%s: errors on %s, before recalibrating and after it (out of fold)\n%s", prose.Printable(targetText(manifest)), prose.Count(last.Rows, "row"), aligned("  ", lines))
	text += fmt.Sprintf("\n%s; attributions × %s\n", shiftText(manifest, last), prose.Number(last.Factor))
	if _, err := fmt.Fprint(p.stdout, text); err != nil {
		return err
	}
	p.adviseOnRecalibration(manifest.Task, last, f.out)
	return nil
}

// shiftText describes the change of the base.
func shiftText(m psi.Manifest, r psi.Recalibration) string {
	names := []string{"base"}
	switch m.Task {
	case psi.Binary:
		names = []string{"base score (log odds) of " + m.Classes()[1]}
	case psi.Multiclass:
		names = m.Classes()
	}
	moved := make([]string, 0, len(r.Shift))
	for c, shift := range r.Shift {
		moved = append(moved, prose.Printable(names[c])+" "+signed(shift))
	}
	if m.Task == psi.Multiclass {
		return "base scores: " + joinFirst(moved)
	}
	return moved[0]
}

// signed formats a number with its sign.
func signed(x float64) string {
	if x >= 0 {
		return "+ " + prose.Number(x)
	}
	return "− " + prose.Number(-x)
}

// fewRecalibrationRows is the number of rows below which chance changes base and scale visibly.
const fewRecalibrationRows = 200

// adviseOnRecalibration reports how to interpret the result.
func (p *program) adviseOnRecalibration(task psi.Task, r psi.Recalibration, out string) {
	loss := "log_loss"
	if task == psi.Regression {
		loss = "rmse"
	}
	if r.After[loss] >= r.Before[loss] {
		p.logf("%s does not fall on out-of-fold rows: keep the model as it is", strings.ReplaceAll(loss, "_", " "))
	}
	if r.Rows < fewRecalibrationRows {
		p.logf("%s are few, so base and scale are partly chance: use some hundreds", prose.Count(r.Rows, "row"))
	}
	if out == "" {
		p.logf("nothing is written: -o FILE writes the recalibrated model")
	} else {
		p.logf("%s: the recalibrated model", out)
	}
}
