package explain

import "math"

// Link tells what scores, which base and attributions add up to, predict in the target's own units.
type Link struct {
	Scale       Scale
	NonNegative bool // no training row had a negative target
}

// Link is that of the explanation's predictions.
func (e *Explanation) Link() Link { return Link{e.Scale, e.NonNegative} }

// maxLog is below the log of the largest number there is.
const maxLog = 700

// Response is what a score predicts: on a scale of logs e^score; of a number that never was negative at least 0. Of classes it is the score.
func (l Link) Response(score float64) float64 {
	switch {
	case l.Scale.Logs():
		return math.Exp(min(score, maxLog))
	case l.NonNegative:
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

// Normal is the normal distribution that a number has on the scale of its score, given the score and the root-mean-square distance from it. The log of
// a number is distributed about a centre below the log of its mean: if its variance is σ², by σ²/2, so that the mean square distance from
// the log of the mean is σ² + σ⁴/4. Elsewhere the score is the centre.
func (l Link) Normal(score, std float64) (centre, spread float64) {
	if l.Scale != LogMean {
		return score, std
	}
	variance := 2 * (math.Sqrt(1+std*std) - 1)
	return score - variance/2, math.Sqrt(variance)
}

// Deviation is the standard deviation of a number in its own units: of one whose log is normal with the variance σ², its mean times √(e^σ² − 1).
func (l Link) Deviation(score, std float64) float64 {
	if !l.Scale.Logs() {
		return std
	}
	centre, spread := l.Normal(score, std)
	variance := spread * spread
	return l.Response(centre+variance/2) * math.Sqrt(math.Expm1(variance))
}

// Deviations are those of scores.
func (l Link) Deviations(scores, stds []float64) []float64 {
	list := make([]float64, len(scores))
	for i, s := range scores {
		list[i] = l.Deviation(s, stds[i])
	}
	return list
}

// Score is a number on the scale of scores, and the log of the slope there: densities of numbers are those of scores times the slope.
func (l Link) Score(y float64) (score, logSlope float64) {
	if l.Scale.Logs() {
		return math.Log(max(0, y)), -math.Log(max(0, y))
	}
	return y, 0
}

// Clipped says whether the prediction, for its place in arrays [rows, outputs], is 0 in place of a negative sum.
func (e *Explanation) Clipped(at int) bool {
	return e.NonNegative && e.Scale == Identity && e.Prediction[at] < 0
}

// Range holds the target with the probability of ∓ Z standard deviations of a normal distribution, in the target's own units.
func (e *Explanation) Range(at int) (lower, upper float64) {
	centre, _ := e.Link().Normal(e.Prediction[at], e.PredictionStd[at])
	reach := e.Z * e.RangeOf(at)
	return e.Link().Response(centre - reach), e.Link().Response(centre + reach)
}
