// Package eval measures the quality of predictions and attributions.
//
// Accumulators take rows one at a time, so that tables of any size can be measured in chunks:
//   - [Regression], [Binary] and [Multiclass] compare predictions with targets and return an [Evaluation];
//   - [Calibration] compares probabilities with observed shares, [Intervals] the levels of intervals with their coverage;
//   - [Agreement] and [TopOverlap] compare attributions with exact Shapley values.
//
// [NDCG] compares two rankings. [EstimateMean] and [Discoveries] test which of several means are above 0.
//
// Accumulators use constant memory, except for the areas under curves, which need the order of all rows. These keep
// each distinct probability, up to 100 MB, and round beyond that. Accumulators are not safe for concurrent use.
//
// Rows may have weights of 0 or more: a weight of 2 counts the row twice, a weight of 0 ignores it.
//
// A measure that is not defined for its rows, such as one without rows, is NaN in Go and null in JSON.
package eval

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/psi-shapley/psi/internal/prose"
)

// Metric is a measure with a description in words.
type Metric struct {
	Name          string
	Value         float64 // NaN if not defined for the rows
	Meaning       string
	InTargetUnits bool
}

// Evaluation holds the metrics of a model on labelled rows, in display order.
type Evaluation struct {
	Task    string
	Rows    int
	Metrics []Metric

	// Decisions holds the confusion matrices at the requested thresholds, for two classes.
	Decisions []Decision
}

// MarshalJSON writes the document psi.evaluation/v1: the metrics in order; values that are not finite are null.
func (e Evaluation) MarshalJSON() ([]byte, error) {
	var metrics bytes.Buffer
	for i, m := range e.Metrics {
		name, err := json.Marshal(m.Name)
		if err != nil {
			return nil, err
		}
		value := []byte("null")
		if finite(m.Value) {
			if value, err = json.Marshal(m.Value); err != nil {
				return nil, err
			}
		}
		if i > 0 {
			metrics.WriteByte(',')
		}
		fmt.Fprintf(&metrics, "%s:%s", name, value)
	}
	return json.Marshal(struct {
		Schema    string          `json:"schema"`
		Task      string          `json:"task"`
		Rows      int             `json:"rows"`
		Metrics   json.RawMessage `json:"metrics"`
		Decisions []Decision      `json:"decisions,omitempty"`
	}{"psi.evaluation/v1", e.Task, e.Rows, json.RawMessage("{" + metrics.String() + "}"), e.Decisions})
}

// Text writes the metrics for people, one per line. The name of the target indicates the units.
func (e Evaluation) Text(w io.Writer, target string) error {
	target = prose.Printable(target)
	var text strings.Builder
	what, width := e.Task, 11
	if e.Task != "regression" {
		what += " classification"
	}
	fmt.Fprintf(&text, "%s of %s on %s\n", what, target, prose.Count(e.Rows, "row"))
	for _, m := range e.Metrics {
		width = max(width, len(m.Name))
	}
	for _, m := range e.Metrics {
		meaning := m.Meaning
		if m.InTargetUnits {
			meaning += ", in units of " + target
		}
		fmt.Fprintf(&text, "  %-*s  %10s  %s\n", width, m.Name, number(m.Value), meaning)
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// number writes v with four digits or more, and without an exponent if that is short.
func number(v float64) string {
	const minDigits = 4
	size := math.Abs(v)
	switch {
	case !finite(v):
		return "undefined"
	case size != 0 && (size < 1e-4 || size >= 1e9):
		return strconv.FormatFloat(v, 'e', minDigits-1, 64)
	case size < 1:
		return strconv.FormatFloat(v, 'f', minDigits, 64)
	}
	return strconv.FormatFloat(v, 'f', max(0, minDigits-1-int(math.Log10(size))), 64)
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
