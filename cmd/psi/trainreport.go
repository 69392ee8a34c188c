package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/internal/prose"
)

// trainingDocument is the JSON document of train.
type trainingDocument struct {
	Schema         string             `json:"schema"`
	Model          string             `json:"model"`
	Digest         string             `json:"digest"`
	Rows           int                `json:"rows"`
	ValidationRows int                `json:"validation_rows"` // of the rows
	Metrics        map[string]float64 `json:"metrics"`
	Audit          *psi.Audit         `json:"audit"`
	Seconds        *float64           `json:"seconds"`       // null if the training had finished before
	AuditSeconds   *float64           `json:"audit_seconds"` // part of seconds
	Effort         string             `json:"effort"`
	Share          float64            `json:"share"`                         // share of the effort's steps that fitted into the time budget
	TargetScale    string             `json:"target_scale,omitempty"`        // scale on which a number is learned
	ScaleChoice    *psi.ScaleChoice   `json:"target_scale_choice,omitempty"` // the errors that chose it, if scales were tried
	Baselines      []psi.Baseline     `json:"baselines"`
	Warnings       []psi.Warning      `json:"warnings"` // reasons to distrust the model
}

// reportTraining reports a finished model; w is nil if it was finished before.
func (p *program) reportTraining(argument string, f *trainFlags, m *psi.Model, w *watch) error {
	for _, w := range warningsOf(m) {
		p.logf("%s", wrap("Warning: "+w.String(), p.stderrWidth()))
	}
	p.logf("%s\nNext: psi explain %s %s, or psi inspect %s", wrap(trainingText(f, m, w), p.stderrWidth()), quoted(f.out), quoted(argument), quoted(f.out))
	if !f.json {
		return nil
	}
	manifest := m.Manifest()
	from := manifest.Provenance
	doc := trainingDocument{
		Schema: "psi.training/v1", Model: f.out, Digest: m.Digest(), Rows: from.TrainingRows + from.ValidationRows, ValidationRows: from.ValidationRows,
		Metrics: manifest.Metrics, Audit: m.StoredAudit(), Effort: cmp.Or(from.Effort, string(psi.Normal)), Share: cmp.Or(from.Share, 1),
		TargetScale: manifest.TargetScaleName(), ScaleChoice: manifest.TargetScale, Baselines: plainModels(m), Warnings: warningsOf(m),
	}
	if w != nil {
		seconds, audit := w.seconds(), w.auditTook().Seconds()
		doc.Seconds, doc.AuditSeconds = &seconds, &audit
	}
	return p.document(doc)
}

func trainingText(f *trainFlags, m *psi.Model, w *watch) string {
	manifest := m.Manifest()
	from := manifest.Provenance
	var text strings.Builder
	fmt.Fprintf(&text, "%s predicts %s from %s", f.out, predicted(manifest), prose.Count(len(manifest.Columns), "column"))
	if len(manifest.Groups) > 0 {
		fmt.Fprintf(&text, ", which are %s,", prose.Count(len(m.Players()), "player"))
	} else {
		text.WriteString(",")
	}
	fmt.Fprintf(&text, " learned from %s. ", prose.Count(from.TrainingRows, "row"))
	fmt.Fprintf(&text, "On %s for validation %s. ", prose.Count(from.ValidationRows, "row"), measuredText(manifest))
	text.WriteString(baselinesText(manifest))
	if scale := manifest.ScaleText(); scale != "" {
		text.WriteString(prose.Printable(scale) + " ")
	}
	text.WriteString(auditText(m.StoredAudit()))
	if w != nil {
		fmt.Fprintf(&text, " It took %s", formatDuration(w.over.Sub(w.start)))
		if audit := m.StoredAudit(); audit != nil {
			fmt.Fprintf(&text, " (audit: %s, %s of these)", prose.Count(audit.Rows, "row"), formatDuration(w.auditTook()))
		}
		text.WriteString(".")
	}
	return text.String()
}

