package psi

import (
	"fmt"
	"math"
	"slices"

	"github.com/psi-shapley/psi/internal/encode"
)

const (
	maxRepeats = 0.05 // maximum share of copied rows without a warning
	minRepeats = 10   // minimum number of copies that is worth a warning
)

// warnOfRepeats warns if rows occur more than once although chance cannot explain it, because a number differs from row
// to row. Copies among both training and validation rows make the validation error and the uncertainty too small.
func (t *training) warnOfRepeats() {
	if t.ValidationBy != "" { // it keeps copies on one side, and samples them together
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
	if t.Validation != nil || slices.ContainsFunc(t.in.Encoder.Players, func(p encode.Player) bool { return p.Name == t.OrderBy }) { // copies have the same place in the order
		harm = "They are taken for independent, so doubt looks too small"
	}
	remedy := "If a column says which rows belong together, such as a patient, name it with Config.ValidationBy; else remove the copies"
	if t.OrderBy != "" {
		remedy = "Remove the copies"
	}
	t.say(Progress{Stage: "read", Error: math.NaN(), Warning: true, Note: text + " appear more than once, with all features and the target the same. " + harm + ". " + remedy})
}
