package report

import (
	"fmt"
	"strings"

	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/internal/prose"
)

// Thresholds of the assessment. Below alikeEnough the order of columns differs from training; servers alert at the same
// value. With fewer than enoughRows rows the result is not significant.
const (
	alikeEnough = .9
	enoughRows  = 1000
	otherSize   = 1.5 // times the value in training
	fewOfAll    = .05 // share of all sizes
)

// done assesses whether all rows were explained.
func (r *Run) done() Verdict {
	parts := fmt.Sprintf("%s of %s, in %s", prose.Count(r.Rows, "row"), prose.Count(r.Files, "file"), unitsOf(r.Units))
	switch {
	case r.Failed == 0:
		return Verdict{"good", "Every row of every file was explained: " + parts + ".", []string{}}
	case r.Failed == r.Units:
		return Verdict{"poor", "No row was explained: " + unitsOf(r.Units) + " of " + prose.Count(r.Files, "file") + " failed. That is all of them.", []string{}}
	}
	return Verdict{
		"fair", fmt.Sprintf("%s of %s failed. The rows of the others are explained and can be used.", prose.Thousands(r.Failed), unitsOf(r.Units)),
		[]string{fmt.Sprintf("The figures for columns in this report come from %s. They do not include rows that failed.", prose.Count(r.Rows, "row"))},
	}
}

// trust assesses the attributions by the audit of some rows of the batch, and by the sums of all rows.
func (r *Run) trust(e *explain.Explanation) Trust {
	t := Trust{Gap: r.gap()}
	if r.Audit != nil {
		audit := *r.Audit
		audit.Players, audit.Outputs, audit.CoalitionsError, audit.Prior = nil, nil, nil, nil
		t.Audit = &audit
	}
	if r.Rows == 0 {
		t.Level, t.Verdict, t.Words = "unchecked", "No row was explained, so there is nothing to check.", []string{}
		return t
	}
	sums := fmt.Sprintf("In all %s, base and attributions add up to the prediction to within %.2g%s: %s of the mean sum of their sizes.", prose.Count(r.Rows, "row"), r.ResidualMax, inUnits[e.Scale], part(t.Gap))
	t.settle(e.Exact, "The attributions of %s, sampled from the whole batch,", "The summary has no audit.", sums)
	if r.Mode != explain.Fast && e.Head != "exact" {
		t.Words = append(t.Words, fmt.Sprintf("The audit covers attributions from a single pass of the model. The rows of this batch were explained in mode %s, which is more accurate.", r.Mode))
		if r.Mode == explain.Exact && t.Gap <= exactError {
			t.Level, t.Verdict = "exact", "Exact: these are the model's Shapley values, each computed from all combinations of known and unknown columns."
		}
	}
	return t
}

// inUnits names the units of residuals, if a word suffices.
var inUnits = map[Scale]string{explain.LogMean: " of a log", explain.Log: " of a log", explain.Logit: " in log odds", explain.Score: " of a score"}

// gap returns the largest residual divided by the mean of Σ |f_d| of the output where that mean is smallest. The mean is
// an upper bound of the mean change of a prediction by attributions.
func (r *Run) gap() float64 {
	least := 0.0
	for i := range r.Outputs {
		sum := r.Outputs[i].sum()
		if i == 0 || sum < least {
			least = sum
		}
	}
	if least == 0 {
		return 0
	}
	return r.ResidualMax / least
}

func (o *RunOutput) sum() float64 {
	sum := 0.0
	for _, p := range o.Players {
		sum += p.Size
	}
	return sum
}

