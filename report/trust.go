package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/internal/prose"
)

// Trust describes how close attributions are to the model's Shapley values, with a verdict in words.
type Trust struct {
	Level   string     `json:"level"`   // exact, close, rough, poor or unchecked
	Verdict string     `json:"verdict"` // one sentence
	Words   []string   `json:"words"`   // the evidence
	Gap     float64    `json:"gap"`     // largest |prediction − base − Σ attributions| of the explained rows, relative to the RMS of prediction − base
	Audit   *psi.Audit `json:"audit"`   // stored in the model
}

// Upper limits of the relative error for each level. An error of a tenth seldom changes the most important column; an
// error of a third often does.
const (
	exactError = 1e-4
	closeError = .1
	roughError = .33
)

// trust assesses the attributions by the model's audit, if it is of the same game.
func (g *gathering) trust(e *explain.Explanation) Trust {
	which, unaudited := auditWords(&g.manifest)
	if e.Game != g.model.Game() {
		return trust(nil, e, which, fmt.Sprintf("The model file has no audit of the game %s, only of the model's own, %s.", e.Game, g.model.Game()))
	}
	return trust(g.model.StoredAudit(), e, which, unaudited)
}

// trust assesses attributions by an audit and by the rows just explained. which names the audited rows, unaudited is the
// text if there is no audit.
func trust(audit *psi.Audit, e *explain.Explanation, which, unaudited string) Trust {
	t := Trust{Audit: audit, Gap: gap(e)}
	sums := fmt.Sprintf("In the %s explained here, base and attributions add up to the prediction: the largest gap is %s of the usual distance between prediction and base.", prose.Count(e.Rows, "row"), part(t.Gap))
	if t.Gap > exactError {
		sums = fmt.Sprintf("In the %s explained here, base and attributions add up to the prediction except for a gap of up to %.2g of the usual distance from the base.", prose.Count(e.Rows, "row"), t.Gap)
	}
	t.settle(e.Exact, which, unaudited, sums)
	return t
}

// settle decides the verdict. which names the audited rows, unaudited is the text if there is no audit.
func (t *Trust) settle(exact bool, which, unaudited, sums string) {
	audit := t.Audit
	if audit == nil || audit.RelativeRMSE == nil {
		t.Level, t.Verdict = "unchecked", "These attributions have not been compared with the model's Shapley values."
		t.Words = []string{unaudited, sums}
		return
	}
	t.Level, t.Verdict = t.judge(relativeError(audit), exact)
	t.Words = audited(audit, fmt.Sprintf(which, prose.Count(audit.Rows, "row")))
	if audit.Top1 != nil {
		t.Words = append(t.Words, fmt.Sprintf("The attributions and the exact values have the same most important column in %s.", shareOfRows(*audit.Top1)))
	}
	t.Words = append(t.Words, sums)
}

// judge expresses an error in words.
func (t *Trust) judge(relative float64, exact bool) (level, verdict string) {
	switch {
	case relative <= exactError && exact && t.Gap <= exactError:
		return "exact", fmt.Sprintf("Exact: these are the model's Shapley values. The rounding error is %s of their size.", part(relative))
	case relative <= closeError:
		return "close", fmt.Sprintf("Close: attributions are off by %s of their usual size. Their order is reliable except for near ties.", percent(relative))
	case relative <= roughError:
		return "rough", fmt.Sprintf("Rough: attributions are off by %s of their usual size. The large ones are reliable, the order of the small ones is not.", percent(relative))
	}
	return "poor", fmt.Sprintf("Poor: attributions are off by %s of their usual size. Do not draw conclusions from them.", percent(relative))
}

// relativeError returns the error of attributions relative to their size. If the audit of whole rows was sampled, it has an
// error of its own. For an exact head and for trees, the audit of rows with hidden cells is then more precise, because it was not
// sampled.
func relativeError(a *psi.Audit) float64 {
	if a.Method != "exact" && a.Head != learnedHead && a.SubgameRelativeRMSE != nil {
		return *a.SubgameRelativeRMSE
	}
	return *a.RelativeRMSE
}

// audited describes what the audit did, and for which attributions.
func audited(a *psi.Audit, which string) []string {
	words := which + " were compared with Shapley values computed the long way"
	if a.Method == "exact" {
		return []string{words + fmt.Sprintf(": the model was evaluated for every combination of known and unknown columns (%s evaluations). The two differ by %s of their size.", prose.Thousands(a.Coalitions), part(*a.RelativeRMSE))}
	}
	words += fmt.Sprintf(": the model was evaluated as columns became known in random orders (%s evaluations). The two differ by %s of their size", prose.Thousands(a.Coalitions), part(*a.RelativeRMSE))
	if a.StandardError != nil {
		words += fmt.Sprintf("; sampling alone leaves a difference of %s", part(*a.StandardError))
	}
	list := []string{words + "."}
	if a.SubgameRelativeRMSE != nil {
		list = append(list, fmt.Sprintf("With enough cells removed from these rows to evaluate every combination of the others, the two differ by %s of their size.", part(*a.SubgameRelativeRMSE)))
	}
	return list
}

