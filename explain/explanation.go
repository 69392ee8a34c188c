package explain

import (
	"errors"
	"fmt"

	"github.com/psi-shapley/psi/table"
)

// Mode is the way the attributions were computed.
type Mode string

// The modes.
const (
	Fast    Mode = "fast"    // the network's own, from one pass
	Refined Mode = "refined" // the network's own, corrected by sampled coalitions
	Exact   Mode = "exact"   // from all coalitions
)

// Scale is what predictions and attributions are measured on.
type Scale string

// The scales.
const (
	Identity Scale = "identity" // the target's own units
	LogMean  Scale = "log-mean" // log of the target's mean
	Log      Scale = "log"      // mean of the target's log
	Logit    Scale = "logit"    // log-odds of the positive class
	Score    Scale = "score"    // score of a class, before softmax
)

// Logs says whether the scale is that of a number's log.
func (s Scale) Logs() bool { return s == LogMean || s == Log }

// Explanation is the attributions of consecutive rows of a table. Arrays are flat,
// the last axis fastest.
type Explanation struct {
	Model string // "sha256:…" of the model's file; empty if it was never saved
	Head  string // of the network
	Mode  Mode
	Exact bool    // Mean is the model's Shapley values, to rounding
	Z     float64 // intervals have as much probability as a normal distribution has within ∓ Z standard deviations
	Top   int     // K of p_top, at least 1

	Outputs []string
	Scale   Scale
	Players []string

	NonNegative bool // no training row had a negative target: where Prediction is below 0, the model predicts 0

	Bags int // networks that the doubt of attributions is told by; 0 if it is not told

	File     string // that the rows are of; empty if there is only one
	FirstRow int    // number of the first row within its file
	Against  string // what all else is the difference from, such as "row 8"; empty if nothing is
	Rows     int

	// [rows, outputs]
	Base          []float64
	Prediction    []float64
	PredictionStd []float64
	RangeStd      []float64 // of a number: Prediction ∓ 1.645 RangeStd holds 90 % of outcomes; nil for classes, and if it is PredictionStd
	HiddenStd     []float64 // the part of PredictionStd that is due to missing cells
	Probability   []float64 // of the class; nil for regression and for contrasts
	Residual      []float64 // Prediction − Base − Σ Mean

	// [rows, outputs, players]
	Mean          []float64
	Std           []float64
	StandardError []float64 // of Mean, for it was sampled; else nil
	ModelStd      []float64 // doubt: how far another sample of rows would have moved Mean; nil if it is not known

	ByBag []float64 // [rows, outputs, players, bags] what each bag attributes; nil if it is not known

	Slope       []float64 // [rows]: κ; the probability is that of Base + κ·(Prediction − Base). 1 for whole rows; nil if it is 1 for all, and without Probability
	Evaluations []int     // [rows]: coalitions that the model was asked for; nil unless the mode is Refined

	Observed []bool          // [rows, players]
	Other    []bool          // [rows, players]: the cell's label is not known from training, and was read as "other"; nil if there is none
	Values   []*table.Column // what the user's table had, one per player; nil for a group

	// [rows, outputs, players, players], symmetric, the diagonal unused
	Interactions     []float64 // Shapley interaction indices; nil if not asked for
	InteractionError []float64 // standard errors of Interactions, if sampled; else nil
}

// Validate reports the first way in which the explanation contradicts itself.
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
	case Identity, LogMean, Log, Logit, Score:
	default:
		return fmt.Errorf("explain: unknown scale %q", e.Scale)
	}
	switch {
	case e.NonNegative && (e.Scale == Logit || e.Scale == Score):
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
		{"PredictionStd", e.PredictionStd, perOutput, false},
		{"RangeStd", e.RangeStd, perOutput, true},
		{"HiddenStd", e.HiddenStd, perOutput, false},
		{"Probability", e.Probability, perOutput, true},
		{"Residual", e.Residual, perOutput, false},
		{"Mean", e.Mean, perPlayer, false},
		{"Std", e.Std, perPlayer, false},
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

// validateCells holds the cells to what the package promises of them.
func (e *Explanation) validateCells() error {
	apart := make([]float64, len(e.Players)) // if doubt is not known
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

// at is the place of (row, output) in arrays [rows, outputs].
func (e *Explanation) at(row, output int) int { return row*len(e.Outputs) + output }

// RangeOf is what the range of a prediction is by, for its place in arrays [rows, outputs]: z of it to either side. Of a number it is
// RangeStd, if that is known, else PredictionStd.
func (e *Explanation) RangeOf(at int) float64 {
	if e.RangeStd != nil {
		return e.RangeStd[at]
	}
	return e.PredictionStd[at]
}

// of cuts (row, output) out of an array [rows, outputs, width].
func (e *Explanation) of(values []float64, row, output, width int) []float64 {
	start := e.at(row, output) * width
	return values[start : start+width]
}

func (e *Explanation) means(row, output int) []float64 {
	return e.of(e.Mean, row, output, len(e.Players))
}

func (e *Explanation) stds(row, output int) []float64 {
	return e.of(e.Std, row, output, len(e.Players))
}

func (e *Explanation) observed(row int) []bool {
	return e.Observed[row*len(e.Players) : (row+1)*len(e.Players)]
}

// other tells whether the label of a cell was read as "other".
func (e *Explanation) other(row, player int) bool {
	at := row*len(e.Players) + player
	return at < len(e.Other) && e.Other[at]
}

// pairAt is the place of a pair in arrays [rows, outputs, players, players].
func (e *Explanation) pairAt(row, output, a, b int) int {
	return (e.at(row, output)*len(e.Players)+a)*len(e.Players) + b
}