// drift assesses whether columns matter to an output as they did in training.
func (r *Run) drift(o *RunOutput) Verdict {
	switch {
	case r.Rows == 0:
		return Verdict{"unchecked", "No row was explained, so there is nothing to compare with the training.", []string{}}
	case o.NDCG == nil:
		return Verdict{"unchecked", "The model file does not record how much each column mattered in training.", []string{"An older version of psi wrote it. Retrain the model to be able to compare."}}
	}
	v := Verdict{Words: []string{fmt.Sprintf("The order of columns agrees with training by %.3f (nDCG). 1 is the same order; below %.1f, columns that mattered in training matter less now.", *o.NDCG, alikeEnough)}}
	if moved := o.moved(); len(moved) > 0 {
		v.Words = append(v.Words, "Compared with training, "+strings.Join(moved, "; ")+".")
	}
	switch {
	case r.Rows < enoughRows:
		v.Level, v.Verdict = "unchecked", fmt.Sprintf("With only %s, chance alone may change the order.", prose.Count(r.Rows, "row"))
	case *o.NDCG < alikeEnough:
		v.Level, v.Verdict = "poor", "Other columns decide predictions here than in training: these rows differ from the training rows."
	default:
		v.Level, v.Verdict = "good", "The columns that mattered in training also matter here."
	}
	return v
}

// moved lists the important columns that matter much more or less than in training.
func (o *RunOutput) moved() []string {
	const most = 5
	list, before, now := []string{}, 0.0, o.sum()
	for _, p := range o.Players {
		if p.Trained != nil {
			before += *p.Trained
		}
	}
	for _, p := range o.Players {
		if p.Trained == nil || p.Size < fewOfAll*now && *p.Trained < fewOfAll*before || len(list) == most {
			continue
		}
		if *p.Trained == 0 || p.Size/(*p.Trained) > otherSize {
			list = append(list, fmt.Sprintf("%s matters more (%.2g, then %.2g)", p.Player, p.Size, *p.Trained))
		} else if p.Size < *p.Trained/otherSize {
			list = append(list, fmt.Sprintf("%s matters less (%.2g, then %.2g)", p.Player, p.Size, *p.Trained))
		}
	}
	return list
}

// advice says what to do.
func (b *Batch) advice() []string {
	list, r := []string{}, &b.Run
	out := r.Out
	if out == "" {
		out = "OUT"
	}
	if r.Failed > 0 {
		list = append(list, fmt.Sprintf("Fix the failures as the table below says, then run psi batch resume %s. It runs only the failed units. Then write this report again.", out))
	}
	for i, v := range b.Drift {
		if v.Level == "poor" {
			words := "Find out how these rows differ before you rely on the results. psi report MODEL FILE shows what is in the columns of one of the files. psi evaluate measures how well the model predicts where outcomes are known. If the change is permanent, retrain."
			if len(b.Outputs) > 1 {
				words = b.Outputs[i] + ": " + words
			}
			list = append(list, words)
		}
	}
	gone, many := []string{}, []string{}
	for _, m := range r.Missing {
		switch {
		case r.Rows > 0 && m.Ratio == 1:
			gone = append(gone, m.Player)
		case m.Ratio >= manyMissing:
			many = append(many, fmt.Sprintf("%s (%s)", m.Player, percent(m.Ratio)))
		}
	}
	if len(gone) > 0 {
		list = append(list, fmt.Sprintf("Check why the files have no values for a column: no row has %s.", listed(gone)))
	}
	if len(many) > 0 {
		list = append(list, fmt.Sprintf("Check whether so many cells should be missing: %s. Where a cell is missing, its column has no attribution, and the model predicts without it.", listed(many)))
	}
	if b.Trust.Level == "rough" || b.Trust.Level == "poor" {
		words := "Do not rely on the order of small attributions."
		if b.Model.Head != "exact" && r.Mode == explain.Fast {
			words += " batch.Options.Mode=refined is closer to the Shapley values, but takes longer for each row."
		}
		list = append(list, words)
	}
	if len(list) == 0 {
		list = append(list, "There is nothing to do. The predictions and attributions of each row are in the Parquet files of "+out+".")
	}
	return list
}

// listed lists the first of many names.
func listed(names []string) string {
	const most = 10
	if len(names) > most {
		names = append(names[:most:most], fmt.Sprintf("%d more", len(names)-most))
	}
	if len(names) == 1 {
		return names[0]
	}
	return joined(names)
}

func unitsOf(n int) string {
	return prose.Thousands(n) + " " + either(n, "unit of work", "units of work")
}
