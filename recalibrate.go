package psi

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/internal/dataset"
	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/train"
	"github.com/psi-shapley/psi/table"
)

// Recalibration records a change of a model's base and scale: score(S) = φ_0' + a·v(S) for every coalition S of known
// cells. Attributions are multiplied by a and still add up to the prediction.
type Recalibration struct {
	Rows   int       `json:"rows"`   // number of rows it was fitted on
	Data   string    `json:"data"`   // digest of all cells read
	Factor float64   `json:"factor"` // a, the factor of attributions and their standard deviations
	Shift  []float64 `json:"shift"`  // φ_0' − φ_0 of each output

	// Before holds the errors of the rows under the previous model. After holds out-of-fold errors: for each fifth of
	// the rows, those of a model recalibrated on the other rows.
	Before map[string]float64 `json:"before"`
	After  map[string]float64 `json:"after"`
}

// minRecalibrationRows is the minimum number of rows with a target that Recalibrate needs.
const minRecalibrationRows = 30

const (
	recalibrationFolds  = 5
	recalibrationStream = 0x4E3
	ownRows             = 10 // weight, in rows, of the model's own class probabilities, so that absent classes keep a probability
)

// Recalibrate returns a model with the same weights, whose base and scale fit rows with known targets. Use it for rows
// of another year, or of a region with another base rate.
//
// For classes, the mean probability of each class becomes its share of the rows, and the scale minimises the log loss.
// For a number, both minimise the squared error, or the gamma deviance on the scale log-mean. The prior of log a is
// N(0, ½²). The intervals of a number are fitted on the same rows. Manifest.Recalibrations records the change; the
// metrics stay those of the training.
//
// Recalibrate uses at most 10,000 rows, drawn with a fixed seed. It weights them if they have the model's weight
// column. It does not change the model m; both models must be closed.
func (m *Model) Recalibrate(ctx context.Context, rows Source) (*Model, error) {
	if rows.Schema().Field(m.manifest.Target) == nil {
		return nil, m.lacksTarget()
	}
	if m.scale() == explain.Share {
		return nil, &Error{Row: -1, Message: "the trees predict probabilities, and recalibrating changes scores", Remedy: "train a model with a logistic or softmax objective"}
	}
	digest := &dataset.Digest{}
	s, err := m.sample(ctx, digested{rows, digest}, scaleRows, func(y, weight float64) bool { return !math.IsNaN(y) && weight > 0 })
	if err != nil {
		return nil, err
	}
	if n := len(s.y); n < minRecalibrationRows {
		return nil, &table.Error{
			Row: -1, Column: m.manifest.Target, Message: fmt.Sprintf("%d rows have an outcome, and recalibrating needs %d", n, minRecalibrationRows),
			Remedy: "give more rows whose outcome is known",
		}
	}
	if least := slices.Min(s.y); m.scale().Logs() && least <= 0 {
		return nil, &table.Error{
			Row: -1, Column: m.manifest.Target, Message: fmt.Sprintf("an outcome is %g, and the model learned the log of outcomes", least),
			Remedy: "leave out rows whose outcome is not above 0",
		}
	}
	normaliseWeights(s.weight)
	x, err := m.own.Pass(ctx, s.rows, form.Spread)
	if err != nil {
		return nil, err
	}
	x.Std = nil // the largest part, which is not needed here
	fresh := m.copyForRecalibration()
	fit := &refit{s: s, x: x, slopes: m.slopes(s.rows)}
	record := Recalibration{Rows: len(s.y), Data: digest.String()}
	record.Before, record.After = fit.outOfFold(m)
	fit.set(fresh, s.weight)
	record.Factor = fresh.unit() / m.unit()
	for c, base := range fresh.bases() {
		record.Shift = append(record.Shift, base-m.bases()[c])
	}
	fresh.manifest.Recalibrations = append(slices.Clone(m.manifest.Recalibrations), record)
	fresh.audit = m.audit.scaled(record.Factor, m.classes())
	if err := fresh.prepare(m.Backend()); err != nil {
		return nil, err
	}
	if !m.classes() {
		if err := fresh.refitRanges(ctx, s); err != nil {
			fresh.Close()
			return nil, err
		}
	}
	return fresh, nil
}

