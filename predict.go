package psi

import (
	"context"
	"iter"
	"math"
	"slices"

	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/link"
	"github.com/psi-shapley/psi/table"
)

// Prediction holds the predictions of consecutive rows.
type Prediction struct {
	FirstRow int // number of the first row within its source, from 0

	// Mean and Std are the mean and the standard deviation of each row [rows]. Std, RangeStd, Lower and Upper are nil if
	// the model does not know them, as imported trees without rows. For two classes they describe the score
	// (log odds) of the positive class, for more classes the score of each class [rows, classes]. On the scale log,
	// Mean holds the median of a number. If the target was never negative in training, Mean is at least 0.
	Mean, Std []float64

	// Lower and Upper are the ends of the calibrated 90 % interval of a number, Mean ∓ 1.645 RangeStd unless the scale
	// is a log. For rows like the validation rows they contain 90 % of the targets, whatever their distribution. Other
	// levels scale RangeStd as for a normal distribution.
	//
	// RangeStd is Std times the factor that calibration found for rows with as many missing cells at random. It is nil
	// on a log scale. If the target was never negative in training, Lower is at least 0. All three are nil for classes.
	RangeStd, Lower, Upper []float64

	// For a number: the scores that base and attributions add up to, their standard deviations, and RangeStd, all on
	// the scale of the scores.
	scores, stds, ranges []float64
	link                 explain.Link
	noStd                bool // the model knows no standard deviations

	// Classes is nil for a number. Probability is the probability of the second of two classes [rows], or of each of
	// more classes [rows, classes].
	Classes     []string
	Probability []float64

	// Slope is κ of each row. A probability is computed from the score base + κ·(Mean − base), with the standard
	// deviation κ·Std without the part that missing cells add. It is 1 for complete rows, and nil for a number and for
	// models without it.
	Slope []float64
}

// Predictions yields predictions of the rows of a source in chunks, in order, without attributions. It stops at the
// first error, which it yields, and does not close the source.
func (m *Model) Predictions(ctx context.Context, rows Source) iter.Seq2[*Prediction, error] {
	return eachChunk(ctx, m, rows, span{}, nil, func(ctx context.Context, c *chunk) (*Prediction, error) {
		return m.predict(ctx, c.batch, c.first)
	})
}

// Predict returns the predictions of all rows of a source. Use Predictions for large sources.
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

// NoPrediction returns the prediction of a table without rows. Its Table has all columns.
func (m *Model) NoPrediction() *Prediction {
	return &Prediction{Classes: m.manifest.Scale.Classes, link: m.link(), noStd: !m.hasNoise()}
}

func (m *Model) predict(ctx context.Context, b *encode.Batch, first int) (*Prediction, error) {
	x, err := m.own.Pass(ctx, b, form.Spread)
	if err != nil {
		return nil, err
	}
	return m.prediction(x, b, first), nil
}

// prediction converts a pass to the model's units. A pass at depth Values has only means.
func (m *Model) prediction(x *form.Answer, b *encode.Batch, first int) *Prediction {
	scores := m.scores(x.Value)
	p := &Prediction{FirstRow: first, Classes: m.manifest.Scale.Classes, Mean: m.link().Responses(scores), noStd: !m.hasNoise()}
	if x.Variance == nil {
		return p
	}
	p.Slope = m.slopes(b)
	p.Probability = m.probabilities(scores, x, p.Slope)
	if p.scores, p.link = scores, m.link(); p.noStd {
		return p
	}
	p.Std = m.variances(x)
	for i, v := range p.Std {
		p.Std[i] = math.Sqrt(v)
	}
	if !m.classes() {
		p.stds, p.ranges = p.Std, m.rangeStds(scores, p.Std, b)
		p.setUnits()
	}
	return p
}

// setUnits sets the fields in the target's own units: standard deviations and the ends of the 90 % intervals.
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

// Rows returns the number of rows.
func (p *Prediction) Rows() int {
	if len(p.Classes) > 2 {
		return len(p.Mean) / len(p.Classes)
	}
	return len(p.Mean)
}

// Label returns the most probable class of a row as an index into Classes.
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

// ofRow returns the probabilities of a row with more than two classes.
func (p *Prediction) ofRow(row int) []float64 {
	c := len(p.Classes)
	return p.Probability[row*c : (row+1)*c]
}

