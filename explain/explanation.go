// Package explain holds explanations of predictions and writes them for people and for programs.
//
// An [Explanation] holds, for each row of a table and each output of a model, the contribution of every player to the
// prediction. A player is a column or a group of columns:
//
//	prediction = base + Σ_d φ_d + residual,   φ_d ~ N(mean_d, std_d²), independent
//
// Three uncertainties are kept apart:
//   - std is the variation of the contribution in the data, among rows like this one.
//   - model_std is the epistemic uncertainty: the standard deviation of the mean over samples of training rows. It is estimated from
//     bagged networks. For a contrast it is the deviation of the difference, bag by bag.
//   - The standard error is the sampling error of an attribution about the model's Shapley value.
//
// Methods derive the interval of an attribution, p_positive = P(φ_d > 0), and p_top = P(|φ_d| is among the K largest of
// its row).
//
// A player that is not observed in a row has mean 0 and std 0, so its interval is [0, 0] and its p_top is 0. It has no
// direction, so p_positive does not apply. What does not apply is NaN in Go, null in JSON and a missing cell in a
// table.
//
// A model of two classes has one output, the positive class, whose prediction is a score in log odds. A model of more
// classes has a score for each class; [Explanation.Only] selects a class, and [Explanation.Contrast] compares two.
//
// [JSONWriter] writes one document from any number of chunks, and [ReadJSON] reads it. [Explanation.Wide] and
// [Explanation.Long] return tables for a table.Sink. [Text] writes for a terminal.
//
// An Explanation is not modified by its methods unless they say so, and concurrent reads are safe.
package explain

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/psi-shapley/psi/table"
)

// Mode is the method that computed the attributions.
type Mode string

// Modes.
const (
	Fast    Mode = "fast"    // the network's own attributions, from one pass
	Refined Mode = "refined" // the network's own attributions, corrected by sampled coalitions
	Exact   Mode = "exact"   // from all coalitions
)

// Scale is the scale of predictions and attributions.
type Scale string

// Scales.
const (
	Identity Scale = "identity" // the target's own units
	LogMean  Scale = "log-mean" // log of the target's mean
	Log      Scale = "log"      // mean of the target's log
	Logit    Scale = "logit"    // log odds of the positive class
	Score    Scale = "score"    // score of a class, before softmax
	Share    Scale = "share"    // probability of a class itself
)

// Logs reports whether the scale is the log of a number.
func (s Scale) Logs() bool { return s == LogMean || s == Log }

// Explanation holds the attributions of consecutive rows of a table. Arrays are flat and row-major: the last axis
// varies fastest.
type Explanation struct {
	Model string // "sha256:…" of the model's file; "" if it was never saved
	Head  string // "exact", "learned", "trees" or "mixture"
	Game  Game   // game whose Shapley values they are; "" means Observational
	Mode  Mode
	Exact bool    // Mean holds the model's Shapley values, up to rounding
	Z     float64 // intervals have the coverage of ∓ Z standard deviations of a normal distribution
	Top   int     // K of p_top, at least 1

	Outputs []string
	Scale   Scale
	Players []string

	NonNegative bool // no training row had a negative target: where Prediction is below 0, the model predicts 0

	Bags int // number of bagged networks behind ModelStd; 0 if it is unknown

	File     string // file of the rows; "" if there is only one
	FirstRow int    // number of the first row within its file, from 0
	Against  string // reference that everything is a difference from, such as "row 8"; "" if there is none
	Rows     int

	// [rows, outputs]
	Base          []float64
	Prediction    []float64
	PredictionStd []float64 // nil if unknown
	RangeStd      []float64 // number: Prediction ∓ 1.645 RangeStd contains 90 % of targets; nil for classes, and if it equals PredictionStd
	HiddenStd     []float64 // part of PredictionStd caused by missing cells; nil if unknown
	Probability   []float64 // of the class; nil for regression and for contrasts
	Residual      []float64 // Prediction − Base − Σ Mean

	// [rows, outputs, players]
	Mean          []float64
	Std           []float64 // nil if unknown
	StandardError []float64 // sampling error of Mean; nil unless it was sampled
	ModelStd      []float64 // epistemic uncertainty of Mean over samples of training rows; nil if unknown

	ByBag []float64 // [rows, outputs, players, bags] attributions of each bag; nil if unknown

	// [rows]: κ; the probability is computed from Base + κ·(Prediction − Base). It is 1 for complete rows. Slope is nil
	// if κ is 1 for all rows, and without Probability.
	Slope       []float64
	Evaluations []int // [rows]: number of coalitions evaluated; nil unless the mode is Refined

	Observed []bool          // [rows, players]
	Other    []bool          // [rows, players]: the label did not occur in training and was read as "other"; nil if there is none
	Values   []*table.Column // the user's cells, one column per player; nil for a group

	// [rows, outputs, players, players], symmetric, the diagonal unused
	Interactions     []float64 // Shapley interaction indices; nil unless requested
	InteractionError []float64 // standard errors of Interactions if sampled; else nil
}