// normaliseWeights scales weights to the mean 1, so that the priors do not depend on the unit of the weights.
func normaliseWeights(weight []float64) {
	sum := 0.0
	for _, w := range weight {
		sum += w
	}
	for i := range weight {
		weight[i] *= float64(len(weight)) / sum
	}
}

// digested computes the digest of what is read from a source.
type digested struct {
	Source
	digest *dataset.Digest
}

func (d digested) Next(ctx context.Context) (*table.Table, error) {
	t, err := d.Source.Next(ctx)
	if err == nil {
		d.digest.Add(t)
	}
	return t, err
}

// copyForRecalibration returns a copy of the model whose base and calibration can be changed; it shares the evaluators. It
// converts an older model's temperature, and a σ_0² that set its intervals, to the current form.
func (m *Model) copyForRecalibration() *Model {
	fresh := &Model{
		manifest: m.manifest, config: m.config, members: m.members, ensemble: m.ensemble, mixed: m.mixed, bags: m.bags, audit: m.audit, history: m.history, reference: m.reference,
		places: m.places, evaluators: m.evaluators, own: m.own,
	}
	c := &fresh.manifest.Calibration
	if m.classes() {
		fresh.manifest.Scale.Base = m.bases()
		c.Scale, c.Temperature = m.unit(), 0
	} else {
		c.Noise = m.own.NoiseVariance()[0]
		fresh.manifest.Scale.Mean, c.Level = m.bases()[0], 0
	}
	return fresh
}

// refit fits base and scale to rows that were evaluated once.
type refit struct {
	s      *sampled
	x      *form.Answer
	slopes []float64 // κ of the rows; nil if it is 1 for all rows
}

// outOfFold returns the metrics of the previous model, and those of models refitted on other rows.
func (f *refit) outOfFold(m *Model) (before, after map[string]float64) {
	folds := rand.New(rand.NewPCG(1, recalibrationStream)).Perm(len(f.s.y))
	old, out := m.NewEvaluator(), m.NewEvaluator()
	f.evaluate(m, old, func(int) bool { return true })
	for k := range recalibrationFolds {
		inFold := func(i int) bool { return folds[i]%recalibrationFolds == k }
		weight := slices.Clone(f.s.weight)
		for i := range weight {
			if inFold(i) {
				weight[i] = 0
			}
		}
		fold := m.copyForRecalibration()
		f.set(fold, weight)
		f.evaluate(fold, out, inFold)
	}
	return m.errorsOf(old), m.errorsOf(out)
}

// evaluate adds the predictions of the wanted rows to an evaluator.
func (f *refit) evaluate(m *Model, to *Evaluator, wanted func(row int) bool) {
	p := m.prediction(f.x, f.s.rows, 0)
	for i, y := range f.s.y {
		if wanted(i) {
			to.add(p, i, y, f.s.weight[i])
		}
	}
}

// errorsOf returns the metrics that base and scale change; those of the uncertainty of a number are left out.
func (m *Model) errorsOf(e *Evaluator) map[string]float64 {
	all := finiteMetrics(e.evaluation())
	for _, spread := range spreadMetrics() {
		delete(all, spread)
	}
	return all
}

// set fits base and scale of a model to weighted rows.
func (f *refit) set(m *Model, weight []float64) {
	if m.classes() {
		f.setClasses(m, weight)
	} else {
		f.setNumber(m, weight)
	}
}

// setNumber fits base and scale on the scale of learning: by gamma deviance on log-mean, else by least squares.
func (f *refit) setNumber(m *Model, weight []float64) {
	scale := &m.manifest.Scale
	y, v, least := f.s.y, make([]float64, len(f.s.y)), leastSquares
	for i, value := range f.x.Value {
		v[i] = scale.Std * float64(value)
	}
	switch scale.Link {
	case encode.LogMean:
		least = leastDeviance
	case encode.Log:
		y = scale.Link.OfAll(y)
	}
	base, a := least(y, v, weight)
	scale.Mean, scale.Std = base, a*scale.Std
	scale.NonNegative = scale.NonNegative && slices.Min(f.s.y) >= 0
}

