package psi

import (
	"fmt"
	"math"
	"slices"

	"github.com/psi-shapley/psi/internal/encode"
)

const (
	maxRepeats = 0.05 // share of rows that may be copies without a warning
	minRepeats = 10   // copies that are worth one
)

// warnOfRepeats says that rows are there more than once, which chance cannot do where a number differs from row to row. Copies on both
// sides make validation too good, and doubt too small.
func (t *training) warnOfRepeats() {
	if t.ValidationBy != "" { // keeps copies on one side, and draws them together
		return
	}
	r := t.in.Repeats
	if share := float64(r.Copies) / float64(max(1, r.Rows)); !r.Telling || r.Copies < minRepeats || share <= maxRepeats {
		return
	}
	text := fmt.Sprintf("%d of %d rows", r.Copies, r.Rows)
	if r.Sample {
		text = fmt.Sprintf("About %.0f%% of the rows", 100*float64(r.Copies)/float64(r.Rows))
	}
	harm := "Copies of one row both train and validate, so validation looks too good and doubt too small"
	if t.Validation != nil || slices.ContainsFunc(t.in.Encoder.Players, func(p encode.Player) bool { return p.Name == t.OrderBy }) { // copies share their place in the order
		harm = "They are taken for independent, so doubt looks too small"
	}
	remedy := "If a column says which rows belong together, such as a patient, name it with Config.ValidationBy; else remove the copies"
	if t.OrderBy != "" {
		remedy = "Remove the copies"
	}
	t.say(Progress{Stage: "read", Error: math.NaN(), Warning: true, Note: text + " appear more than once, with all features and the target the same. " + harm + ". " + remedy})
}
