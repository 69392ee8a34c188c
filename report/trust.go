package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/internal/prose"
)

// Trust is how near attributions are to the model's Shapley values, with a verdict in words.
type Trust struct {
	Level   string     `json:"level"`   // exact, close, rough, poor or unchecked
	Verdict string     `json:"verdict"` // in a sentence
	Words   []string   `json:"words"`   // what it rests on
	Gap     float64    `json:"gap"`     // largest |prediction − base − Σ attributions| of the rows explained, beside the root mean square of prediction − base
	Audit   *psi.Audit `json:"audit"`   // kept in the model
}

// Up to what relative error attributions are called so. An error of a tenth seldom changes which column comes first;
// one of a third often does.
const (
	exactError = 1e-4
	closeError = .1
	roughError = .33
)

// trust judges the attributions of a model by its stored audit and by the rows just explained.
func trust(audit *psi.Audit, e *explain.Explanation) Trust {
	t := Trust{Audit: audit, Gap: gap(e)}
	sums := fmt.Sprintf("In the %s explained here, base and attributions add up to the prediction: the largest gap is %s of how far predictions usually lie from the base.", prose.Count(e.Rows, "row"), part(t.Gap))
	if t.Gap > exactError {
		sums = fmt.Sprintf("In the %s explained here, base and attributions add up to the prediction but for a gap of up to %.2g of how far predictions usually lie from the base.", prose.Count(e.Rows, "row"), t.Gap)
	}
	t.settle(e.Exact, "When the model was trained, the attributions of %s", "The model file holds no audit. psi audit makes one.", sums)
	return t
}

// settle comes to a verdict. Which says of what rows the audit was, and unaudited what to say if there was none.
func (t *Trust) settle(exact bool, which, unaudited, sums string) {
	audit := t.Audit
	if audit == nil || audit.RelativeRMSE == nil {
		t.Level, t.Verdict = "unchecked", "Nobody has checked how near these attributions are to the model's Shapley values."
		t.Words = []string{unaudited, sums}
		return
	}
	t.Level, t.Verdict = t.judge(miss(audit), exact)
	t.Words = audited(audit, fmt.Sprintf(which, prose.Count(audit.Rows, "row")))
	if audit.Top1 != nil {
		t.Words = append(t.Words, fmt.Sprintf("The attributions and the exact values name the same most important column in %s.", shareOfRows(*audit.Top1)))
	}
	t.Words = append(t.Words, sums)
}

// judge puts an error into words.
func (t *Trust) judge(relative float64, exact bool) (level, verdict string) {
	switch {
	case relative <= exactError && exact && t.Gap <= exactError:
		return "exact", fmt.Sprintf("Exact: these are the model's Shapley values. What is left is rounding, %s of their size.", part(relative))
	case relative <= closeError:
		return "close", fmt.Sprintf("Close: attributions are off by %s of their usual size. Their order can be relied on but for near ties.", percent(relative))
	case relative <= roughError:
		return "rough", fmt.Sprintf("Rough: attributions are off by %s of their usual size. The large ones can be relied on, the order of the small ones cannot.", percent(relative))
	}
	return "poor", fmt.Sprintf("Poor: attributions are off by %s of their usual size. Do not draw conclusions from them.", percent(relative))
}

// miss is the error of attributions beside their size. Where the check of whole rows was sampled, and so has an error of
// its own, that of rows with cells taken away, which was not, tells more of an exact head.
func miss(a *psi.Audit) float64 {
	if a.Method != "exact" && a.Head == "exact" && a.SubgameRelativeRMSE != nil {
		return *a.SubgameRelativeRMSE
	}
	return *a.RelativeRMSE
}

// audited says what the audit did, to which attributions.
func audited(a *psi.Audit, which string) []string {
	words := which + " were held against Shapley values worked out the long way, "
	if a.Method == "exact" {
		return []string{words + fmt.Sprintf("by asking the model about every combination of known and unknown columns (%s questions). The two differ by %s of their size.", prose.Thousands(a.Coalitions), part(*a.RelativeRMSE))}
	}
	words += fmt.Sprintf("by asking the model about columns becoming known in random orders (%s questions). The two differ by %s of their size", prose.Thousands(a.Coalitions), part(*a.RelativeRMSE))
	if a.StandardError != nil {
		words += fmt.Sprintf("; sampling alone leaves %s", part(*a.StandardError))
	}
	list := []string{words + "."}
	if a.SubgameRelativeRMSE != nil {
		list = append(list, fmt.Sprintf("With so many cells taken away from these rows that every combination of the others could be asked about, the two differ by %s of their size.", part(*a.SubgameRelativeRMSE)))
	}
	return list
}

