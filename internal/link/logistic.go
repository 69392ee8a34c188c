package link

import "math"

// LogisticNormal returns P(label) = ∫ sigmoid(u) N(u; μ, σ²) du, the probability of the positive class of a score with
// mean mu and standard deviation std.
func LogisticNormal(mu, std float64) float64 {
	if std == 0 {
		return sigmoid(mu)
	}
	sum := 0.0
	for i, z := range standard.z {
		sum += standard.w[i] * sigmoid(mu+std*z)
	}
	return min(sum, 1) // the weights add up to 1 up to rounding
}

// LogLogisticNormal returns log P(label) or, if not positive, log(1 − P(label)), without loss of precision where either
// is near 0.
func LogLogisticNormal(mu, std float64, positive bool) float64 {
	if !positive {
		mu = -mu // 1 − sigmoid(u) = sigmoid(−u), and the nodes are symmetric
	}
	if std == 0 {
		return logSigmoid(mu)
	}
	var terms [count]float64
	largest := math.Inf(-1)
	for i, z := range standard.z {
		terms[i] = standard.logW[i] + logSigmoid(mu+std*z)
		largest = max(largest, terms[i])
	}
	if math.IsInf(largest, -1) {
		return largest
	}
	sum := 0.0
	for _, t := range terms {
		sum += math.Exp(t - largest)
	}
	return min(largest+math.Log(sum), 0)
}

// sigmoid returns 1 / (1 + exp(−u)).
func sigmoid(u float64) float64 {
	if u < 0 {
		e := math.Exp(u)
		return e / (1 + e)
	}
	return 1 / (1 + math.Exp(-u))
}

// logSigmoid returns −log(1 + exp(−u)).
func logSigmoid(u float64) float64 {
	return min(u, 0) - math.Log1p(math.Exp(-math.Abs(u)))
}