// gap returns the largest residual relative to the root mean square of the sum of attributions.
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

// Calibration describes how well predicted probabilities or intervals match the observed targets, with a verdict in
// words.
type Calibration struct {
	What    string             `json:"what"`
	Points  []CalibrationPoint `json:"promises"` // nil if no row has a target
	Level   string             `json:"level"`    // good, fair, poor or unchecked
	Verdict string             `json:"verdict"`
	Words   []string           `json:"words"`
	aside   bool               // assessed on the validation rows of the training
}

// CalibrationPoint is a nominal probability or coverage, and the share observed over some rows.
type CalibrationPoint struct {
	Nominal  float64 `json:"promised"`
	Observed float64 `json:"kept"`
	Rows     int     `json:"rows"`
}

// Upper limits, beyond chance, of the gap for each level.
const (
	goodGap = .02
	fairGap = .06
)

// calibration assesses the calibration points of all rows that have a target.
func (o *outcomes) calibration() Calibration {
	c := Calibration{What: o.curve.What(), Level: "unchecked"}
	for _, p := range o.curve.Points() {
		c.Points = append(c.Points, CalibrationPoint(p))
	}
	if len(c.Points) == 0 {
		c.Verdict = "No row of this table has a known outcome, so calibration cannot be checked here."
		if o.labelled > 0 {
			c.Verdict = "The uncertainty of its predictions is not known, so there is nothing to check."
		}
		c.Words = o.stored()
		return c
	}
	c = o.judged(c)
	c.Words = o.withSlope(c.Words)
	if !c.aside && madeOf(&o.manifest) == "" {
		c.Words = append(c.Words, "If the model was trained on these rows, its calibration looks better here than it will be on new rows.")
	}
	if madeOf(&o.manifest) != "" {
		c.Words = append(c.Words, o.fitted()...)
	}
	return c
}

// fitted says on which rows calibration looks better than on new rows.
func (o *outcomes) fitted() []string {
	if o.manifest.Calibration.Ranges != nil {
		return []string{fmt.Sprintf("psi fitted the intervals on %s. If this table has these rows, or rows that the model was trained on, calibration looks better here than it will be on new rows.", countedRows(&o.manifest))}
	}
	return []string{"If the model was trained on these rows, calibration looks better here than it will be on new rows."}
}

// judged adds a level, a verdict and words to calibration points.
func (o *outcomes) judged(c Calibration) Calibration {
	if o.manifest.Classes() != nil {
		c.Level = gapRating(c.probabilityGap())
		c.Verdict, c.Words = o.probabilityWords(c, o.curve.Gap())
		return c
	}
	judged := c
	if aside := o.aside(); c.wide() && aside.Points != nil && aside.intervalGap() < c.intervalGap() {
		judged, c.aside = aside, true // training rows lie nearer to their predictions than new rows
	}
	judged.Level = gapRating(judged.intervalGap())
	c.Level = judged.Level
	c.Verdict, c.Words = judged.intervalWords()
	if c.aside {
		c.Words = append(c.Words, fmt.Sprintf("In this table, on whose rows it may have been trained, the 90 %% intervals contain %s of the outcomes, and the 50 %% intervals %s.",
			percent(c.at(.9).Observed), percent(c.at(.5).Observed)))
	}
	return c
}

// gapRating expresses a gap in a word.
func gapRating(gap float64) string {
	switch {
	case gap <= goodGap:
		return "good"
	case gap <= fairGap:
		return "fair"
	}
	return "poor"
}

// at returns the coverage of intervals of a level.
func (c *Calibration) at(level float64) CalibrationPoint {
	for _, p := range c.Points {
		if p.Nominal == level {
			return p
		}
	}
	return CalibrationPoint{level, level, 0}
}

// intervalGap returns how far the coverage of 50 and 90 % intervals is from nominal, the worse of the two.
func (c *Calibration) intervalGap() float64 {
	return max(0, c.at(.5).intervalGap(), c.at(.9).intervalGap())
}

// intervalGap returns how far a coverage is from nominal, beyond two standard errors under perfect calibration.
func (p CalibrationPoint) intervalGap() float64 {
	return math.Abs(p.Observed-p.Nominal) - 2*math.Sqrt(p.Nominal*(1-p.Nominal)/max(1, float64(p.Rows)))
}

