package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/internal/prose"
)

// mixFlags holds the flags of mix.
type mixFlags struct {
	measureFlags
	rows, out string
	force     bool
}

func (p *program) mixCommand() *cobra.Command {
	var f mixFlags
	c := &cobra.Command{
		Use:   "mix MODEL MODEL... --rows TABLE -o MODEL",
		Short: "Average models with the weights that predict best",
		Long: `mix makes one model of several: its score is a weighted mean of their scores. By linearity its
Shapley values are the same mean of theirs, so that it is as exact as they are.

The weights are fitted on --rows, which none of the models was trained on: whole, and with cells
hidden at random. A model that does not help gets no weight and is left out. The base and the
scale of the mixture, and the ranges of a number, are fitted on the same rows.

All models must predict the same target from the same columns, in one game. Trees can be mixed
with a network if they learned from rows with cells hidden at random (psi import --absent
missing-branch --masked). psi train --with-trees does all of it.`,
		Example: `  psi mix a.psi b.psi --rows holdout.csv -o both.psi`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return &usageError{"psi mix needs at least two models", "for example psi mix a.psi b.psi --rows holdout.csv -o both.psi"}
			}
			return nil
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.rows, "rows", "", "`TABLE` with the target that fits the weights")
	flags.StringVarP(&f.out, "out", "o", "", "`FILE` for the mixture")
	addForce(flags, &f.force)
	addJSON(flags, &f.json)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return p.mix(cmd.Context(), args, &f)
	}
	return c
}

func (p *program) mix(ctx context.Context, paths []string, f *mixFlags) error {
	switch {
	case f.out == "":
		return &usageError{"psi mix needs -o", "name the file for the mixture: -o both.psi"}
	case f.out == standardOutput:
		return &usageError{"a model cannot be written to standard output", "name a file: -o both.psi"}
	case f.rows == "":
		return &usageError{"psi mix needs --rows", "name a table with the target that none of the models was trained on"}
	}
	if err := p.checkFiles(ctx, f.force, []output{{path: f.out, content: contentModel}}, append(paths, f.rows)...); err != nil {
		return err
	}
	var models []*psi.Model
	defer func() {
		for _, m := range models {
			m.Close()
		}
	}()
	for _, path := range paths {
		m, err := psi.Open(path)
		if err != nil {
			return err
		}
		models = append(models, m)
	}
	d, err := p.data(ctx, f.rows, "")
	if err != nil {
		return err
	}
	in := &modelData{data: d, program: p, path: paths[0], model: models[0], measure: true}
	source, err := in.whole(ctx)
	if err != nil {
		return err
	}
	defer source.Close()
	mixture, err := psi.Mix(ctx, models, source)
	if err != nil {
		return in.blame(err, f.rows)
	}
	if err := mixture.Save(f.out); err != nil {
		return err
	}
	return p.reportMixture(mixture, f)
}

// mixDocument is the JSON document of mix.
type mixDocument struct {
	Schema  string             `json:"schema"`
	Model   string             `json:"model"`
	Digest  string             `json:"digest"`
	Heads   []string           `json:"heads"`  // of the members
	Shares  []float64          `json:"shares"` // of the members
	Rows    int                `json:"rows"`
	Metrics map[string]float64 `json:"metrics"` // on the rows that fitted the weights
	Audit   *psi.Audit         `json:"audit"`
}

func (p *program) reportMixture(m *psi.Model, f *mixFlags) error {
	manifest := m.Manifest()
	doc := mixDocument{
		Schema: "psi.mixture/v1", Model: f.out, Digest: m.Digest(), Shares: manifest.Mixture.Shares, Rows: manifest.Provenance.ValidationRows, Metrics: manifest.Metrics, Audit: m.StoredAudit(),
	}
	parts := make([]string, 0, len(manifest.Mixture.Members))
	for k, member := range manifest.Mixture.Members {
		doc.Heads = append(doc.Heads, member.Settings.Head)
		parts = append(parts, fmt.Sprintf("%.0f %% %s", 100*doc.Shares[k], memberName(&member)))
	}
	p.logf("%s", wrap(fmt.Sprintf("%s mixes %s. On the %s that fitted the weights %s. %s", f.out, strings.Join(parts, ", "), prose.Count(doc.Rows, "row"), measuredText(manifest), auditText(doc.Audit)), p.stderrWidth()))
	if !f.json {
		return nil
	}
	return p.document(doc)
}

// memberName describes a member of a mixture.
func memberName(m *psi.Manifest) string {
	if m.Imported != nil {
		return fmt.Sprintf("%s of %s", prose.Count(m.Imported.Trees, "tree"), m.Imported.Format)
	}
	return m.Settings.Head + " head"
}
