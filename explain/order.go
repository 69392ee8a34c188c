package explain

// PGreater returns P(φ_a > φ_b) of two players of a row: how certain the sign of their difference is. A player that is
// not observed has φ = 0. If both are 0 with certainty, the result is ½.
func (e *Explanation) PGreater(row, output, a, b int) float64 {
	mean := e.means(row, output)
	return e.law().positive(mean[a]-mean[b], e.between(row, output, a, b))
}

// PLarger returns P(|φ_a| > |φ_b|) of two players of a row: how certain it is that a matters more than b, in either
// direction. It is p_top with K = 1 among the two.
func (e *Explanation) PLarger(row, output, a, b int) float64 {
	mean, std, width := e.means(row, output), e.deviations(row, output), e.law().width
	return newTop(1).probabilities([]float64{mean[a], mean[b]}, []float64{width * std[a], width * std[b]}, []bool{true, true})[0]
}