// Validate returns an error if the explanation is inconsistent.
func (e *Explanation) Validate() error {
	if err := e.validateHeader(); err != nil {
		return err
	}
	if err := e.validateLengths(); err != nil {
		return err
	}
	return e.validateCells()
}

func (e *Explanation) validateHeader() error {
	switch e.Mode {
	case Fast, Refined, Exact:
	default:
		return fmt.Errorf("explain: unknown mode %q", e.Mode)
	}
	switch e.Scale {
	case Identity, LogMean, Log, Logit, Score, Share:
	default:
		return fmt.Errorf("explain: unknown scale %q", e.Scale)
	}
	if e.Game != "" && !slices.Contains(Games(), e.Game) {
		return fmt.Errorf("explain: unknown game %q", e.Game)
	}
	switch {
	case e.NonNegative && (e.Scale == Logit || e.Scale == Score || e.Scale == Share):
		return fmt.Errorf("explain: scores on the scale %q have no sign to keep", e.Scale)
	case !finite(e.Z) || e.Z < 0:
		return fmt.Errorf("explain: z is %v, not a finite number from 0 up", e.Z)
	case e.Bags < 0 || e.Bags == 1 || e.Bags == 0 && e.ModelStd != nil:
		return fmt.Errorf("explain: doubt by %d bags: it takes two to differ", e.Bags)
	case e.Top < 1:
		return fmt.Errorf("explain: p_top of the %d largest: at least 1 is needed", e.Top)
	case e.Rows < 0 || e.FirstRow < 0:
		return fmt.Errorf("explain: %d rows from row %d", e.Rows, e.FirstRow)
	}
	if err := distinct("output", e.Outputs); err != nil {
		return err
	}
	return distinct("player", e.Players)
}

func distinct(what string, names []string) error {
	if len(names) == 0 {
		return fmt.Errorf("explain: no %s", what)
	}
	seen := make(map[string]bool, len(names))
	for _, name := range names {
		if name == "" {
			return fmt.Errorf("explain: %s without a name", what)
		}
		if seen[name] {
			return fmt.Errorf("explain: two %ss are named %q", what, name)
		}
		seen[name] = true
	}
	return nil
}

