package explain

// PGreater is P(φ_a > φ_b) of two players of a row: how sure the sign of their difference is. A player
// that is not observed has φ = 0. Of two that are 0 without doubt, it is a half.
func (e *Explanation) PGreater(row, output, a, b int) float64 {
	mean := e.means(row, output)
	return e.law().positive(mean[a]-mean[b], e.between(row, output, a, b))
}

// PLarger is P(|φ_a| > |φ_b|) of two players of a row: how sure it is that the one matters more than the other, whichever
// way. That is to be first of two, as p_top has it.
func (e *Explanation) PLarger(row, output, a, b int) float64 {
	mean, std, width := e.means(row, output), e.deviations(row, output), e.law().width
	return newTop(1).probabilities([]float64{mean[a], mean[b]}, []float64{width * std[a], width * std[b]}, []bool{true, true})[0]
}
