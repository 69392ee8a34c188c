package encode

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/psi-shapley/psi/table"
)

// Target describes the encoding of a target and the initial prediction of a training.
type Target struct {
	Task Task       `json:"task"`
	Kind table.Kind `json:"kind"` // of the column

	Reading *table.Reading `json:"reading,omitempty"` // how the column's text is parsed

	// Regression: φ_0, the weighted mean of the target over the training rows, and its weighted standard deviation.
	Mean float64 `json:"mean,omitempty"`
	Std  float64 `json:"std,omitempty"`

	// Link is the scale on which a regression is learned. On the log scales, Mean and Std are logs: Mean is the log of
	// the target's mean for LogMean, the mean of the logs for Log.
	Link Link `json:"link,omitempty"`

	// NonNegative reports that no row of the table had a negative target, so that predictions are not negative either.
	NonNegative bool `json:"non_negative,omitempty"`

	// Labels of the classes in the order of outputs; of two, the negative one comes first.
	Classes []string `json:"classes,omitempty"`

	// φ_0 of classes, with p_k the weighted share of class k in the training rows. For two classes it is one number,
	// log(p_1/p_0); for more, log p_k less its mean over classes.
	Base []float64 `json:"base,omitempty"`
}

// Outputs returns the number of network outputs for the target.
func (t Target) Outputs() int {
	if t.Task == Multiclass {
		return len(t.Classes)
	}
	return 1
}

// Encode returns the training target of each of the rows, or of all rows if rows is nil: (y − mean)/std for a
// regression, 1 for the positive and 0 for the negative of two classes, or the index of one of several. A missing cell
// is NaN.
func (t Target) Encode(y *table.Column, rows []int) ([]float32, error) {
	if rows == nil {
		rows = make([]int, y.Len())
		for i := range rows {
			rows[i] = i
		}
	}
	of := t.classes(y)
	if t.Task == Regression {
		of = t.standardised(y)
	}
	out := make([]float32, len(rows))
	for i, row := range rows {
		out[i] = float32(math.NaN())
		if !y.Observed[row] {
			continue
		}
		var err error
		if out[i], err = of(row); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Decode is the inverse of Encode for one value of a regression.
func (t Target) Decode(v float32) float64 { return t.Link.inverse(t.Mean + t.Std*float64(v)) }

// Recode converts a value encoded by another regression of the same target.
func (t Target) Recode(v float32, from Target) float32 { return t.encoded(from.Decode(v)) }

// encoded returns a standardised number on the scale of learning.
func (t Target) encoded(y float64) float32 {
	return float32(max(-Farthest, min(Farthest, (t.Link.of(y)-t.Mean)/t.Std)))
}

// LogStd returns the standard deviation of the log on the scale LogMean; else 0.
func (t Target) LogStd() float64 {
	if t.Link == LogMean {
		return t.Std
	}
	return 0
}

func (t Target) standardised(y *table.Column) func(row int) (float32, error) {
	return func(row int) (float32, error) {
		if y.Kind == table.Category {
			return 0, &table.Error{
				Row: row, Column: y.Name,
				Message: fmt.Sprintf("%q is text, but the model predicts numbers", shortened(y.Text(row))), Remedy: "write a number, or leave the cell empty",
			}
		}
		v := y.Numbers[row]
		if !finite(v) {
			return 0, notFinite(y, row)
		}
		return t.encoded(v), nil
	}
}

// classes returns a function that finds the class of each cell. It parses the text of each label once.
func (t Target) classes(y *table.Column) func(row int) (float32, error) {
	byCode := make([]float32, len(y.Levels)) // index of the class, plus one
	byNumber := map[float64]float32{}
	return func(row int) (float32, error) {
		if y.Kind == table.Category {
			if known := byCode[y.Codes[row]]; known > 0 {
				return known - 1, nil
			}
		} else if known := byNumber[y.Numbers[row]]; known > 0 {
			return known - 1, nil
		}
		label := y.Text(row)
		class, ok := t.classOf(label)
		if !ok {
			return 0, &table.Error{
				Row: row, Column: y.Name,
				Message: fmt.Sprintf("%q is not among the classes of the model, %s", shortened(label), quoted(t.Classes, "and")),
				Remedy:  "correct the label, leave the cell empty, or train with rows of this class too",
			}
		}
		if y.Kind == table.Category {
			byCode[y.Codes[row]] = float32(class) + 1
		} else {
			byNumber[y.Numbers[row]] = float32(class) + 1
		}
		return float32(class), nil
	}
}

// classOf returns the index of the class with a label. A number may have other digits, and a boolean other words, than
// in the training rows.
func (t Target) classOf(label string) (int, bool) {
	if k := slices.Index(t.Classes, label); k >= 0 {
		return k, true
	}
	same := func(string) bool { return false }
	switch t.Kind {
	case table.Number:
		if v, err := strconv.ParseFloat(label, 64); err == nil {
			same = func(class string) bool {
				w, err := strconv.ParseFloat(class, 64)
				return err == nil && w == v
			}
		}
	case table.Boolean:
		if v, ok := table.Truth(label); ok {
			same = func(class string) bool {
				w, ok := table.Truth(class)
				return ok && w == v
			}
		}
	}
	k := slices.IndexFunc(t.Classes, same)
	return k, k >= 0
}
