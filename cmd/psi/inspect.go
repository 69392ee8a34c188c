package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/eval"
	"github.com/psi-shapley/psi/table"
)

func (p *program) inspectCommand() *cobra.Command {
	asJSON := false
	c := &cobra.Command{
		Use:   "inspect MODEL",
		Short: "Show what a model file holds",
		Long: `inspect shows the columns of a model and why each is read as it is, its errors on
validation rows, the audit of its attributions, its settings, and where it comes from.`,
		Example: `  psi inspect model.psi
  psi inspect model.psi --json`,
		Args: arguments(modelArgument),
	}
	addJSON(c.Flags(), &asJSON)
	c.RunE = func(_ *cobra.Command, args []string) error { return p.inspect(args[0], asJSON) }
	return c
}

// inspection is a model file in words and numbers.
type inspection struct {
	Schema     string             `json:"schema"`
	File       string             `json:"file"`
	Digest     string             `json:"digest"`
	Task       psi.Task           `json:"task"`
	Target     string             `json:"target"`
	TargetKind table.Kind         `json:"target_kind"`
	Head       string             `json:"head"`
	Weights    int                `json:"weights"`
	Columns    []table.Field      `json:"columns"`
	Missing    []string           `json:"missing"`
	Settings   psi.Settings       `json:"settings"`
	Metrics    map[string]float64 `json:"metrics"`
	Audit      *psi.Audit         `json:"audit"`
	Provenance psi.Provenance     `json:"provenance"`
}

func (p *program) inspect(path string, asJSON bool) error {
	model, err := psi.OpenOn(path, "go") // nothing is computed, and go needs no library
	if err != nil {
		return err
	}
	defer model.Close()
	m := model.Manifest()
	i := inspection{
		"psi.model/v1", path, model.Digest(), m.Task, m.Target, m.TargetKind, model.Head(), model.WeightCount(), m.Columns, m.Missing, m.Settings,
		m.Metrics, model.StoredAudit(), m.Provenance,
	}
	if i.Missing == nil {
		i.Missing = []string{}
	}
	if asJSON {
		return p.document(i)
	}
	text, err := i.text()
	if err != nil {
		return err
	}
	_, err = p.stdout.Write([]byte(text))
	return err
}

func (i *inspection) text() (string, error) {
	var text strings.Builder
	section := func(title string, fill func(line func(cells ...any))) {
		var lines [][]string
		fill(func(cells ...any) {
			line := make([]string, len(cells))
			for i, cell := range cells {
				line[i] = clean(fmt.Sprint(cell))
			}
			lines = append(lines, line)
		})
		text.WriteString("\n" + title + "\n" + aligned("  ", lines))
	}
	fmt.Fprintf(&text, "%s: %s of %s from %s, %s head, %s\n", i.File, i.Task, clean(i.Target), countOf(len(i.Columns), "column"), i.Head, countOf(i.Weights, "weight"))
	fmt.Fprintf(&text, "%s\n", i.Digest)
	section("columns", func(line func(...any)) {
		for _, f := range i.Columns {
			line(f.Name, f.Kind, f.Reason)
			for _, note := range f.Notes {
				line("", "", "note: "+note)
			}
		}
	})
	section(fmt.Sprintf("on %s of validation", countOf(i.Provenance.ValidationRows, "row")), func(line func(...any)) {
		for _, metric := range (&eval.Regression{}).Evaluation().Metrics {
			if value, known := i.Metrics[metric.Name]; known {
				line(metric.Name, short(value), metric.Meaning)
			}
		}
	})
	if i.Audit != nil {
		text.WriteString("\n")
		if err := i.Audit.Text(&text); err != nil {
			return "", err
		}
	}
	section("settings", func(line func(...any)) {
		var values map[string]any
		encoded, err := json.Marshal(i.Settings)
		if err != nil || json.Unmarshal(encoded, &values) != nil {
			return
		}
		for _, s := range psi.ListSettings() {
			line(s.Key, values[s.Key], s.Meaning)
		}
	})
	section("provenance", func(line func(...any)) {
		from := i.Provenance
		line("psi", from.Psi)
		if from.Revision != "" {
			line("revision", from.Revision)
		}
		line("data", from.Data)
		line("training rows", from.TrainingRows)
		line("validation rows", from.ValidationRows, from.Validation)
		line("seed", from.Seed)
		line("backend", from.Backend, countOf(from.Threads, "thread"))
		if len(i.Missing) > 0 {
			line("missing", strings.Join(i.Missing, ", "))
		}
	})
	return text.String(), nil
}
