package explain

import (
	"fmt"
	"math"
	"slices"
)

// Reasons returns the players of a row whose interval does not contain 0, so that they certainly raised or lowered an
// output. It returns at most most players, in descending order of |mean|.
func (e *Explanation) Reasons(row, output, most int) []int {
	var sure []int
	mean, std, observed, reach := e.means(row, output), e.deviations(row, output), e.observed(row), e.Reach()
	for d := range e.Players {
		if observed[d] && math.Abs(mean[d]) > reach*std[d] {
			sure = append(sure, d)
		}
	}
	slices.SortStableFunc(sure, func(a, b int) int { return larger(mean[a], mean[b]) })
	return sure[:min(len(sure), most)]
}

// reasons writes the certain contributions in words.
func (t *textWriter) reasons(row, output int, digits digits) {
	e := t.e
	sure := e.Reasons(row, output, t.Reasons)
	for i, d := range sure {
		mean, reach := e.means(row, output)[d], e.Reach()*e.deviations(row, output)[d]
		verb := "raises it by"
		if mean < 0 {
			verb = "lowers it by"
		}
		size := math.Abs(mean)
		order := ""
		if i+1 < len(sure) {
			if p := e.PLarger(row, output, d, sure[i+1]); p < .95 { // claims need at least this probability
				order = fmt.Sprintf("; %.0f%% sure to outweigh the next", 100*p)
			}
		}
		t.note(fmt.Sprintf("%d. %s %s %s (%s to %s)%s", i+1, t.reason(row, d), verb, digits.plain(size), digits.plain(size-reach), digits.plain(size+reach), order))
	}
	switch {
	case len(sure) == 0:
		t.note("no column is sure to raise or to lower it")
	case len(sure) < t.Reasons:
		t.note("no other column is sure to raise or to lower it")
	}
}

// reason names a player and its value in the row.
func (t *textWriter) reason(row, d int) string {
	e := t.e
	text := t.name(e.Players[d])
	switch c := e.Values[d]; {
	case c == nil:
	case !c.Observed[row]:
		text += " missing"
	default:
		text += " = " + shorten(clean(valueText(c, row)), t.Width/4, t.sign("…", "..."))
		if e.other(row, d) {
			text += otherMark
		}
	}
	return text
}
