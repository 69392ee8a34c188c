package encode

import "math"

// moments computes the mean and the standard deviation of a stream of numbers by Welford's update: with δ = v − mean
// and w the weight of v, weight += w, mean += w·δ/weight and squares += w·δ·(v − mean).
//
// It uses the largest power of two among the numbers as unit, which is exact: the square of 1e308 does not overflow,
// and that of 1e-308 does not vanish.
type moments struct {
	weight      float64 // Σ w; without weights, the number of numbers
	least, most float64
	unit        float64
	mean, lost  float64 // in units; lost is the rounding error of the last step (Kahan)
	squares     float64 // Σ w·(v − mean)², in squared units
}

func (m *moments) add(v float64) { m.addWeighted(v, 1) }

// addWeighted adds a number with weight w, which must be positive and far from the limits of float64.
func (m *moments) addWeighted(v, w float64) {
	if m.weight == 0 {
		m.least, m.most = v, v
	}
	if size := math.Abs(v); size >= 2*m.unit {
		m.setUnit(size)
	}
	m.weight += w
	m.least, m.most = min(m.least, v), max(m.most, v)
	v /= m.unit
	from := v - m.mean
	step := from*w/m.weight + m.lost
	mean := m.mean + step
	m.lost = step - (mean - m.mean)
	m.mean = mean
	m.squares += w * from * (v - mean)
}

// setUnit changes the unit to the power of two below size.
func (m *moments) setUnit(size float64) {
	_, exponent := math.Frexp(max(size, math.SmallestNonzeroFloat64))
	unit := math.Ldexp(1, exponent-1)
	shrink := m.unit / unit
	m.mean *= shrink
	m.lost *= shrink
	m.squares *= shrink * shrink
	m.unit = unit
}

// meanAndStd returns 0 and 1 without numbers. A constant has a standard deviation of 1, so that it can be a divisor.
func (m *moments) meanAndStd() (mean, std float64) {
	if m.least == m.most {
		return m.least, 1
	}
	// Rounding may lead beyond the largest float64, or to 0.
	std = min(math.MaxFloat64, math.Sqrt(m.squares/m.weight)*m.unit)
	if std == 0 {
		std = 1
	}
	return m.mean * m.unit, std
}

// finite reports whether v is neither infinite nor NaN.
func finite(v float64) bool { return math.Abs(v) <= math.MaxFloat64 }