// gap is the largest residual beside the root mean square of what attributions add up to.
func gap(e *explain.Explanation) float64 {
	worst, square := 0.0, 0.0
	for i, rest := range e.Residual {
		worst = max(worst, math.Abs(rest))
		moved := e.Prediction[i] - e.Base[i]
		square += moved * moved / float64(len(e.Residual))
	}
	if worst == 0 {
		return 0
	}
	return worst / max(math.Sqrt(square), math.SmallestNonzeroFloat64)
}

// Calibration is whether what the model says of its predictions comes true, with a verdict in words.
type Calibration struct {
	What    string             `json:"what"`
	Points  []CalibrationPoint `json:"promises"` // nil if no row has a target
	Level   string             `json:"level"`    // good, fair, poor or unchecked
	Verdict string             `json:"verdict"`
	Words   []string           `json:"words"`
	aside   bool               // it was judged by the rows kept aside in training
}

// CalibrationPoint is what the model said of many rows, and how often it came true.
type CalibrationPoint struct {
	Nominal  float64 `json:"promised"`
	Observed float64 `json:"kept"`
	Rows     int     `json:"rows"`
}

// Up to what gap, beyond what chance leaves, calibration is called so.
const (
	goodGap = .02
	fairGap = .06
)

// calibration judges the calibration points of all rows that have a target.
func (o *outcomes) calibration() Calibration {
	c := Calibration{What: o.curve.What(), Level: "unchecked"}
	for _, p := range o.curve.Points() {
		c.Points = append(c.Points, CalibrationPoint(p))
	}
	if len(c.Points) == 0 {
		c.Verdict = "No row of this table has a known outcome, so what the model promises cannot be checked here."
		c.Words = o.stored()
		return c
	}
	c = o.judged(c)
	c.Words = o.withSlope(c.Words)
	if !c.aside {
		c.Words = append(c.Words, "If the model learned from these rows, it keeps its promises here more easily than it will on new ones.")
	}
	return c
}

// judged adds a level, a verdict and words to calibration points.
func (o *outcomes) judged(c Calibration) Calibration {
	if o.manifest.Classes() != nil {
		c.Level = called(c.probabilityGap())
		c.Verdict, c.Words = o.probabilityWords(c, o.curve.Gap())
		return c
	}
	held := c
	if aside := o.aside(); c.wide() && aside.Points != nil && aside.intervalGap() < c.intervalGap() {
		held, c.aside = aside, true // rows that a model learned from lie nearer to its predictions than others will
	}
	held.Level = called(held.intervalGap())
	c.Level = held.Level
	c.Verdict, c.Words = held.intervalWords()
	if c.aside {
		c.Words = append(c.Words, fmt.Sprintf("Of this table, whose rows it may have learned from, %s lie in the ranges of 90 %% and %s in those of half.",
			percent(c.at(.9).Observed), percent(c.at(.5).Observed)))
	}
	return c
}

// called is a gap in a word.
func called(gap float64) string {
	switch {
	case gap <= goodGap:
		return "good"
	case gap <= fairGap:
		return "fair"
	}
	return "poor"
}

// at is the share that intervals of a level held.
func (c *Calibration) at(level float64) CalibrationPoint {
	for _, p := range c.Points {
		if p.Nominal == level {
			return p
		}
	}
	return CalibrationPoint{level, level, 0}
}

// intervalGap is how far the intervals of 50 and 90 % miss their levels, the worse of the two.
func (c *Calibration) intervalGap() float64 {
	return max(0, c.at(.5).intervalGap(), c.at(.9).intervalGap())
}

// intervalGap is how far a share misses its level, beyond two standard errors of a perfect calibration.
func (p CalibrationPoint) intervalGap() float64 {
	return math.Abs(p.Observed-p.Nominal) - 2*math.Sqrt(p.Nominal*(1-p.Nominal)/max(1, float64(p.Rows)))
}

// probabilityGap is the mean distance of probabilities from what came true, less what chance alone leaves of a perfect
// calibration. With s the standard error of a share, that is |N(0, s²)|, of mean √(2/π)·s and variance (1 − 2/π)·s²; its mean
// and two standard deviations over all rows are granted.
func (c *Calibration) probabilityGap() float64 {
	gap, rows, variance := 0.0, 0.0, 0.0
	for _, p := range c.Points {
		n, ofRow := float64(p.Rows), p.Nominal*(1-p.Nominal)
		gap += n*math.Abs(p.Observed-p.Nominal) - math.Sqrt(2/math.Pi*n*ofRow)
		variance += (1 - 2/math.Pi) * n * ofRow
		rows += n
	}
	return (gap - 2*math.Sqrt(variance)) / rows
}

