package eval

import "math"

// Half-widths, in standard deviations, of the central intervals of a normal that
// hold half and nine tenths of it: Φ⁻¹(3/4) and Φ⁻¹(19/20).
const (
	half50 = 0.6744897501960817
	half90 = 1.6448536269514722
)

// Regression compares predictions N(μ, σ²) with the numbers y that they predict.
// The zero value is ready to use.
type Regression struct {
	rows     int
	weight   float64 // Σ w
	squared  float64 // Σ w(y − μ)²
	absolute float64 // Σ w|y − μ|
	nll      float64 // Σ −w log N(y; μ, σ²)
	inside50 float64 // weight of the rows within the interval
	inside90 float64
	target   moments
}

// Add takes one row: the truth, the predicted mean and its standard deviation, and
// the row's weight, 1 if all rows count alike.
func (r *Regression) Add(y, prediction, std, weight float64) {
	r.AddScored(y, prediction, Scored{Miss: y - prediction, Std: std, RangeStd: std}, weight)
}

// Scored is how far the truth lies from the centre of a normal distribution that a prediction comes from, on the scale of that distribution.
type Scored struct {
	Miss, Std float64
	RangeStd  float64 // that ranges are as wide as
	LogSlope  float64 // log of the scale's slope at the truth: 0 if it is that of the truth
}

// AddScored is Add of a prediction that is not the mean of N(μ, σ²), or has ranges of its own.
func (r *Regression) AddScored(y, prediction float64, s Scored, weight float64) {
	if weight == 0 {
		return
	}
	r.rows++
	r.weight += weight
	miss := y - prediction
	r.squared += weight * miss * miss
	r.absolute += weight * math.Abs(miss)
	z := s.Miss / s.Std
	r.nll += weight * (z*z/2 + math.Log(s.Std) + math.Log(2*math.Pi)/2 - s.LogSlope)
	if math.Abs(s.Miss) <= half50*s.RangeStd {
		r.inside50 += weight
	}
	if math.Abs(s.Miss) <= half90*s.RangeStd {
		r.inside90 += weight
	}
	r.target.add(y, y, weight)
}

// RMSE is the root-mean-square error √(Σ w(y − μ)² / Σ w).
func (r *Regression) RMSE() float64 { return math.Sqrt(r.squared / r.weight) }

// MAE is the mean absolute error Σ w|y − μ| / Σ w.
func (r *Regression) MAE() float64 { return r.absolute / r.weight }

// R2 is the share of the target's variance that is explained,
// 1 − Σ w(y − μ)² / Σ w(y − ȳ)². It is NaN for a constant target.
func (r *Regression) R2() float64 {
	if r.target.xx == 0 {
		return math.NaN()
	}
	return 1 - r.squared/r.target.xx
}

// NLL is the mean of −log N(y; μ, σ²), in nats.
func (r *Regression) NLL() float64 { return r.nll / r.weight }

// Coverage50 is the share of rows whose y lies in the central half of N(μ, σ²), or of what AddScored was told.
func (r *Regression) Coverage50() float64 { return r.inside50 / r.weight }

// Coverage90 is the share of rows whose y lies in the central 90 % of N(μ, σ²), or of what AddScored was told.
func (r *Regression) Coverage90() float64 { return r.inside90 / r.weight }

// Evaluation sums up the rows so far.
func (r *Regression) Evaluation() Evaluation {
	return Evaluation{
		Task: "regression",
		Rows: r.rows,
		Metrics: []Metric{
			{"rmse", r.RMSE(), "typical error (root mean square)", true},
			{"mae", r.MAE(), "mean absolute error", true},
			{"r2", r.R2(), "share of variance explained; 1 is best, 0 is the mean", false},
			{"nll", r.NLL(), "surprise at the truth, in nats; lower is better", false},
			{"coverage_50", r.Coverage50(), "share of the truth inside 50% intervals; 0.5 is right", false},
			{"coverage_90", r.Coverage90(), "share of the truth inside 90% intervals; 0.9 is right", false},
		},
	}
}
