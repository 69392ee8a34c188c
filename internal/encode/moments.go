package encode

import "math"

// moments gathers the mean and the standard deviation of numbers met one by one, by
// Welford's update: with δ = v − mean, and w the weight of v, weight += w,
// mean += w·δ/weight and squares += w·δ·(v − mean).
//
// It counts in units of the largest power of two among the numbers, an exact change of
// scale: the square of 1e308 does not overflow, nor does that of 1e-308 vanish.
type moments struct {
	weight      float64 // Σ w; without weights, how many numbers there are
	least, most float64
	unit        float64
	mean, lost  float64 // in units; lost is what rounding took from the last step (Kahan)
	squares     float64 // Σ w·(v − mean)², in squared units
}

func (m *moments) add(v float64) { m.addWeighted(v, 1) }

// addWeighted takes a number as if it came w times, w being positive and far from the ends
// of what a float64 can hold.
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

// setUnit counts from now on in the power of two below size.
func (m *moments) setUnit(size float64) {
	_, exponent := math.Frexp(max(size, math.SmallestNonzeroFloat64))
	unit := math.Ldexp(1, exponent-1)
	shrink := m.unit / unit
	m.mean *= shrink
	m.lost *= shrink
	m.squares *= shrink * shrink
	m.unit = unit
}

// meanAndStd is 0 and 1 without numbers. A constant has a standard deviation of 1, so
// that it can be divided by.
func (m *moments) meanAndStd() (mean, std float64) {
	if m.least == m.most {
		return m.least, 1
	}
	// Rounding may lead past the greatest number there is, or to 0.
	std = min(math.MaxFloat64, math.Sqrt(m.squares/m.weight)*m.unit)
	if std == 0 {
		std = 1
	}
	return m.mean * m.unit, std
}

// finite says whether v is neither infinite nor NaN.
func finite(v float64) bool { return math.Abs(v) <= math.MaxFloat64 }