// wide says whether intervals of 50 and 90 % held more than that.
func (c *Calibration) wide() bool { return c.at(.5).Observed > .5 && c.at(.9).Observed > .9 }

// aside is what intervals held of the rows kept aside in training; it has no points if that is not known.
func (o *outcomes) aside() Calibration {
	half, known50 := o.manifest.Metrics["coverage_50"]
	nine, known90 := o.manifest.Metrics["coverage_90"]
	if rows := o.manifest.Provenance.ValidationRows; known50 && known90 {
		return Calibration{Points: []CalibrationPoint{{.5, half, rows}, {.9, nine, rows}}, aside: true}
	}
	return Calibration{}
}

// heldAside says what intervals held of the rows kept aside.
func (c *Calibration) heldAside() string {
	nine := c.at(.9)
	return fmt.Sprintf("On the %s kept aside when the model was trained, ranges said to hold 90 %% of outcomes held %s.", prose.Count(nine.Rows, "row"), percent(nine.Observed))
}

func (c *Calibration) intervalWords() (verdict string, words []string) {
	which := ""
	if c.aside {
		which = " kept aside in training"
	}
	half, nine := c.at(.5), c.at(.9)
	how := "Its ranges are about right"
	switch {
	case c.Level == "good":
	case nine.Observed < .9 && half.Observed < .5:
		how = "Its ranges are too narrow: the model is too sure"
	case called(nine.intervalGap()) == "good":
		how = "Its ranges of 90 % are about right, others are less so"
	case c.wide():
		how = "Its ranges are too wide: the model is less sure than it could be"
	default:
		how = "Its ranges are of the wrong shape"
	}
	sentences := []string{
		fmt.Sprintf("Of the outcomes, %s lie in the ranges said to hold 90 %% of them.", percent(nine.Observed)),
		fmt.Sprintf("Of the outcomes, %s lie in the ranges said to hold half of them.", percent(half.Observed)),
	}
	if half.intervalGap() > nine.intervalGap() && c.Level != "good" {
		slices.Reverse(sentences) // the one that is off comes first
	}
	return how + ". " + sentences[0], []string{sentences[1] + " This was held against " + prose.Count(nine.Rows, "row") + which + "."}
}

func (o *outcomes) probabilityWords(c Calibration, gap float64) (verdict string, words []string) {
	how := map[string]string{"good": "Its probabilities mean what they say", "fair": "Its probabilities are somewhat off", "poor": "Its probabilities cannot be taken at face value"}[c.Level]
	return fmt.Sprintf("%s: they miss the share that came true by %s on the average.", how, points(gap)),
		[]string{fmt.Sprintf("Of the rows said to have a probability of 0.3, three in ten should turn out so. This was held against %s.", prose.Count(o.labelled, "row"))}
}

// withSlope adds how missing cells change probabilities, if they do.
func (o *outcomes) withSlope(words []string) []string {
	if slope := slopeWords(o.manifest.Calibration); slope != "" {
		words = append(words, slope)
	}
	return words
}

// stored are the words for the model's own validation rows.
func (o *outcomes) stored() []string {
	return o.withSlope(o.validated())
}

// validated says what the model's metrics tell.
func (o *outcomes) validated() []string {
	if aside := o.aside(); aside.Points != nil {
		return []string{aside.heldAside()}
	}
	rows := prose.Count(o.manifest.Provenance.ValidationRows, "row")
	if v, known := o.manifest.Metrics["ece"]; known {
		return []string{fmt.Sprintf("On the %s kept aside when the model was trained, probabilities missed the share that came true by %s on the average.", rows, points(v))}
	}
	return []string{"Give a table with the column " + o.manifest.Target + " to see it."}
}

// part writes a small share as people say it: less than one part in so many.
func part(share float64) string {
	if share >= .01 {
		return percent(share)
	}
	const least = 1e-12
	parts := math.Pow10(int(-math.Ceil(math.Log10(max(share, least)))))
	return "less than one part in " + prose.Thousands(int(parts))
}

func shareOfRows(share float64) string {
	if share == 1 {
		return "every row"
	}
	return percent(share) + " of the rows"
}

// points are hundredths of a probability.
func points(gap float64) string { return fmt.Sprintf("%.1f percentage points", 100*gap) }
