package explain

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// TextOptions fit Text to a screen. The zero value stands for 80 columns of Unicode,
// ten players a row and all rows.
type TextOptions struct {
	Width   int  // columns of the screen, at least 40
	ASCII   bool // draw with ASCII only; names and cells stay as they are
	Players int  // most players shown of a row; the rest are added up
	Rows    int  // most rows shown
}

func (o TextOptions) orDefaults() TextOptions {
	if o.Width <= 0 {
		o.Width = 80
	}
	o.Width = max(o.Width, 40)
	if o.Players <= 0 {
		o.Players = 10
	}
	if o.Rows <= 0 {
		o.Rows = math.MaxInt
	}
	return o
}

// Text writes the explanation for people: why each prediction is not the base. Of
// several outputs it shows the likeliest of each row.
func Text(w io.Writer, e *Explanation, options TextOptions) error {
	if err := e.Validate(); err != nil {
		return err
	}
	t := &textWriter{TextOptions: options.orDefaults(), out: bufio.NewWriter(w), e: e}
	t.header()
	for row := range min(e.Rows, t.Rows) {
		t.line("")
		t.row(row, e.likeliest(row))
	}
	t.line("")
	t.footer()
	return t.out.Flush()
}

// likeliest is the output with the highest prediction. A softmax keeps the order.
func (e *Explanation) likeliest(row int) int {
	best := 0
	for output := range e.Outputs {
		if e.Prediction[e.at(row, output)] > e.Prediction[e.at(row, best)] {
			best = output
		}
	}
	return best
}

type textWriter struct {
	TextOptions
	out *bufio.Writer // keeps its first error for Flush
	e   *Explanation
}

func (t *textWriter) line(text string) {
	_, _ = t.out.WriteString(strings.TrimRight(text, " ") + "\n")
}

func (t *textWriter) paragraph(text string) { t.line(wrap(text, t.Width, "", "")) }

// note is a paragraph below the players of a row.
func (t *textWriter) note(text string) { t.line(wrap(text, t.Width, "  ", "    ")) }

// sign is a character for the screen at hand.
func (t *textWriter) sign(unicode, ascii string) string {
	if t.ASCII {
		return ascii
	}
	return unicode
}

func (t *textWriter) plusMinus() string { return t.sign("±", "+-") }

func (t *textWriter) header() {
	e := t.e
	t.paragraph(fmt.Sprintf("What each column added to the prediction or took from it, starting from the base: "+
		"the prediction where no column is known. %s is %g standard deviations, which hold %.3g%% of the probability. "+
		"\"raises it\" and \"lowers it\" are at least 95%% sure.", t.plusMinus(), e.Z, 100*math.Erf(e.Z/math.Sqrt2)))
	switch {
	case e.Exact:
		t.paragraph("Exact: these are the Shapley values of the model.")
	case e.StandardError != nil:
		t.paragraph("Sampled: each row tells how near its numbers are to the Shapley values of the model.")
	default:
		t.paragraph("Not exact: the network's estimate of its own Shapley values; psi audit measures how near it is.")
	}
	if e.Interactions != nil {
		t.paragraph("Pairs: with + they are worth more together than apart, with - each can stand in for the other.")
	}
	if len(e.Outputs) > 1 {
		t.paragraph(fmt.Sprintf("Of the %d outputs, the likeliest of each row is shown.", len(e.Outputs)))
	}
}

func (t *textWriter) footer() {
	shown := ""
	if t.e.Rows > t.Rows {
		shown = fmt.Sprintf("%d of %d rows shown. ", t.Rows, t.e.Rows)
	}
	t.paragraph(shown + "All rows and columns as numbers: -o FILE, ending in .csv, .parquet, .arrow or .json.")
}

func (t *textWriter) row(row, output int) {
	e := t.e
	lines, missing := t.lines(row, output)
	digits := t.digitsFor(lines)
	t.verdict(row, output, digits)
	t.block(lines, digits)

	at := e.at(row, output)
	if rest := e.Residual[at]; digits.shows(rest) {
		t.note("not attributed: " + digits.signed(rest))
	}
	if len(missing) > 0 {
		doubt := ""
		if hidden := e.Z * e.HiddenStd[at]; hidden > 0 {
			doubt = fmt.Sprintf(" (of the prediction's doubt, %s %s)", t.plusMinus(), digits.plain(hidden))
		}
		t.note("missing: " + t.list(missing) + doubt)
	}
	if e.StandardError != nil {
		if worst := slices.Max(e.of(e.StandardError, row, output, len(e.Players))); finite(worst) {
			t.note(fmt.Sprintf("standard error of the computation: at most %.2g", worst))
		}
	}
	if e.Interactions != nil {
		t.pairs(row, output, digits)
	}
}

// verdict is the headline of a row: what the players below have to explain.
func (t *textWriter) verdict(row, output int, digits digits) {
	e, at := t.e, t.e.at(row, output)
	what := "prediction"
	switch e.Scale {
	case Logit:
		what = "log-odds"
	case Score:
		what = "score"
	}
	text := fmt.Sprintf("Row %d: ", e.FirstRow+row)
	if e.Probability != nil {
		text += fmt.Sprintf("%s with probability %.3g; ", t.name(e.Outputs[output]), e.Probability[at])
	}
	text += fmt.Sprintf("%s %s %s %s, ", what, digits.plain(e.Prediction[at]), t.plusMinus(), digits.plain(e.Z*e.PredictionStd[at]))
	switch gap := e.Prediction[at] - e.Base[at]; {
	case digits.shows(gap) && gap > 0:
		text += digits.plain(gap) + " above the base of "
	case digits.shows(gap):
		text += digits.plain(-gap) + " below the base of "
	default:
		text += "the same as the base of "
	}
	t.line(wrap(text+digits.plain(e.Base[at]), t.Width, "", "  "))
}

// list joins names, as many as fit into two lines.
func (t *textWriter) list(names []string) string {
	room := 2*t.Width - 60
	for i, name := range names {
		if room -= screenWidth(name) + 2; room < 0 && i > 0 {
			return fmt.Sprintf("%s and %d more", strings.Join(names[:i], ", "), len(names)-i)
		}
	}
	return strings.Join(names, ", ")
}

// pairs names the pairs that interact most.
func (t *textWriter) pairs(row, output int, digits digits) {
	type pair struct {
		names string
		value float64
	}
	e, observed := t.e, t.e.observed(row)
	var list []pair
	for a := range e.Players {
		for b := a + 1; b < len(e.Players); b++ {
			if v := e.Interactions[e.pairAt(row, output, a, b)]; observed[a] && observed[b] && digits.shows(v) {
				names := t.name(e.Players[a]) + " " + t.sign("×", "x") + " " + t.name(e.Players[b])
				list = append(list, pair{names, v})
			}
		}
	}
	slices.SortStableFunc(list, func(p, q pair) int { return larger(p.value, q.value) })
	if len(list) == 0 {
		t.note("pairs: none that shows")
		return
	}
	const most = 3
	var texts []string
	for _, p := range list[:min(most, len(list))] {
		texts = append(texts, p.names+" "+digits.signed(p.value))
	}
	t.note("pairs: " + strings.Join(texts, ", "))
}
