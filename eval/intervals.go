package eval

import "math"

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
