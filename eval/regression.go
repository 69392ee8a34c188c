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
	squared  float64 // Σ (y − μ)²
	absolute float64 // Σ |y − μ|
	nll      float64 // Σ −log N(y; μ, σ²)
	inside50 int     // rows within the interval
	inside90 int
	target   moments
}

// Add takes one row: the truth, the predicted mean and its standard deviation.
func (r *Regression) Add(y, prediction, std float64) {
	r.rows++
	miss := y - prediction
	r.squared += miss * miss
	r.absolute += math.Abs(miss)
	z := miss / std
	r.nll += z*z/2 + math.Log(std) + math.Log(2*math.Pi)/2
	if math.Abs(miss) <= half50*std {
		r.inside50++
	}
	if math.Abs(miss) <= half90*std {
		r.inside90++
	}
	r.target.add(y, y)
}

// RMSE is the root-mean-square error √(Σ (y − μ)² / n).
func (r *Regression) RMSE() float64 { return math.Sqrt(r.squared / float64(r.rows)) }

// MAE is the mean absolute error Σ |y − μ| / n.
func (r *Regression) MAE() float64 { return r.absolute / float64(r.rows) }

// R2 is the share of the target's variance that is explained,
// 1 − Σ (y − μ)² / Σ (y − ȳ)². It is NaN for a constant target.
func (r *Regression) R2() float64 {
	if r.target.xx == 0 {
		return math.NaN()
	}
	return 1 - r.squared/r.target.xx
}

// NLL is the mean of −log N(y; μ, σ²), in nats.
func (r *Regression) NLL() float64 { return r.nll / float64(r.rows) }

// Coverage50 is the share of rows whose y lies in the central half of N(μ, σ²).
func (r *Regression) Coverage50() float64 { return float64(r.inside50) / float64(r.rows) }

// Coverage90 is the share of rows whose y lies in the central 90 % of N(μ, σ²).
func (r *Regression) Coverage90() float64 { return float64(r.inside90) / float64(r.rows) }

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
