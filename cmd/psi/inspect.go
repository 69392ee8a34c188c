package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/eval"
	"github.com/psi-shapley/psi/internal/prose"
	"github.com/psi-shapley/psi/table"
)

func (p *program) inspectCommand() *cobra.Command {
	asJSON := false
	c := &cobra.Command{
		Use:   "inspect MODEL",
		Short: "Show the contents of a model file",
		Long: `inspect shows how the model reads each column and why, its settings and its origin. It also
shows the validation errors beside those of plain models, warnings, and the audit of the
attributions.`,
		Example: `  psi inspect model.psi
  psi inspect model.psi --json`,
		Args: arguments(modelArgument),
	}
	addJSON(c.Flags(), &asJSON)
	c.RunE = func(_ *cobra.Command, args []string) error { return p.inspect(args[0], asJSON) }
	return c
}

// inspection is the JSON document of inspect.
type inspection struct {
	Schema         string              `json:"schema"`
	File           string              `json:"file"`
	Digest         string              `json:"digest"`
	Task           psi.Task            `json:"task"`
	Target         string              `json:"target"`
	TargetKind     table.Kind          `json:"target_kind"`
	Scale          string              `json:"target_scale,omitempty"`        // scale on which a number is learned; "share" if trees predict probabilities of classes
	ScaleBy        *psi.ScaleChoice    `json:"target_scale_choice,omitempty"` // the errors that chose it, if scales were tried
	NonNegative    bool                `json:"non_negative,omitempty"`        // no training row had a negative target
	Classes        []string            `json:"classes"`                       // null for a number; of two classes, the positive one is last
	Head           string              `json:"head"`
	Weights        int                 `json:"weights"`
	Columns        []table.Field       `json:"columns"`
	LeftOut        []psi.LeftOut       `json:"left_out"` // columns that training did not use
	Groups         []psi.Group         `json:"groups"`
	Weight         *string             `json:"weight"`           // column of row weights
	Levels         []string            `json:"missing_as_level"` // columns in which a missing cell is a value
	Missing        []string            `json:"missing"`
	Kept           int                 `json:"reference_rows"` // training rows that the file contains
	Settings       psi.Settings        `json:"settings"`
	Game           psi.Game            `json:"game"`               // of attributions, unless an explanation chooses another
	Imported       *psi.Imported       `json:"imported,omitempty"` // trees of another program
	Mixture        []inspectedMember   `json:"mixture,omitempty"`  // models whose scores are averaged
	Metrics        map[string]float64  `json:"metrics"`
	Baselines      []psi.Baseline      `json:"baselines"` // simple models on the same rows
	Warnings       []psi.Warning       `json:"warnings"`  // reasons to distrust the model
	Calibrated     psi.Calibration     `json:"calibration"`
	Recalibrations []psi.Recalibration `json:"recalibrations"` // since the training
	Audit          *psi.Audit          `json:"audit"`
	Provenance     psi.Provenance      `json:"provenance"`

	scaleText string
}

