package explain

// Link tells what scores, which base and attributions add up to, predict in the target's own units.
type Link struct {
	Scale       Scale
	NonNegative bool // no training row had a negative target
}

// Link is that of the explanation's predictions.
func (e *Explanation) Link() Link { return Link{e.Scale, e.NonNegative} }

// Response is what a score predicts: of a number that never was negative at least 0. Of classes it is the score.
func (l Link) Response(score float64) float64 {
	if l.NonNegative {
		return max(0, score)
	}
	return score
}

// Responses are what the scores predict.
func (l Link) Responses(scores []float64) []float64 {
	list := make([]float64, len(scores))
	for i, s := range scores {
		list[i] = l.Response(s)
	}
	return list
}

// Clipped says whether the prediction, for its place in arrays [rows, outputs], is 0 in place of a negative sum.
func (e *Explanation) Clipped(at int) bool { return e.NonNegative && e.Prediction[at] < 0 }

// Range holds the target with the probability of ∓ Z standard deviations of a normal distribution, in the target's own units.
func (e *Explanation) Range(at int) (lower, upper float64) {
	reach := e.Z * e.RangeOf(at)
	return e.Link().Response(e.Prediction[at] - reach), e.Link().Response(e.Prediction[at] + reach)
}
