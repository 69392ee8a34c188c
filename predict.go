package psi

import (
	"context"
	"iter"
	"math"
	"slices"

	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/table"
)

// Prediction is what a model expects of consecutive rows.
type Prediction struct {
	FirstRow int // number of the first row within its source

	// Mean of a number, score (log odds) of two classes, or scores of each of more [rows, classes], and its standard
	// deviation. On the scale log the median of a number is in place of its mean. The mean of a number that never was negative in training is at least 0.
	Mean, Std []float64

	// RangeStd is what the ranges of a number are by, nil if it is learned on a scale of logs: Lower and Upper, which lie 1.645 RangeStd from the mean, hold 90 % of the outcomes of rows
	// like the validation rows, whatever the distribution; other levels are scaled as those of a normal distribution. It is Std times what
	// calibration found, for rows with as many gaps at random. A number that never was negative has no negative Lower. All three are nil for classes.
	RangeStd, Lower, Upper []float64

	// Of a number: the scores that base and attributions add up to, what they are in the target's units, and the standard deviations from them; what
	// ranges are by on the scores' scale.
	scores, stds, ranges []float64
	link                 explain.Link

	// Classes are nil for a number. Probability is that of the second of two classes [rows],
	// or that of each of more [rows, classes].
	Classes     []string
	Probability []float64

	// Slope is κ of each row: its probability is that of the score base + κ·(Mean − base), with the deviation κ·Std without what
	// missing cells add. It is 1 for whole rows, and nil for a number and for models without one.
	Slope []float64
}

// Predictions predicts the rows of a source, some at a time, without explaining them.
func (m *Model) Predictions(ctx context.Context, rows Source) iter.Seq2[*Prediction, error] {
	return eachChunk(ctx, m, rows, span{}, nil, func(ctx context.Context, c *chunk) (*Prediction, error) {
		return m.predict(ctx, c.batch, c.first)
	})
}

// Predict predicts all rows of a source.
func (m *Model) Predict(ctx context.Context, rows Source) (*Prediction, error) {
	all := m.NoPrediction()
	for p, err := range m.Predictions(ctx, rows) {
		if err != nil {
			return nil, err
		}
		all.Mean = append(all.Mean, p.Mean...)
		all.Std = append(all.Std, p.Std...)
		all.RangeStd = append(all.RangeStd, p.RangeStd...)
		all.Lower, all.Upper = append(all.Lower, p.Lower...), append(all.Upper, p.Upper...)
		all.scores, all.stds, all.ranges = append(all.scores, p.scores...), append(all.stds, p.stds...), append(all.ranges, p.ranges...)
		all.Probability = append(all.Probability, p.Probability...)
		all.Slope = append(all.Slope, p.Slope...)
	}
	return all, nil
}

// NoPrediction is that of a table without rows, which still has its columns.
func (m *Model) NoPrediction() *Prediction {
	return &Prediction{Classes: m.manifest.Scale.Classes, link: m.link()}
}

func (m *Model) predict(ctx context.Context, b *encode.Batch, first int) (*Prediction, error) {
	x, err := m.own.Pass(ctx, b, form.Spread)
	if err != nil {
		return nil, err
	}
	return m.prediction(x, b, first), nil
}

// prediction puts a pass of rows into the model's units; one of values alone has means alone.
func (m *Model) prediction(x *form.Answer, b *encode.Batch, first int) *Prediction {
	scores := m.scores(x.Value)
	p := &Prediction{FirstRow: first, Classes: m.manifest.Scale.Classes, Mean: m.link().Responses(scores)}
	if x.Variance == nil {
		return p
	}
	p.Slope = m.slopes(b)
	p.Probability = m.probabilities(scores, x, p.Slope)
	p.Std = m.variances(x)
	for i, v := range p.Std {
		p.Std[i] = math.Sqrt(v)
	}
	if !m.classes() {
		p.scores, p.stds, p.ranges, p.link = scores, p.Std, m.rangeStds(scores, p.Std, b), m.link()
		p.setUnits()
	}
	return p
}

// setUnits sets what is in the target's own units: deviations, and the ends of the ranges that hold 90 %.
func (p *Prediction) setUnits() {
	p.Std = p.link.Deviations(p.scores, p.stds)
	if !p.link.Scale.Logs() {
		p.RangeStd = p.ranges
	}
	p.Lower, p.Upper = make([]float64, len(p.scores)), make([]float64, len(p.scores))
	for i, s := range p.scores {
		centre, _ := p.link.Normal(s, p.stds[i])
		reach := rangeNormal * p.ranges[i]
		p.Lower[i], p.Upper[i] = p.link.Response(centre-reach), p.link.Response(centre+reach)
	}
}

// Rows is the number of rows.
func (p *Prediction) Rows() int {
	if len(p.Classes) > 2 {
		return len(p.Mean) / len(p.Classes)
	}
	return len(p.Mean)
}

// Label is the most probable class of a row, as a place in Classes.
func (p *Prediction) Label(row int) int {
	if len(p.Classes) == 2 {
		if p.Probability[row] >= 0.5 {
			return 1
		}
		return 0
	}
	of := p.ofRow(row)
	return slices.Index(of, slices.Max(of))
}

// ofRow are the probabilities of a row's classes, if they are more than two.
func (p *Prediction) ofRow(row int) []float64 {
	c := len(p.Classes)
	return p.Probability[row*c : (row+1)*c]
}

// Table is the prediction as columns row, prediction and, of a number, prediction_std, range_std, range_lower and range_upper; of
// two classes probability, score and score_std; of more, probability_<class> of each.
func (p *Prediction) Table() (*table.Table, error) {
	n := p.Rows()
	row := make([]float64, n)
	for i := range row {
		row[i] = float64(p.FirstRow + i)
	}
	columns := []*table.Column{table.NumberColumn("row", row, nil)}
	number := func(name string, values []float64) { columns = append(columns, table.NumberColumn(name, values, nil)) }
	if p.Classes == nil {
		number("prediction", p.Mean)
		number("prediction_std", p.Std)
		if !p.link.Scale.Logs() {
			number("range_std", p.RangeStd)
		}
		number("range_lower", p.Lower)
		number("range_upper", p.Upper)
		return table.New(columns...)
	}
	labels := make([]string, n)
	for i := range labels {
		labels[i] = p.Classes[p.Label(i)]
	}
	columns = append(columns, table.CategoryColumn("prediction", labels, nil))
	if len(p.Classes) == 2 {
		number("probability", p.Probability)
		number("score", p.Mean)
		number("score_std", p.Std)
		return table.New(columns...)
	}
	for c, class := range p.Classes {
		of := make([]float64, n)
		for i := range of {
			of[i] = p.ofRow(i)[c]
		}
		number("probability_"+class, of)
	}
	return table.New(columns...)
}
