package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/table"
)

// Limits of a page, whatever a summary contains.
const (
	maxFailures  = 1000
	longestWords = 500
)

func (r *Run) otherModel() error {
	remedy := "give the model of the batch"
	if r.Out != "" {
		remedy += ": a copy of it is " + r.Out + "/_psi/model.psi"
	}
	return &table.Error{Row: -1, Message: fmt.Sprintf("another model explained this batch: %q", shorten(r.Model)), Remedy: remedy}
}

// check rejects results that no batch of the model can have: a summary is an untrusted file.
func (r *Run) check(e *explain.Explanation) error {
	unsound := func(words string, values ...any) error {
		return &table.Error{Row: -1, Message: "invalid batch summary: " + fmt.Sprintf(words, values...), Remedy: "copy it again, or write it again with psi batch resume"}
	}
	switch {
	case min(int64(r.Files), int64(r.Units), int64(r.Failed), int64(r.Rows), r.BytesRead, r.BytesWritten) < 0:
		return unsound("a count is below 0")
	case r.Failed > r.Units || len(r.Failures) > r.Failed:
		return unsound("%d of %d units failed, but %d failures are listed", r.Failed, r.Units, len(r.Failures))
	case !amount(r.Seconds) || !amount(r.ResidualMax):
		return unsound("it took %g seconds, and its largest residual is %g", r.Seconds, r.ResidualMax)
	case !amount(r.Z):
		return unsound("z is %g", r.Z)
	case len(r.Missing) != len(e.Players):
		return unsound("it has %d columns, the model %d", len(r.Missing), len(e.Players))
	case len(r.Outputs) != len(e.Outputs):
		return unsound("it has %d outputs, the model %d", len(r.Outputs), len(e.Outputs))
	}
	for d, m := range r.Missing {
		if m.Player != e.Players[d] || !amount(m.Ratio) || m.Ratio > 1 {
			return unsound("%q is missing in a share of %g, where the model has %q", shorten(m.Player), m.Ratio, e.Players[d])
		}
	}
	for k := range r.Outputs {
		if words := r.Outputs[k].check(e.Outputs[k], e.Players, r.Rows); words != "" {
			return unsound("%s", words)
		}
	}
	return nil
}

// check returns what is wrong with an output; "" if nothing is.
func (o *RunOutput) check(name string, players []string, rows int) string {
	switch {
	case o.Output != name:
		return fmt.Sprintf("it has an output %q, where the model has %q", shorten(o.Output), name)
	case o.NDCG != nil && (!amount(*o.NDCG) || *o.NDCG > 1+1e-9):
		return fmt.Sprintf("the nDCG of %q is %g", name, *o.NDCG)
	case rows == 0 && len(o.Players) == 0:
		return ""
	case len(o.Players) != len(players):
		return fmt.Sprintf("output %q has %d columns, the model %d", name, len(o.Players), len(players))
	}
	for d, p := range o.Players {
		if p.Player != players[d] || !amount(p.Size) || !amount(p.Std) || p.Doubt != nil && !amount(*p.Doubt) || p.Trained != nil && !amount(*p.Trained) {
			return fmt.Sprintf("%q has a mean size of %g and a mean standard deviation of %g, where the model has %q", shorten(p.Player), p.Size, p.Std, players[d])
		}
	}
	return ""
}

// amount reports whether v is finite and at least 0.
func amount(v float64) bool { return v >= 0 && !math.IsInf(v, 0) }

// cut drops what exceeds the limits of a page.
func (r *Run) cut() {
	for _, words := range []*string{&r.Name, &r.Out, &r.Job, &r.In} {
		*words = shortenTo(*words, longestWords)
	}
	r.Failures = slices.Clone(r.Failures[:min(len(r.Failures), maxFailures)])
	for i := range r.Failures {
		f := &r.Failures[i]
		for _, words := range []*string{&f.File, &f.Column, &f.Message, &f.Remedy} {
			*words = shortenTo(*words, longestWords)
		}
		f.Groups = f.Groups[:min(len(f.Groups), maxFailures)]
	}
}