func (e *Explanation) validateLengths() error {
	perOutput := e.Rows * len(e.Outputs)
	perPlayer := perOutput * len(e.Players)
	perPair := perPlayer * len(e.Players)
	for _, array := range []struct {
		name     string
		values   []float64
		want     int
		optional bool
	}{
		{"Base", e.Base, perOutput, false},
		{"Prediction", e.Prediction, perOutput, false},
		{"PredictionStd", e.PredictionStd, perOutput, true},
		{"RangeStd", e.RangeStd, perOutput, true},
		{"HiddenStd", e.HiddenStd, perOutput, true},
		{"Probability", e.Probability, perOutput, true},
		{"Residual", e.Residual, perOutput, false},
		{"Mean", e.Mean, perPlayer, false},
		{"Std", e.Std, perPlayer, true},
		{"StandardError", e.StandardError, perPlayer, true},
		{"ModelStd", e.ModelStd, perPlayer, true},
		{"ByBag", e.ByBag, perPlayer * e.Bags, true},
		{"Interactions", e.Interactions, perPair, true},
		{"InteractionError", e.InteractionError, perPair, true},
	} {
		if array.optional && array.values == nil {
			continue
		}
		if len(array.values) != array.want {
			return fmt.Errorf("explain: %s has %d values, not %d", array.name, len(array.values), array.want)
		}
	}
	if e.InteractionError != nil && e.Interactions == nil {
		return errors.New("explain: InteractionError without Interactions")
	}
	if e.Slope != nil && len(e.Slope) != e.Rows {
		return fmt.Errorf("explain: Slope has %d values, not %d", len(e.Slope), e.Rows)
	}
	if e.Evaluations != nil && len(e.Evaluations) != e.Rows {
		return fmt.Errorf("explain: Evaluations has %d values, not %d", len(e.Evaluations), e.Rows)
	}
	if want := e.Rows * len(e.Players); len(e.Observed) != want {
		return fmt.Errorf("explain: Observed has %d values, not %d", len(e.Observed), want)
	}
	if want := e.Rows * len(e.Players); e.Other != nil && len(e.Other) != want {
		return fmt.Errorf("explain: Other has %d values, not %d", len(e.Other), want)
	}
	if len(e.Values) != len(e.Players) {
		return fmt.Errorf("explain: Values has %d columns for %d players", len(e.Values), len(e.Players))
	}
	for d, column := range e.Values {
		if column != nil && column.Len() != e.Rows {
			return fmt.Errorf("explain: the values of %q have %d rows, not %d", e.Players[d], column.Len(), e.Rows)
		}
	}
	return nil
}

// validateCells checks the invariants of the cells.
func (e *Explanation) validateCells() error {
	apart := make([]float64, len(e.Players)) // if ModelStd is unknown
	for row := range e.Rows {
		observed := e.observed(row)
		for output := range e.Outputs {
			mean, std := e.means(row, output), e.stds(row, output)
			if e.ModelStd != nil {
				apart = e.of(e.ModelStd, row, output, len(observed))
			}
			for d := range observed {
				wrong := ""
				switch {
				case std[d] < 0 || apart[d] < 0:
					wrong = "its standard deviation is negative"
				case !observed[d] && (mean[d] != 0 || std[d] != 0 || apart[d] != 0):
					wrong = "it is not observed, but its mean or standard deviation is not 0"
				}
				if wrong != "" {
					return fmt.Errorf("explain: row %d, output %q, player %q: %s", e.FirstRow+row, e.Outputs[output], e.Players[d], wrong)
				}
			}
		}
	}
	return nil
}

// at returns the index of (row, output) in arrays [rows, outputs].
func (e *Explanation) at(row, output int) int { return row*len(e.Outputs) + output }

// RangeOf returns the standard deviation behind the interval of a prediction, given its index in arrays [rows,
// outputs]. It is RangeStd for a number, if known, else PredictionStd; NaN if neither is known.
func (e *Explanation) RangeOf(at int) float64 {
	switch {
	case e.RangeStd != nil:
		return e.RangeStd[at]
	case e.PredictionStd != nil:
		return e.PredictionStd[at]
	}
	return math.NaN()
}

// of returns the part of an array [rows, outputs, width] for (row, output).
func (e *Explanation) of(values []float64, row, output, width int) []float64 {
	start := e.at(row, output) * width
	return values[start : start+width]
}

func (e *Explanation) means(row, output int) []float64 {
	return e.of(e.Mean, row, output, len(e.Players))
}

func (e *Explanation) stds(row, output int) []float64 {
	return e.orUnknown(e.Std, row, output)
}

// orUnknown returns the part of an array [rows, outputs, players] for (row, output). If the array is nil, it has NaN for
// the observed players.
func (e *Explanation) orUnknown(values []float64, row, output int) []float64 {
	if values != nil {
		return e.of(values, row, output, len(e.Players))
	}
	list := make([]float64, len(e.Players))
	for d, observed := range e.observed(row) {
		if observed {
			list[d] = math.NaN()
		}
	}
	return list
}

func (e *Explanation) observed(row int) []bool {
	return e.Observed[row*len(e.Players) : (row+1)*len(e.Players)]
}

