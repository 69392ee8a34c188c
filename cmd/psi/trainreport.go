package main

import (
	"fmt"
	"strings"

	"github.com/psi-shapley/psi"
)

// trainingDocument is what train prints with --json.
type trainingDocument struct {
	Schema         string             `json:"schema"`
	Model          string             `json:"model"`
	Digest         string             `json:"digest"`
	Rows           int                `json:"rows"`
	ValidationRows int                `json:"validation_rows"` // of rows
	Metrics        map[string]float64 `json:"metrics"`
	Audit          *psi.Audit         `json:"audit"`
	Seconds        *float64           `json:"seconds"`       // null if the training had ended before
	AuditSeconds   *float64           `json:"audit_seconds"` // of seconds
}

// reportTraining tells of a model that is done; w is nil if it was done before.
func (p *program) reportTraining(argument string, f *trainFlags, m *psi.Model, w *watch) error {
	p.note("%s\nNext: psi explain %s %s, or psi inspect %s", wrap(trainingText(f, m, w), p.stderrWidth()), quoted(f.out), quoted(argument), quoted(f.out))
	if !f.json {
		return nil
	}
	from := m.Manifest().Provenance
	doc := trainingDocument{
		Schema: "psi.training/v1", Model: f.out, Digest: m.Digest(), Rows: from.TrainingRows + from.ValidationRows, ValidationRows: from.ValidationRows,
		Metrics: m.Manifest().Metrics, Audit: m.StoredAudit(),
	}
	if w != nil {
		seconds, audit := w.seconds(), w.auditTook().Seconds()
		doc.Seconds, doc.AuditSeconds = &seconds, &audit
	}
	return p.document(doc)
}

func trainingText(f *trainFlags, m *psi.Model, w *watch) string {
	manifest := m.Manifest()
	from, metrics := manifest.Provenance, manifest.Metrics
	var text strings.Builder
	fmt.Fprintf(&text, "%s predicts %s from %s, learned from %s. ", f.out, clean(manifest.Target),
		countOf(len(manifest.Columns), "column"), countOf(from.TrainingRows, "row"))
	fmt.Fprintf(&text, "On %s for validation its typical error (rmse) is %s", countOf(from.ValidationRows, "row"), short(metrics["rmse"]))
	if r2, ok := metrics["r2"]; ok {
		fmt.Fprintf(&text, ", it explains %.1f %% of the variance (r2)", 100*r2)
	}
	if coverage, ok := metrics["coverage_90"]; ok {
		fmt.Fprintf(&text, ", and its 90 %% intervals hold %.1f %% of the truth", 100*coverage)
	}
	text.WriteString(". " + auditText(m.StoredAudit()))
	if w != nil {
		fmt.Fprintf(&text, " It took %s", lasting(w.over.Sub(w.start)))
		if audit := m.StoredAudit(); audit != nil {
			fmt.Fprintf(&text, " (audit: %s, %s of these)", countOf(audit.Rows, "row"), lasting(w.auditTook()))
		}
		text.WriteString(".")
	}
	return text.String()
}

// auditText sums an audit up.
func auditText(a *psi.Audit) string {
	if a == nil || a.RelativeRMSE == nil {
		return "The attributions were not audited."
	}
	miss := *a.RelativeRMSE
	if a.Head == "exact" {
		if a.Method != "exact" && a.SubgameRelativeRMSE != nil {
			miss = *a.SubgameRelativeRMSE // sampling would hide how near they are
		}
		return fmt.Sprintf("Its attributions are exact: they are the model's Shapley values, to %.0e of their size.", miss)
	}
	text := fmt.Sprintf("Its attributions miss the model's Shapley values by %.2g %%", 100*miss)
	if a.Method != "exact" && a.StandardError != nil {
		text += fmt.Sprintf(" (%.2g %% is the doubt of sampling)", 100**a.StandardError)
	}
	return text + "."
}