// plainModels returns the baselines of a model; it is empty, not nil, for one of an older version.
func plainModels(m *psi.Model) []psi.Baseline {
	manifest := m.Manifest()
	return append([]psi.Baseline{}, manifest.PlainModels()...)
}

// baselinesText compares a model with its baselines.
func baselinesText(m psi.Manifest) string {
	metric := m.LossMetric()
	var parts []string
	for _, b := range m.PlainModels() {
		if v, known := b.Metrics[metric]; known {
			parts = append(parts, fmt.Sprintf("%s %s", b.Label(m.Task), prose.Number(v)))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("Plain models for comparison (%s): %s. ", strings.ReplaceAll(metric, "_", " "), strings.Join(parts, ", "))
}

// predicted describes what a model predicts.
func predicted(m psi.Manifest) string {
	target, classes := prose.Printable(m.Target), m.Classes()
	switch m.Task {
	case psi.Binary:
		return fmt.Sprintf("whether %s is %s", target, prose.Printable(classes[1]))
	case psi.Multiclass:
		return fmt.Sprintf("which of %d classes %s is (%s)", len(classes), target, prose.Printable(fewClasses(classes)))
	}
	return target
}

// fewClasses joins the labels of classes, at most a few of them.
func fewClasses(classes []string) string {
	const limit = 6
	if len(classes) <= limit {
		return joinOr(classes)
	}
	return strings.Join(classes[:limit-1], ", ") + fmt.Sprintf(" or %d others", len(classes)-limit+1)
}

func percent(v float64) string { return fmt.Sprintf("%.1f %%", 100*v) }

// measuredText describes the most important metrics that are known.
func measuredText(m psi.Manifest) string {
	var parts []string
	add := func(name, format string, write func(float64) string) {
		if v, known := m.Metrics[name]; known {
			parts = append(parts, fmt.Sprintf(format, write(v)))
		}
	}
	share := func(v float64) string { return fmt.Sprintf("%.3f", v) }
	switch m.Task {
	case psi.Binary:
		add("auroc", "it ranks a random pair correctly with probability %s (auroc)", share)
		add("log_loss", "its log loss is %s", prose.Number)
		add("ece", "its calibration error (ece) is %s", share)
	case psi.Multiclass:
		add("accuracy", "it is correct for %s of the rows (accuracy)", percent)
		add("log_loss", "its log loss is %s", prose.Number)
		add("macro_auroc", "it ranks a row of a class before one of another with probability %s (macro_auroc)", share)
	default:
		if m.LossMetric() == "mae" {
			add("mae", "its mean absolute error (mae) is %s", prose.Number)
		} else {
			add("rmse", "its typical error (rmse) is %s", prose.Number)
		}
		add("r2", "it explains %s of the variance (r2)", func(v float64) string {
			if v < 0 {
				return "none"
			}
			return percent(v)
		})
		add("coverage_90", "its 90 %% intervals cover %s of the targets", percent)
	}
	switch last := len(parts) - 1; last {
	case -1:
		return "nothing could be measured"
	case 0:
		return parts[0]
	default:
		return strings.Join(parts[:last], ", ") + ", and " + parts[last]
	}
}

// auditText summarises an audit.
func auditText(a *psi.Audit) string {
	if a == nil || a.RelativeRMSE == nil {
		return "The attributions were not audited."
	}
	miss := *a.RelativeRMSE
	if a.Head != "learned" {
		if a.Method != "exact" && a.SubgameRelativeRMSE != nil {
			miss = *a.SubgameRelativeRMSE // the sampling error would hide how close they are
		}
		return fmt.Sprintf("Its attributions are exact: they are the model's Shapley values, to %.0e of their size.", miss)
	}
	text := fmt.Sprintf("Its attributions differ from the model's Shapley values by %.2g %%", 100*miss)
	if a.Method != "exact" && a.StandardError != nil {
		text += fmt.Sprintf(" (sampling error %.2g %%)", 100**a.StandardError)
	}
	return text + "."
}
