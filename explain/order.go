package explain

import "math"

// PGreater is P(φ_a > φ_b) of two players of a row: their difference is N(mean_a − mean_b, std_a² + std_b²). A player
// that is not observed has φ = 0. Of two that are 0 without doubt, it is a half.
func (e *Explanation) PGreater(row, output, a, b int) float64 {
	mean, std := e.means(row, output), e.stds(row, output)
	return Positive(mean[a]-mean[b], math.Hypot(std[a], std[b]))
}

// PLarger is P(|φ_a| > |φ_b|) of two players of a row: how sure it is that the one matters more than the other, whichever
// way. That is to be first of two, as p_top has it.
func (e *Explanation) PLarger(row, output, a, b int) float64 {
	mean, std := e.means(row, output), e.stds(row, output)
	return newTop(1).probabilities([]float64{mean[a], mean[b]}, []float64{std[a], std[b]}, []bool{true, true})[0]
}
