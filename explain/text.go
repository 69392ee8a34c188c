package explain

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// TextOptions adapt Text to a screen. The zero value means 80 columns of Unicode, ten players per row and all rows.
type TextOptions struct {
	Width   int  // columns of the screen, at least 40
	ASCII   bool // draw with ASCII only; names and cells stay unchanged
	Colour  bool // use terminal colours
	Players int  // maximum number of players per row; the rest are summed up
	Rows    int  // maximum number of rows
	Reasons int  // if not 0, write only the certain contributions in words, for at most this number of players

	Others string // with several outputs: a sentence on how to see the others; may be ""
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

// Text writes the explanation for people: why each prediction differs from the base. With several outputs it shows the
// most probable one of each row.
func Text(w io.Writer, e *Explanation, options TextOptions) error {
	if err := e.Validate(); err != nil {
		return err
	}
	t := &textWriter{TextOptions: options.orDefaults(), out: bufio.NewWriter(w), e: e, law: e.law()}
	t.header()
	for row := range min(e.Rows, t.Rows) {
		t.line("")
		t.row(row, e.likeliest(row))
	}
	t.line("")
	t.footer()
	return t.out.Flush()
}

// likeliest returns the output with the highest probability or, without probabilities, the highest prediction.
func (e *Explanation) likeliest(row int) int {
	heights := e.Prediction
	if e.Probability != nil {
		heights = e.Probability
	}
	best := 0
	for output := range e.Outputs {
		if heights[e.at(row, output)] > heights[e.at(row, best)] {
			best = output
		}
	}
	return best
}

type textWriter struct {
	TextOptions
	out *bufio.Writer // keeps its first error for Flush
	e   *Explanation
	law law
}

func (t *textWriter) line(text string) {
	_, _ = t.out.WriteString(strings.TrimRight(text, " ") + "\n")
}

func (t *textWriter) paragraph(text string) { t.line(wrap(text, t.Width, "", "")) }

// note writes a paragraph below the players of a row.
func (t *textWriter) note(text string) { t.line(wrap(text, t.Width, "  ", "    ")) }

// sign returns a character that the screen supports.
func (t *textWriter) sign(unicode, ascii string) string {
	if t.ASCII {
		return ascii
	}
	return unicode
}

// ink returns the style, or none if the screen has no colours.
func (t *textWriter) ink(i ink) ink {
	if !t.Colour {
		return ink{}
	}
	return i
}

func (t *textWriter) plusMinus() string { return t.sign("±", "+-") }

func (t *textWriter) header() {
	e := t.e
	what, start, scale := "the prediction", "the prediction", ""
	switch {
	case e.Scale == Logit:
		what = "the score of " + t.name(e.Outputs[0])
		start = "the score"
		scale = "The score is the log odds of " + t.name(e.Outputs[0]) + ": 0 means a probability of 50%, and adding 1 multiplies the odds by 2.7. "
	case e.Scale.Logs():
		what, start = "the log of "+t.predictand(), "that log"
		scale = fmt.Sprintf("%s is the factor by which a column multiplies %s: the prediction is the base times all factors. ", t.sign("×", "x"), t.predictand())
	case e.contrast():
		what, start = "the difference between the scores of two classes, "+t.contrastName()+",", "the difference"
	case e.Scale == Share:
		what, start = "the probability of a class", "the probability"
		if len(e.Outputs) == 1 {
			what = "the probability of " + t.name(e.Outputs[0])
		}
	case e.Scale == Score:
		what, start = "the score of a class", "the score"
		if len(e.Outputs) == 1 {
			what = "the score of " + t.name(e.Outputs[0])
		}
		scale = "The higher a score relative to those of the other classes, the more probable the class. "
	}
	players := "column"
	if slices.Contains(e.Values, nil) {
		players = "column or group of columns"
	}
	switch {
	case e.Against != "":
		t.paragraph(fmt.Sprintf("How much each %s added to the difference from %s. %s%s", players, e.Against, scale, t.doubt()))
	case t.Reasons > 0 && e.Interval() == NoInterval:
		t.paragraph(fmt.Sprintf("The columns that raised or lowered %s most, starting from the base: %s. %s%s", what, t.atBase(start), scale, t.doubt()))
	case t.Reasons > 0:
		t.paragraph(fmt.Sprintf("The columns that are sure to have raised or lowered %s, starting from the base: %s. "+
			"psi names a %s only if its %sinterval excludes 0. %s%s", what, t.atBase(start), players, t.whose(), scale, t.doubt()))
	default:
		t.paragraph(fmt.Sprintf("How much each %s added to %s or subtracted from it, starting from the base: "+
			"%s. %s%s", players, what, t.atBase(start), scale, t.doubt()))
	}
	t.paragraph(e.Exactness())
	if e.Interactions != nil {
		t.paragraph(fmt.Sprintf("Pairs (%s): with +, the two are worth more together than apart; with -, each can replace the other. "+
			"Half of an interaction is in the number of each of its two columns.", t.sign("×", "x")))
	}
	if len(e.Outputs) > 1 {
		t.paragraph(strings.TrimSpace(fmt.Sprintf("Of the %d classes, psi shows the most probable for each row. %s", len(e.Outputs), t.Others)))
	}
	if slices.Contains(e.Other, true) {
		t.paragraph("(other): a label that was absent or very rare in training. The model treats all such labels as one.")
	}
}

// atBase describes the base.
func (t *textWriter) atBase(what string) string {
	switch t.e.Game {
	case Baseline:
		return what + " of the reference row"
	case Interventional:
		return what + " of the reference rows, on average"
	}
	return what + " when no column is known"
}

// whose names the probability of an interval.
func (t *textWriter) whose() string {
	return fmt.Sprintf("%.3g%% ", 100*math.Erf(t.e.Z/math.Sqrt2))
}

// doubt explains what ± means, and what it does not mean.
func (t *textWriter) doubt() string {
	e := t.e
	switch {
	case e.Interval() == NoInterval:
		return "How uncertain these numbers are is not known."
	case e.Interval() == ByDoubt:
		return fmt.Sprintf("%s is the doubt (epistemic uncertainty): the mean over trainings on other samples of rows lies within it in about %.3g%% of cases, "+
			"estimated from %d such trainings. \"raises it\" and \"lowers it\" mean that it does not reach 0.", t.plusMinus(), 100*math.Erf(e.Z/math.Sqrt2), e.Bags)
	case e.Scale == Identity:
		return fmt.Sprintf("%s is %g standard deviations of the column's contribution among rows like this one. "+
			"It does not measure how far other training rows would move it.", t.plusMinus(), e.Z)
	}
	return fmt.Sprintf("%s is %g standard deviations of the uncertainty that labels show beyond the score: often almost none. "+
		"It does not measure how far other training rows would move it.", t.plusMinus(), e.Z)
}

// contrastName returns the output of a contrast, which consists of two names.
func (t *textWriter) contrastName() string {
	const limit = 50
	return shorten(clean(t.e.Outputs[0]), min(limit, t.Width-8), t.sign("…", "..."))
}

// contrast reports whether the output is the difference of two classes.
func (e *Explanation) contrast() bool {
	return (e.Scale == Score || e.Scale == Share) && e.Probability == nil && len(e.Outputs) == 1
}

func (t *textWriter) footer() {
	shown := ""
	if t.e.Rows > t.Rows {
		shown = fmt.Sprintf("%d of %d rows shown. ", t.Rows, t.e.Rows)
	}
	t.paragraph(shown + "For all rows and columns as numbers, use -o FILE, ending in .csv, .parquet, .arrow or .json.")
}

func (t *textWriter) row(row, output int) {
	e := t.e
	lines, missing := t.lines(row, output)
	digits := t.digitsFor(lines)
	t.verdict(row, output, digits)
	if t.Reasons > 0 {
		t.reasons(row, output, digits)
		return
	}
	t.block(lines, digits)

	at := e.at(row, output)
	if rest := e.Residual[at]; digits.shows(rest) {
		t.note("not attributed: " + digits.signed(rest))
	}
	if len(missing) > 0 {
		doubt := ""
		if hidden := e.Z * known(e.HiddenStd, at); hidden > 0 {
			doubt = fmt.Sprintf(" (part of the prediction's uncertainty: %s %s)", t.plusMinus(), digits.plain(hidden))
		}
		t.note("missing: " + t.list(missing) + doubt)
	}
	if e.StandardError != nil {
		if worst := slices.Max(e.of(e.StandardError, row, output, len(e.Players))); finite(worst) {
			after := ""
			if e.Evaluations != nil {
				after = fmt.Sprintf(", after %d evaluations", e.Evaluations[row])
			}
			t.note(fmt.Sprintf("standard error of the computation: at most %.2g%s", worst, after))
		}
	}
	if e.Interactions != nil {
		t.effects(row, output, digits)
	}
}

// verdict writes the headline of a row: what the players below explain.
func (t *textWriter) verdict(row, output int, digits digits) {
	e, at := t.e, t.e.at(row, output)
	what := "prediction"
	switch {
	case e.Scale == Logit:
		what = "score (log odds)"
	case e.contrast():
		what = t.contrastName() + " ="
	case e.Scale == Score:
		what = "score"
	}
	if e.Against != "" && e.Scale.Logs() {
		t.line(t.ink(ink{bold: true}).paint(fmt.Sprintf("Row %d against %s", e.FirstRow+row, e.Against)) + ": " + t.predictand() + t.factor(e.Prediction[at]))
		return
	}
	if e.Against != "" {
		t.line(t.ink(ink{bold: true}).paint(fmt.Sprintf("Row %d against %s", e.FirstRow+row, e.Against)) +
			fmt.Sprintf(": %s %s%s", what, digits.signed(e.Prediction[at]), t.within(at, digits)))
		return
	}
	text := fmt.Sprintf("Row %d: ", e.FirstRow+row)
	if e.Probability != nil {
		text += t.probability(row, output) + "; "
	}
	if e.Scale.Logs() {
		head, rest, _ := strings.Cut(wrap(text+t.multiplied(at), t.Width, "", "  "), ": ")
		t.line(t.ink(ink{bold: true}).paint(head) + ": " + rest)
		return
	}
	text += what + " " + t.predicted(at, digits) + ", "
	switch gap := e.Prediction[at] - e.Base[at]; {
	case digits.shows(gap) && gap > 0:
		text += digits.plain(gap) + " above the base of "
	case digits.shows(gap):
		text += digits.plain(-gap) + " below the base of "
	default:
		text += "the same as the base of "
	}
	head, rest, _ := strings.Cut(wrap(text+digits.plain(e.Base[at]), t.Width, "", "  "), ": ")
	t.line(t.ink(ink{bold: true}).paint(head) + ": " + rest)
}

// predictand names what is predicted on a log scale.
func (t *textWriter) predictand() string {
	if t.e.Scale == LogMean {
		return "the mean of " + t.name(t.target())
	}
	return "the median of " + t.name(t.target())
}

// target returns the only output of a number.
func (t *textWriter) target() string {
	name, _, _ := strings.Cut(t.e.Outputs[0], " − that of ")
	return name
}

// multiplied describes a prediction on a log scale: the number, its interval, and the factor from the base.
func (t *textWriter) multiplied(at int) string {
	e, link := t.e, t.e.Link()
	lower, upper := e.Range(at)
	between := ""
	if !math.IsNaN(lower) {
		between = fmt.Sprintf(" (%s to %s)", fourDigits(lower), fourDigits(upper))
	}
	return fmt.Sprintf("prediction %s%s,%s the base of %s", fourDigits(link.Response(e.Prediction[at])), between,
		t.factor(e.Prediction[at]-e.Base[at]), fourDigits(link.Response(e.Base[at])))
}

// factor returns the factor of an attribution on a log scale, with its sign; "" on other scales.
func (t *textWriter) factor(mean float64) string {
	if !t.e.Scale.Logs() {
		return ""
	}
	return fmt.Sprintf(" %s %#.3g", t.sign("×", "x"), math.Exp(mean))
}

// fourDigits writes a number without an exponent, unless it is far from 1.
func fourDigits(v float64) string {
	if size := math.Abs(v); size != 0 && (size < 1e-4 || size >= 1e12) {
		return strconv.FormatFloat(v, 'g', 4, 64)
	}
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64) // parses the output of FormatFloat
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// within returns the half-width of the interval of a prediction; "" if it is unknown.
func (t *textWriter) within(at int, digits digits) string {
	reach := t.e.Z * t.e.RangeOf(at)
	if math.IsNaN(reach) {
		return ""
	}
	return fmt.Sprintf(" %s %s", t.plusMinus(), digits.plain(reach))
}

// predicted returns a prediction and its interval. Both are at least 0 if the target never was negative.
func (t *textWriter) predicted(at int, digits digits) string {
	e := t.e
	score, reach := e.Prediction[at], e.Z*e.RangeOf(at)
	text := digits.plain(score) + t.within(at, digits)
	if lower, upper := e.Range(at); e.NonNegative && score < reach {
		text = fmt.Sprintf("%s (%s to %s)", digits.plain(e.Link().Response(score)), digits.plain(lower), digits.plain(upper))
	}
	if e.Clipped(at) {
		text += fmt.Sprintf(", because %s is never negative; the sum is %s", t.name(e.Outputs[0]), digits.signed(score))
	}
	return text
}

// probability names the explained class and, if there are more than two, the most probable of the others.
func (t *textWriter) probability(row, output int) string {
	e := t.e
	of := func(c int) string {
		return fmt.Sprintf("P(%s) %s", t.name(e.Outputs[c]), chance(e.Probability[e.at(row, c)]))
	}
	text, next := of(output), -1
	for c := range e.Outputs {
		if c != output && (next < 0 || e.Probability[e.at(row, c)] > e.Probability[e.at(row, next)]) {
			next = c
		}
	}
	if next >= 0 {
		text += ", " + of(next)
	}
	return text
}

// chance writes a probability without rounding it to 0 or 1.
func chance(p float64) string {
	switch {
	case math.IsNaN(p):
		return "= ?"
	case p < 0.001:
		return "< 0.001"
	case p > 0.999:
		return "> 0.999"
	case p < 0.0995 || p > 0.9005:
		return fmt.Sprintf("= %.3f", p)
	}
	return fmt.Sprintf("= %.2f", p)
}

// list joins as many names as fit into two lines.
func (t *textWriter) list(names []string) string {
	room := 2*t.Width - 60
	for i, name := range names {
		if room -= screenWidth(name) + 2; room < 0 && i > 0 {
			return fmt.Sprintf("%s and %d more", strings.Join(names[:i], ", "), len(names)-i)
		}
	}
	return strings.Join(names, ", ")
}

// effects writes the attributions of a row split into main effects and interactions.
func (t *textWriter) effects(row, output int, digits digits) {
	var shown []textLine
	rest, hidden, pairs := 0.0, 0, 0
	all := t.e.Effects(row, output)
	slices.SortStableFunc(all, func(a, b Effect) int { return larger(a.Value, b.Value) })
	for _, x := range all {
		if len(shown) == t.Players || !digits.shows(x.Value) {
			rest, hidden = rest+x.Value, hidden+1
			continue
		}
		line := textLine{name: clean(t.e.Players[x.A]), mean: x.Value, piece: true}
		if x.B >= 0 {
			line.name = t.name(t.e.Players[x.A]) + " " + t.sign("×", "x") + " " + t.name(t.e.Players[x.B])
			pairs++
		}
		shown = append(shown, line)
	}
	if pairs == 0 {
		t.note("pairs: none large enough to show")
		return
	}
	if hidden > 0 {
		shown = append(shown, textLine{name: fmt.Sprintf("%d others", hidden), mean: rest, piece: true})
	}
	t.note("alone and in pairs, with the same sum:")
	t.block(shown, digits)
}