// leastSquares minimises n/2 log Σ w (y − base − a·v)² + (log a)²/(2·½²). The best base for a given a is known in
// closed form, so only a is searched.
func leastSquares(y, v, weight []float64) (base, a float64) {
	n, meanY, meanV := counting(weight), weighted(y, weight), weighted(v, weight)
	var yy, yv, vv float64
	for i, w := range weight {
		y, v := y[i]-meanY, v[i]-meanV
		yy, yv, vv = yy+w*y*y, yv+w*y*v, vv+w*v*v
	}
	a = math.Exp(minimise(func(logA float64) float64 {
		a := math.Exp(logA)
		return n/2*math.Log(max(yy-2*a*yv+a*a*vv, math.SmallestNonzeroFloat64)) + square(logA/scaleDoubt)/2
	}))
	return meanY - a*meanV, a
}

// leastDeviance minimises Σ w (s + y·exp(−s)) + (log a)²/(2·½²), where s = base + a·v is the log of the mean. It is the
// deviance of an exponential distribution, as the shape of the gamma distribution is not known. For a given a,
// exp(base) = Σ w y·exp(−a·v) / Σ w.
func leastDeviance(y, v, weight []float64) (base, a float64) {
	n, meanV, rest := counting(weight), weighted(v, weight), make([]float64, len(y))
	baseOf := func(a float64) float64 {
		for i := range y {
			rest[i] = y[i] * math.Exp(-a*(v[i]-meanV))
		}
		return math.Log(weighted(rest, weight)) - a*meanV
	}
	a = math.Exp(minimise(func(logA float64) float64 {
		a := math.Exp(logA)
		return n*(baseOf(a)+a*meanV) + square(logA/scaleDoubt)/2
	}))
	return baseOf(a), a
}

// counting returns the number of rows with a positive weight.
func counting(weight []float64) (n float64) {
	for _, w := range weight {
		if w > 0 {
			n++
		}
	}
	return n
}

// weighted returns a weighted mean.
func weighted(x, weight []float64) float64 {
	sum, all := 0.0, 0.0
	for i, w := range weight {
		sum, all = sum+w*x[i], all+w
	}
	return sum / all
}

// setClasses alternates between the bases that match each class's mean probability with its share of the rows, and the
// scale that minimises the log loss.
func (f *refit) setClasses(m *Model, weight []float64) {
	const rounds, enough = 100, 1e-6
	scale := &m.manifest.Calibration.Scale
	started, shares := *scale, []float64(nil)
	loss := func(logA float64) float64 {
		*scale = started * math.Exp(logA)
		p := m.probabilities(m.scores(f.x.Value), f.x, f.slopes)
		sum := square(logA/scaleDoubt) / 2
		for i, w := range weight {
			if w > 0 {
				sum -= w * math.Log(max(m.probabilityOf(p, i, float32(f.s.y[i])), 1e-15))
			}
		}
		return sum
	}
	logA := 0.0
	for range rounds {
		p := m.probabilities(m.scores(f.x.Value), f.x, f.slopes)
		if shares == nil {
			shares = f.shares(m, p, weight)
		}
		moved := f.moveBases(m, p, weight, shares)
		const h = 1e-3
		west, here, east := loss(logA-h), loss(logA), loss(logA+h)
		step := (west - east) * h / 2 / max(west-2*here+east, h*h)
		step = max(-0.5, min(0.5, step))
		logA += step
		*scale = started * math.Exp(logA)
		if max(moved, math.Abs(step)) < enough {
			return
		}
	}
}

// shares returns the shares of the classes among the rows. The model's own probabilities count as a few rows.
func (f *refit) shares(m *Model, p, weight []float64) []float64 {
	share, _ := f.meanProbabilities(m, p, weight)
	sum := float64(ownRows)
	for c := range share {
		share[c] *= ownRows
	}
	for i, w := range weight {
		sum += w
		switch c := int(f.s.y[i]); {
		case m.manifest.Task == Multiclass:
			share[c] += w
		case c == 1:
			share[0] += w
		}
	}
	for c := range share {
		share[c] /= sum
	}
	return share
}