// Table returns the predictions as a table with the columns row and prediction. A number also has prediction_std,
// range_std, range_lower and range_upper. Two classes have probability, score and score_std. More classes have
// probability_<class> each. Standard deviations and ranges are left out if the model does not know them.
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
		if !p.noStd {
			number("prediction_std", p.Std)
			if !p.link.Scale.Logs() {
				number("range_std", p.RangeStd)
			}
			number("range_lower", p.Lower)
			number("range_upper", p.Upper)
		}
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
		if !p.noStd {
			number("score_std", p.Std)
		}
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

// A network's outputs are in its own units: standard deviations of a numeric target, or scores of classes before
// calibration.

// unit returns the factor from the network's units to the model's.
func (m *Model) unit() float64 {
	if m.classes() {
		return m.manifest.Calibration.ofGame()
	}
	return m.manifest.Scale.Std
}

// bases returns φ_0 of each output, in the model's units.
func (m *Model) bases() []float64 {
	if !m.classes() {
		return []float64{m.manifest.Scale.Mean + m.manifest.Calibration.Level}
	}
	base := make([]float64, m.outputs())
	for c, v := range m.manifest.Scale.Base {
		base[c] = v * m.manifest.Calibration.ofBase()
	}
	return base
}

func (m *Model) classes() bool { return m.manifest.Task != Regression }

func (m *Model) outputs() int { return m.config.Outputs }

// outputNames returns the target, the positive class, or all classes.
func (m *Model) outputNames() []string {
	switch m.manifest.Task {
	case Binary:
		return m.manifest.Scale.Classes[1:]
	case Multiclass:
		return m.manifest.Scale.Classes
	}
	return []string{m.manifest.Target}
}

// scores returns base plus attributions [rows, C], in the model's units.
func (m *Model) scores(values []float32) []float64 {
	base, unit := m.bases(), m.unit()
	scores := make([]float64, len(values))
	for i, v := range values {
		scores[i] = base[i%len(base)] + unit*float64(v)
	}
	return scores
}

// link returns the link from scores to predictions. All predictions of numbers use it.
func (m *Model) link() explain.Link {
	return explain.Link{Scale: m.scale(), NonNegative: m.manifest.Scale.NonNegative}
}

// variances returns the variances of the scores [rows, C] in the model's units. For a number, σ_0² is calibrated.
func (m *Model) variances(x *form.Answer) []float64 {
	unit := m.unit()
	recalibrated := 0.0
	if !m.classes() {
		recalibrated = m.manifest.Calibration.Noise - m.own.NoiseVariance()[0]
	}
	variances := make([]float64, len(x.Variance))
	for i, v := range x.Variance {
		variances[i] = unit * unit * max(0, v+recalibrated)
	}
	return variances
}

// slopes returns κ of the rows; nil if it is 1 for all rows.
func (m *Model) slopes(b *encode.Batch) []float64 {
	return m.manifest.Calibration.slopes(observedShares(b))
}

// doubts returns the variances of scores [rows, C] over which probabilities are means. Missing cells are already
// marginalised in the scores, so h² is left out. For more than two classes, so is the variance of the members' values:
// link.SoftmaxNormal shrinks all scores by the mean over classes, and with it predictions were worse (ADR 22).
func (m *Model) doubts(x *form.Answer) []float64 {
	doubts, unit := make([]float64, len(x.Variance)), m.unit()
	for i, v := range x.Variance {
		v -= float64(x.HiddenVariance[i])
		if m.manifest.Task == Multiclass && x.Disagreement != nil {
			v -= float64(x.Disagreement[i])
		}
		doubts[i] = unit * unit * max(0, v)
	}
	return doubts
}

// probabilities returns the probabilities of classes from scores [rows, C]: of the positive class [rows], or of all
// classes [rows, C]. It returns nil for a number. slopes is κ [rows], or nil.
func (m *Model) probabilities(scores []float64, x *form.Answer, slopes []float64) []float64 {
	if !m.classes() {
		return nil
	}
	variances := m.doubts(x)
	if slopes != nil {
		scores = slices.Clone(scores)
		base := m.bases()
		for i := range scores {
			kappa, phi0 := slopes[i/len(base)], base[i%len(base)]
			scores[i] = phi0 + kappa*(scores[i]-phi0)
			variances[i] *= kappa * kappa
		}
	}
	p := make([]float64, len(scores))
	if m.scale() == explain.Share {
		for i, s := range scores {
			p[i] = max(0, min(1, s))
		}
		return p
	}
	if m.manifest.Task == Binary {
		for i, s := range scores {
			p[i] = link.LogisticNormal(s, math.Sqrt(variances[i]))
		}
		return p
	}
	c := m.outputs()
	for i := 0; i < len(scores); i += c {
		link.SoftmaxNormal(scores[i:i+c], variances[i:i+c], p[i:i+c])
	}
	return p
}
