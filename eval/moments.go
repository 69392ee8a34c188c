package eval

// moments are the means of paired numbers and the sums of products of their
// deviations from them, updated without cancellation (Welford, 1962).
type moments struct {
	n          int
	x, y       float64 // means
	xx, yy, xy float64 // Σ (x − x̄)², Σ (y − ȳ)², Σ (x − x̄)(y − ȳ)
}

func (m *moments) add(x, y float64) {
	m.n++
	dx, dy := x-m.x, y-m.y
	m.x += dx / float64(m.n)
	m.y += dy / float64(m.n)
	m.xx += dx * (x - m.x)
	m.yy += dy * (y - m.y)
	m.xy += dx * (y - m.y)
}
