package eval

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