func (p *program) inspect(path string, asJSON bool) error {
	model, err := psi.Open(path)
	if err != nil {
		return err
	}
	defer model.Close()
	i := inspect(model, path)
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

// inspect returns the document of a model, whose file is at path.
func inspect(model *psi.Model, path string) *inspection {
	m := model.Manifest()
	i := &inspection{
		Schema: "psi.model/v1", File: path, Digest: model.Digest(), Task: m.Task, Target: m.Target, TargetKind: m.Scale.Kind, Scale: m.TargetScaleName(), ScaleBy: m.TargetScale, NonNegative: m.Scale.NonNegative, scaleText: m.ScaleText(), Classes: m.Classes(),
		Head: model.Head(), Weights: model.WeightCount(), Columns: fieldsInFlags(m.Columns), LeftOut: append([]psi.LeftOut{}, m.LeftOut...), Groups: append([]psi.Group{}, m.Groups...), Levels: []string{},
		Missing: append([]string{}, m.Missing...), Kept: model.ReferenceRows(), Settings: m.Settings, Game: model.Game(), Imported: m.Imported,
		Metrics: m.Metrics, Baselines: plainModels(model), Warnings: warningsOf(model), Calibrated: m.Calibration, Recalibrations: append([]psi.Recalibration{}, m.Recalibrations...), Audit: model.StoredAudit(), Provenance: m.Provenance,
	}
	if m.Weight != "" {
		i.Weight = &m.Weight
	}
	if m.Mixture != nil {
		for k := range m.Mixture.Members {
			member := &m.Mixture.Members[k]
			i.Mixture = append(i.Mixture, inspectedMember{m.Mixture.Shares[k], member.Settings.Head, memberName(member), member.Metrics})
		}
	}
	for _, player := range m.Encoder.Players {
		if player.Gap {
			i.Levels = append(i.Levels, player.Name)
		}
	}
	return i
}

// metricsOf returns the metrics of a task without values.
func metricsOf(task psi.Task) []eval.Metric {
	switch task {
	case psi.Binary:
		return (&eval.Binary{}).Evaluation().Metrics
	case psi.Multiclass:
		return (&eval.Multiclass{}).Evaluation().Metrics
	}
	return (&eval.Regression{}).Evaluation().Metrics
}

// calibrationLines describes what calibration changed.
func (i *inspection) calibrationLines(line func(...any)) {
	c, changed := i.Calibrated, []string{"log_loss", "ece"}
	switch {
	case i.Classes != nil && c.Scale == 0:
		line("temperature", prose.Number(c.Temperature), "divisor of the scores")
	case i.Classes != nil:
		line("scale", prose.Number(c.Scale), "factor of attributions and standard deviations; the base is unchanged")
		line("slope", prose.Number(c.Slope), "exp(slope × share of missing cells) multiplies the score's distance from the base, for probabilities only")
	default:
		line("noise", prose.Number(c.Noise), "variance of what no column explains, beside the target's")
		for _, r := range c.Ranges {
			line("range", prose.Number(r.Width), "standard deviations on either side cover 90 % of rows with "+prose.Number(100*r.From)+" % of their cells or more")
		}
		changed = []string{"coverage_50", "coverage_90"}
	}
	for _, name := range changed {
		before, known := c.Before[name]
		if after, also := c.After[name]; known && also {
			line(name, prose.Number(after), "was "+prose.Number(before)+" before")
		}
	}
}

// recalibrationLines describes the new base and scale, and the out-of-fold errors.
func (i *inspection) recalibrationLines(r psi.Recalibration, line func(...any)) {
	line("factor", prose.Number(r.Factor), "of attributions and standard deviations")
	for c, shift := range r.Shift {
		of := i.Target
		switch i.Task {
		case psi.Binary:
			of = i.Classes[1]
		case psi.Multiclass:
			of = i.Classes[c]
		}
		line("base", signed(shift), "of "+of)
	}
	for _, metric := range metricsOf(i.Task) {
		if after, known := r.After[metric.Name]; known {
			line(metric.Name, prose.Number(after), "was "+prose.Number(r.Before[metric.Name])+" before")
		}
	}
	line("data", r.Data)
}

// baselineLines writes a column for the model and one for each baseline.
func (i *inspection) baselineLines(line func(...any)) {
	heads := append(make([]any, 0, 2+len(i.Baselines)), "", "this model")
	for _, b := range i.Baselines {
		heads = append(heads, b.Label(i.Task))
	}
	line(heads...)
	for _, metric := range metricsOf(i.Task) {
		cells, known := append(make([]any, 0, 2+len(i.Baselines)), metric.Name, prose.Number(i.Metrics[metric.Name])), false
		for _, b := range i.Baselines {
			cell := ""
			if v, measured := b.Metrics[metric.Name]; measured {
				cell, known = prose.Number(v), true
			}
			cells = append(cells, cell)
		}
		if known {
			line(cells...)
		}
	}
}

func (i *inspection) text() (string, error) {
	var text strings.Builder
	section := func(title string, fill func(line func(cells ...any))) {
		var lines [][]string
		fill(func(cells ...any) {
			line := make([]string, len(cells))
			for i, cell := range cells {
				line[i] = prose.Printable(fmt.Sprint(cell))
			}
			lines = append(lines, line)
		})
		text.WriteString("\n" + title + "\n" + aligned("  ", lines))
	}
	task := string(i.Task)
	if i.Classes != nil {
		task += " classification"
	}
	how := fmt.Sprintf("%s head, %s", i.Head, prose.Count(i.Weights, "weight"))
	if i.Imported != nil {
		how = fmt.Sprintf("%s with %d leaves, imported", prose.Count(i.Imported.Trees, "tree"), i.Imported.Leaves)
	}
	if i.Mixture != nil {
		how = "a mixture of " + prose.Count(len(i.Mixture), "model")
	}
	fmt.Fprintf(&text, "%s: %s of %s from %s, %s\n", i.File, task, prose.Printable(i.Target), prose.Count(len(i.Columns), "column"), how)
	fmt.Fprintf(&text, "%s\n", i.Digest)
	if i.Task == psi.Binary {
		fmt.Fprintf(&text, "classes: %s (positive) and %s\n", prose.Printable(i.Classes[1]), prose.Printable(i.Classes[0]))
	} else if i.Classes != nil {
		fmt.Fprintf(&text, "%d classes: %s\n", len(i.Classes), prose.Printable(joinFirst(i.Classes)))
	}
	if i.scaleText != "" {
		fmt.Fprintf(&text, "%s\n", prose.Printable(i.scaleText))
	}
	if i.Weight != nil {
		fmt.Fprintf(&text, "rows are weighted by %s\n", prose.Printable(*i.Weight))
	}
	if len(i.Warnings) > 0 {
		section("warnings", func(line func(...any)) {
			for _, w := range i.Warnings {
				line(w.Message)
				line("  " + w.Remedy)
			}
		})
	}
	section("columns", func(line func(...any)) {
		for _, f := range i.Columns {
			line(f.Name, f.Kind, f.Reason)
			for _, note := range f.Notes {
				line("", "", "note: "+note)
			}
			if slices.Contains(i.Levels, f.Name) && i.Imported == nil {
				line("", "", "note: a missing cell is a value of its own")
			}
		}
	})
	if i.Imported != nil {
		text.WriteString("  A missing cell is a value of its own in every column.\n")
	}
	if len(i.LeftOut) > 0 {
		section("columns not used", func(line func(...any)) {
			for _, l := range i.LeftOut {
				line(l.Name, l.Reason)
			}
		})
	}
	if len(i.Groups) > 0 {
		section("groups, each with one attribution", func(line func(...any)) {
			for _, g := range i.Groups {
				line(g.Name, strings.Join(g.Columns, ", "))
			}
		})
	}
	if len(i.Metrics) > 0 {
		section(fmt.Sprintf("on %s of validation", prose.Count(i.Provenance.ValidationRows, "row")), func(line func(...any)) {
			for _, metric := range metricsOf(i.Task) {
				if value, known := i.Metrics[metric.Name]; known {
					line(metric.Name, prose.Number(value), metric.Meaning)
				}
			}
		})
	}
	if len(i.Baselines) > 0 {
		section("plain models on the same rows", func(line func(...any)) { i.baselineLines(line) })
	}
	if i.Imported == nil || len(i.Calibrated.Ranges) > 0 {
		section("calibrated on these rows", func(line func(...any)) { i.calibrationLines(line) })
	}
	for _, r := range i.Recalibrations {
		section(fmt.Sprintf("recalibrated on %s; the figures above are from the training", prose.Count(r.Rows, "row")), func(line func(...any)) { i.recalibrationLines(r, line) })
	}
	if i.Audit != nil {
		text.WriteString("\n")
		if err := i.Audit.Text(&text); err != nil {
			return "", err
		}
	}
	if i.Imported != nil {
		section("trees", func(line func(...any)) { i.treeLines(line) })
		return text.String(), nil
	}
	if i.Mixture != nil {
		section("mixture", func(line func(...any)) {
			for _, member := range i.Mixture {
				line(percent(member.Share), member.name)
			}
		})
		return text.String(), nil
	}
	section("settings", func(line func(...any)) {
		var values map[string]any
		encoded, err := json.Marshal(i.Settings)
		if err != nil || json.Unmarshal(encoded, &values) != nil {
			return
		}
		for _, s := range psi.ListSettings() {
			value, ok := values[s.Key]
			if !ok {
				value = "" // the file leaves out empty texts
			}
			line(s.Key, value, s.Meaning)
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
		if i.Kept > 0 {
			line("kept", i.Kept, "this file contains training rows")
		}
		line("seed", from.Seed)
		switch {
		case from.CPU != "":
			line("backend", from.Backend, from.CPU)
		case from.Threads > 0:
			line("backend", from.Backend, prose.Count(from.Threads, "thread"))
		default:
			line("backend", from.Backend)
		}
		if len(i.Missing) > 0 {
			line("missing", strings.Join(i.Missing, ", "))
		}
	})
	return text.String(), nil
}

// inspectedMember is a member of a mixture.
type inspectedMember struct {
	Share   float64 `json:"share"`
	Head    string  `json:"head"`
	name    string
	Metrics map[string]float64 `json:"metrics"` // of its own training or import
}

// treeLines describes imported trees and the rows that measured them.
func (i *inspection) treeLines(line func(...any)) {
	of, from := i.Imported, i.Provenance
	line("format", of.Format)
	line("objective", of.Objective)
	line("trees", of.Trees)
	line("leaves", of.Leaves)
	line("depth", of.Depth, "splits on the longest path")
	line("game", of.Game, "if a column is absent, "+of.Game.Absent())
	if of.Rows > 0 {
		line("rows", of.Rows, "measured the model, of "+strconv.Itoa(from.ValidationRows))
		line("data", from.Data)
	}
	line("psi", from.Psi)
	if from.Revision != "" {
		line("revision", from.Revision)
	}
}