// other reports whether the label of a cell was read as "other".
func (e *Explanation) other(row, player int) bool {
	at := row*len(e.Players) + player
	return at < len(e.Other) && e.Other[at]
}

// pairAt returns the index of a pair in arrays [rows, outputs, players, players].
func (e *Explanation) pairAt(row, output, a, b int) int {
	return (e.at(row, output)*len(e.Players)+a)*len(e.Players) + b
}

// Exactness returns a sentence on how close the attributions are to the model's Shapley values.
func (e *Explanation) Exactness() string {
	switch {
	case e.Exact:
		return "Exact: these are the Shapley values of the model" + e.inGame() + "."
	case e.StandardError != nil:
		worst := 0.0
		for _, v := range e.StandardError {
			if finite(v) {
				worst = math.Max(worst, v)
			}
		}
		return fmt.Sprintf("Refined: the network's own attributions, corrected by sampled coalitions; their standard error is at most %.2g.", worst)
	}
	return "Not exact: the network's own estimate of its Shapley values; psi audit measures how near it is."
}

// inGame names the game, unless it is that of psi's own models.
func (e *Explanation) inGame() string {
	if e.Game == "" || e.Game == Observational {
		return ""
	}
	return fmt.Sprintf(" in the %s game: if a column is absent, %s", e.Game, e.Game.Absent())
}

// Join concatenates explanations of consecutive chunks of one source.
func Join(parts []*Explanation) (*Explanation, error) {
	if len(parts) == 0 {
		return nil, errors.New("explain: nothing to join")
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	whole := *parts[0]
	whole.Rows, whole.Slope, whole.Evaluations = 0, nil, nil
	chunks := make([]*table.Table, len(parts))
	var lists [14][][]float64
	var observed, other []bool
	anyOther := false
	for i, p := range parts {
		if difference := difference(parts[0], p); difference != "" {
			return nil, errors.New("explain: parts of different explanations: " + difference)
		}
		if p.FirstRow != whole.FirstRow+whole.Rows {
			return nil, errors.New("explain: parts that do not follow each other")
		}
		whole.Rows += p.Rows
		whole.Slope = append(whole.Slope, p.Slope...)
		whole.Evaluations = append(whole.Evaluations, p.Evaluations...)
		observed = append(observed, p.Observed...)
		if p.Other != nil {
			anyOther = true
			other = append(other, p.Other...)
		} else {
			other = append(other, make([]bool, len(p.Observed))...)
		}
		for k, list := range p.lists() {
			if (*list == nil) != (*parts[0].lists()[k] == nil) {
				return nil, errors.New("explain: parts of different explanations: what they hold")
			}
			lists[k] = append(lists[k], *list)
		}
		chunks[i] = &table.Table{}
		for _, c := range p.Values {
			if c != nil {
				chunks[i].Columns = append(chunks[i].Columns, c)
			}
		}
	}
	for k, list := range whole.lists() {
		*list = joined(lists[k])
	}
	whole.Observed, whole.Other = observed, nil
	if anyOther {
		whole.Other = other
	}
	values, err := table.Concat(chunks)
	if err != nil {
		return nil, err
	}
	whole.Values = make([]*table.Column, len(parts[0].Values))
	for d, c := range parts[0].Values {
		if c != nil {
			whole.Values[d] = values.Column(c.Name)
		}
	}
	return &whole, nil
}

// lists returns all arrays of numbers: seven [rows, outputs], four [rows, outputs, players], two [rows, outputs,
// players, players], one [rows, outputs, players, bags].
func (e *Explanation) lists() [14]*[]float64 {
	return [...]*[]float64{
		&e.Base, &e.Prediction, &e.PredictionStd, &e.HiddenStd, &e.Probability, &e.Residual,
		&e.Mean, &e.Std, &e.StandardError, &e.ModelStd, &e.Interactions, &e.InteractionError, &e.ByBag, &e.RangeStd,
	}
}

func joined(lists [][]float64) []float64 {
	n := 0
	for _, list := range lists {
		n += len(list)
	}
	if lists[0] == nil {
		return nil
	}
	all := make([]float64, 0, n)
	for _, list := range lists {
		all = append(all, list...)
	}
	return all
}