// probabilityGap returns the mean distance of probabilities from observed shares, less the part that chance causes
// under perfect calibration. With s the standard error of a share, that part is |N(0, s²)|, with mean √(2/π)·s and
// variance (1 − 2/π)·s². Its mean plus two standard deviations over all rows are subtracted.
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

// wide reports whether the coverage of 50 and 90 % intervals is above nominal.
func (c *Calibration) wide() bool { return c.at(.5).Observed > .5 && c.at(.9).Observed > .9 }

// aside returns the calibration on the validation rows of the training; it has no points if that is unknown.
func (o *outcomes) aside() Calibration {
	half, known50 := o.manifest.Metrics["coverage_50"]
	nine, known90 := o.manifest.Metrics["coverage_90"]
	if rows := o.manifest.Provenance.ValidationRows; known50 && known90 && madeOf(&o.manifest) == "" {
		return Calibration{Points: []CalibrationPoint{{.5, half, rows}, {.9, nine, rows}}, aside: true}
	}
	return Calibration{}
}

// heldAside describes the coverage on the validation rows.
func (c *Calibration) heldAside() string {
	nine := c.at(.9)
	return fmt.Sprintf("On the %s held out from training, the 90 %% prediction intervals contained %s of the outcomes.", prose.Count(nine.Rows, "row"), percent(nine.Observed))
}

func (c *Calibration) intervalWords() (verdict string, words []string) {
	which := ""
	if c.aside {
		which = " held out from training"
	}
	half, nine := c.at(.5), c.at(.9)
	how := "Its prediction intervals are about right"
	switch {
	case c.Level == "good":
	case nine.Observed < .9 && half.Observed < .5:
		how = "Its prediction intervals are too narrow: the model is overconfident"
	case gapRating(nine.intervalGap()) == "good":
		how = "Its 90 % prediction intervals are about right, others are less so"
	case c.wide():
		how = "Its prediction intervals are too wide: the model is less certain than it could be"
	default:
		how = "Its prediction intervals have the wrong shape"
	}
	sentences := []string{
		fmt.Sprintf("The 90 %% intervals contain %s of the outcomes.", percent(nine.Observed)),
		fmt.Sprintf("The 50 %% intervals contain %s of the outcomes.", percent(half.Observed)),
	}
	if half.intervalGap() > nine.intervalGap() && c.Level != "good" {
		slices.Reverse(sentences) // the one that is off comes first
	}
	return how + ". " + sentences[0], []string{sentences[1] + " This was measured on " + prose.Count(nine.Rows, "row") + which + "."}
}

func (o *outcomes) probabilityWords(c Calibration, gap float64) (verdict string, words []string) {
	how := map[string]string{"good": "Its probabilities match the outcomes", "fair": "Its probabilities are somewhat off", "poor": "Its probabilities cannot be taken at face value"}[c.Level]
	return fmt.Sprintf("%s: they differ from the observed share by %s on average.", how, points(gap)),
		[]string{fmt.Sprintf("Of the rows with a predicted probability of 0.3, three in ten should have that outcome. This was measured on %s.", prose.Count(o.labelled, "row"))}
}

// withSlope adds how missing cells change probabilities, if they do.
func (o *outcomes) withSlope(words []string) []string {
	if slope := slopeWords(o.manifest.Calibration, madeOf(&o.manifest)); slope != "" {
		words = append(words, slope)
	}
	return words
}

// stored describes the model's own validation rows.
func (o *outcomes) stored() []string {
	return o.withSlope(o.validated())
}

// validated describes the model's metrics.
func (o *outcomes) validated() []string {
	if aside := o.aside(); aside.Points != nil {
		return []string{aside.heldAside()}
	}
	rows := countedRows(&o.manifest)
	if v, known := o.manifest.Metrics["ece"]; known {
		return []string{fmt.Sprintf("On %s, probabilities differed from the observed share by %s on average.", rows, points(v))}
	}
	if v, known := o.manifest.Metrics["coverage_90"]; known {
		return []string{fmt.Sprintf("On %s, the 90 %% prediction intervals contained %s of the outcomes. psi fitted the intervals on these rows.", rows, percent(v))}
	}
	if o.manifest.Imported != nil && o.labelled > 0 {
		return []string{"The model was imported without rows that have the column " + o.manifest.Target + ". Import it again with such rows, and psi measures prediction intervals."}
	}
	return []string{"Use a table with the column " + o.manifest.Target + " to check it."}
}

// part writes a small share as "less than one part in …".
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

// points writes a gap in percentage points.
func points(gap float64) string { return fmt.Sprintf("%.1f percentage points", 100*gap) }
