package eval

import "math"

// Half-widths, in standard deviations, of the central intervals of a normal distribution with coverage 50 % and 90 %:
// Φ⁻¹(3/4) and Φ⁻¹(19/20).
const (
	half50 = 0.6744897501960817
	half90 = 1.6448536269514722
)

// Regression compares predictions N(μ, σ²) with numeric targets y. The zero value is ready to use. It is not safe for
// concurrent use.
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

// Add adds a row: the target, the predicted mean and standard deviation, and the row's weight, 1 for unweighted rows.
func (r *Regression) Add(y, prediction, std, weight float64) {
	r.AddScored(y, prediction, Scored{Miss: y - prediction, Std: std, RangeStd: std}, weight)
}

// Scored is the residual of a target on the scale on which the prediction is normally distributed.
type Scored struct {
	Miss, Std float64
	RangeStd  float64 // standard deviation that sets the intervals
	LogSlope  float64 // log of the slope of the scale at the target; 0 on the target's own scale
}

// AddScored is Add for a prediction that is not the mean of N(μ, σ²), or whose intervals have another width.
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

// RMSE returns the root-mean-square error √(Σ w(y − μ)² / Σ w).
func (r *Regression) RMSE() float64 { return math.Sqrt(r.squared / r.weight) }

// MAE returns the mean absolute error Σ w|y − μ| / Σ w.
func (r *Regression) MAE() float64 { return r.absolute / r.weight }

// R2 returns the explained share of the target's variance, 1 − Σ w(y − μ)² / Σ w(y − ȳ)². It is NaN for a constant
// target.
func (r *Regression) R2() float64 {
	if r.target.xx == 0 {
		return math.NaN()
	}
	return 1 - r.squared/r.target.xx
}

// NLL returns the mean of −log N(y; μ, σ²), in nats.
func (r *Regression) NLL() float64 { return r.nll / r.weight }

// Coverage50 returns the share of rows whose y lies in the central 50 % interval of N(μ, σ²), or of the distribution
// given to AddScored.
func (r *Regression) Coverage50() float64 { return r.inside50 / r.weight }

// Coverage90 returns the share of rows whose y lies in the central 90 % interval of N(μ, σ²), or of the distribution
// given to AddScored.
func (r *Regression) Coverage90() float64 { return r.inside90 / r.weight }

// Evaluation returns the metrics of the rows added so far.
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

// Intervals measures the coverage of the central intervals of N(μ, σ²) at several levels: the interval of level L is μ
// ∓ σ·√2·erf⁻¹(L). The zero value is ready to use. It is not safe for concurrent use.
type Intervals struct {
	rows   int
	weight float64
	inside [len(levels)]float64
}

// levels lists the levels at which coverage is measured.
var levels = [...]float64{.1, .2, .3, .4, .5, .6, .7, .8, .9, .95, .99}

// Interval is a level and the share of rows whose target lies inside.
type Interval struct {
	Level, Share float64
	Rows         int
}

// Add adds a row: the target, the predicted mean and standard deviation, and the row's weight.
func (v *Intervals) Add(y, prediction, std, weight float64) {
	if weight == 0 {
		return
	}
	v.rows++
	v.weight += weight
	for i, level := range levels {
		if math.Abs(y-prediction) <= std*math.Sqrt2*math.Erfinv(level) {
			v.inside[i] += weight
		}
	}
}

// Shares returns the coverage at all levels in ascending order; nil without rows.
func (v *Intervals) Shares() []Interval {
	if v.weight == 0 {
		return nil
	}
	list := make([]Interval, len(levels))
	for i, level := range levels {
		list[i] = Interval{level, v.inside[i] / v.weight, v.rows}
	}
	return list
}

// moments holds the weighted means of paired numbers and the sums of products of their deviations, updated without
// cancellation (Welford, 1962; West, 1979).
type moments struct {
	weight     float64
	x, y       float64 // means
	xx, yy, xy float64 // Σ w(x − x̄)², Σ w(y − ȳ)², Σ w(x − x̄)(y − ȳ)
}

func (m *moments) add(x, y, weight float64) {
	if weight == 0 {
		return // avoids 0/0
	}
	m.weight += weight
	dx, dy := x-m.x, y-m.y
	m.x += dx * weight / m.weight
	m.y += dy * weight / m.weight
	m.xx += weight * dx * (x - m.x)
	m.yy += weight * dy * (y - m.y)
	m.xy += weight * dx * (y - m.y)
}