// meanProbabilities returns the means of p and of p(1 − p) of each output.
func (f *refit) meanProbabilities(m *Model, p, weight []float64) (mean, variance []float64) {
	outputs, sum := m.outputs(), 0.0
	mean, variance = make([]float64, outputs), make([]float64, outputs)
	for i, w := range weight {
		sum += w
		for c, q := range p[i*outputs : (i+1)*outputs] {
			mean[c] += w * q
			variance[c] += w * q * (1 - q)
		}
	}
	for c := range mean {
		mean[c], variance[c] = mean[c]/sum, variance[c]/sum
	}
	return mean, variance
}

// moveBases moves the bases towards those whose mean probabilities are the shares, and returns the largest step. For
// two classes it is Newton's step. For more it is half of each class's own Newton step, which the bound 2·diag(H) ⪰ H
// of the softmax makes safe.
func (f *refit) moveBases(m *Model, p, weight, shares []float64) (largest float64) {
	mean, variance := f.meanProbabilities(m, p, weight)
	base, centre, part := m.manifest.Scale.Base, 0.0, 1.0
	if m.manifest.Task == Multiclass {
		part = 0.5
	}
	for c := range base {
		step := part * (shares[c] - mean[c]) / max(variance[c], 1e-12)
		step = max(-1, min(1, step))
		largest = max(largest, math.Abs(step))
		base[c] += step
		centre += base[c] / float64(len(base))
	}
	if m.manifest.Task == Multiclass {
		for c := range base {
			base[c] -= centre
		}
	}
	return largest
}

// minimise minimises a function of log a: it takes the best point of a grid, then searches by golden sections around it.
func minimise(f func(logA float64) float64) float64 {
	const far, pace, ratio, enough = 3.0, 0.05, 0.6180339887498949, 1e-9
	best := 0.0
	for at := -far; at <= far; at += pace {
		if f(at) < f(best) {
			best = at
		}
	}
	low, high := best-pace, best+pace
	for high-low > enough {
		left, right := high-ratio*(high-low), low+ratio*(high-low)
		if f(left) < f(right) {
			high = right
		} else {
			low = left
		}
	}
	return (low + high) / 2
}

// refitRanges fits the intervals of a number on the rows that set its base and scale.
func (m *Model) refitRanges(ctx context.Context, s *sampled) (err error) {
	d := train.Data{Rows: s.rows}
	for i, y := range m.manifest.Scale.Link.OfAll(s.y) {
		d.Target, d.Weight = append(d.Target, float32((y-m.manifest.Scale.Mean)/m.manifest.Scale.Std)), append(d.Weight, float32(s.weight[i]))
	}
	c := &m.manifest.Calibration
	if !m.hasSpread() {
		if c.Noise, err = m.residualVariance(ctx, d); err != nil {
			return err
		}
	}
	c.Ranges, err = m.fitRanges(ctx, d)
	c.RangeRows = 0 // the same rows set base and scale
	return err
}

// scaled returns the audit of a model whose attributions were multiplied by factor. Errors keep the values of the
// training.
func (a *Audit) scaled(factor float64, classes bool) *Audit {
	if a == nil {
		return nil
	}
	b := *a
	b.Outputs = slices.Clone(a.Outputs)
	for i := range b.Outputs {
		b.Outputs[i].Importance = slices.Clone(a.Outputs[i].Importance)
		for k := range b.Outputs[i].Importance {
			b.Outputs[i].Importance[k] *= factor
		}
	}
	if !classes {
		return &b // the rest is in standard deviations of the target
	}
	times := func(x *float64) *float64 {
		if x == nil {
			return nil
		}
		y := factor * *x
		return &y
	}
	b.EfficiencyMax, b.MeanAttributionMax = times(a.EfficiencyMax), times(a.MeanAttributionMax)
	b.Players = slices.Clone(a.Players)
	for k := range b.Players {
		b.Players[k].MeanAttribution *= factor
	}
	return &b
}
