package explain

import "math"

// Link converts scores, which base and attributions add up to, to predictions in the target's own units.
type Link struct {
	Scale       Scale
	NonNegative bool // no training row had a negative target
}

// Link returns the link of the explanation's predictions.
func (e *Explanation) Link() Link { return Link{e.Scale, e.NonNegative} }

// maxLog is a little below the log of the largest float64.
const maxLog = 700

// Response returns the prediction of a score: e^score on a log scale, otherwise the score. It is at least 0 if
// NonNegative is set. For classes it is the score.
func (l Link) Response(score float64) float64 {
	switch {
	case l.Scale.Logs():
		return math.Exp(min(score, maxLog))
	case l.NonNegative:
		return max(0, score)
	}
	return score
}

// Responses returns the predictions of the scores.
func (l Link) Responses(scores []float64) []float64 {
	list := make([]float64, len(scores))
	for i, s := range scores {
		list[i] = l.Response(s)
	}
	return list
}

// Normal returns the normal distribution of a number on the scale of its score, given the score and the
// root-mean-square distance from it. On the scale log-mean, a log-normal number with log variance σ² has its centre
// σ²/2 below the log of its mean. The mean square distance from the log of the mean is then σ² + σ⁴/4. On other scales
// the score is the centre.
func (l Link) Normal(score, std float64) (centre, spread float64) {
	if l.Scale != LogMean {
		return score, std
	}
	variance := 2 * (math.Sqrt(1+std*std) - 1)
	return score - variance/2, math.Sqrt(variance)
}

// Deviation returns the standard deviation of a number in its own units. If the log of the number is normal with
// variance σ², it is the mean times √(e^σ² − 1).
func (l Link) Deviation(score, std float64) float64 {
	if !l.Scale.Logs() {
		return std
	}
	centre, spread := l.Normal(score, std)
	variance := spread * spread
	return l.Response(centre+variance/2) * math.Sqrt(math.Expm1(variance))
}

// Deviations returns the standard deviations of scores in the target's units; nil if stds is.
func (l Link) Deviations(scores, stds []float64) []float64 {
	if stds == nil {
		return nil
	}
	list := make([]float64, len(scores))
	for i, s := range scores {
		list[i] = l.Deviation(s, stds[i])
	}
	return list
}

// Score returns a number on the scale of scores, and the log of the slope there. The density of a number is the density
// of its score times the slope.
func (l Link) Score(y float64) (score, logSlope float64) {
	if l.Scale.Logs() {
		return math.Log(max(0, y)), -math.Log(max(0, y))
	}
	return y, 0
}

// Clipped reports whether the prediction, given its index in arrays [rows, outputs], is 0 in place of a negative sum.
func (e *Explanation) Clipped(at int) bool {
	return e.NonNegative && e.Scale == Identity && e.Prediction[at] < 0
}

// Range returns the interval of a prediction in the target's own units. Its coverage is that of ∓ Z standard deviations
// of a normal distribution. Both ends are NaN if the standard deviation is unknown.
func (e *Explanation) Range(at int) (lower, upper float64) {
	if e.PredictionStd == nil {
		return math.NaN(), math.NaN()
	}
	centre, _ := e.Link().Normal(e.Prediction[at], e.PredictionStd[at])
	reach := e.Z * e.RangeOf(at)
	return e.Link().Response(centre - reach), e.Link().Response(centre + reach)
}
