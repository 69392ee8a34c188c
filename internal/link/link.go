// Package link converts scores to probabilities. A score is normal, N(μ, σ²), so the probability of a class is an
// expectation over it, not a function of its mean.
//
// It is the host's counterpart of the likelihoods that are computed as graphs. Both use the quadrature [Nodes], so that
// a model reports the probabilities that it was trained on.
package link

import "math"

const (
	count = 75  // nodes, from −7.4 to 7.4
	step  = 0.2 // between them
)

// rule is the trapezoid rule for the standard normal.
type rule struct {
	z, w, logW [count]float64
}

// standard is read-only.
var standard = newRule()

func newRule() *rule {
	r := &rule{}
	total := 0.0
	for i := range r.z {
		r.z[i] = float64(2*i-(count-1)) / 10 // half of a step is a tenth: exact, and symmetric to the bit
		r.w[i] = math.Exp(-r.z[i] * r.z[i] / 2)
		total += r.w[i]
	}
	for i := range r.z {
		r.w[i] /= total
		r.logW[i] = -r.z[i]*r.z[i]/2 - math.Log(total)
	}
	return r
}

// Nodes returns nodes and weights of ∫ f(z) N(z; 0, 1) dz ≈ Σ w_i f(z_i), with Σ w_i = 1: the trapezoid rule on z =
// −7.4, −7.2, … 7.4. For f(z) = sigmoid(μ + σz), whose poles lie π/σ from the real axis, the error is about
// exp(−2π²/(0.2σ)). For |μ| ≤ 10 and σ ≤ 5 the error of the logarithm of the integral is below 1e-7. Gauss–Hermite
// rules are made for polynomials, and are worse from σ = 3 on (TestGaussHermiteIsWorse).
func Nodes() (z, w []float64) {
	r := *standard
	return r.z[:], r.w[:]
}

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

// SoftmaxNormal writes the probabilities of the classes, whose scores are independent normals, to p. It is an
// approximation:
//
//	p = softmax(μ / √(1 + πv/8)),   v = mean_c σ_c²
//
// shrinks all scores as the mean of a sigmoid shrinks its own (MacKay, 1992). Adding a constant to all scores changes
// nothing, and the class with the largest p has the largest μ. For σ ≤ 2 the largest error found was 0.09; with
// separate variances per score it was up to 0.42 (TestSoftmaxNormalIsNear).
func SoftmaxNormal(mu, variance, p []float64) {
	mean := 0.0
	for _, v := range variance {
		mean += v / float64(len(variance))
	}
	shrink := math.Sqrt(1 + math.Pi/8*mean)
	largest := math.Inf(-1)
	for c, m := range mu {
		p[c] = m / shrink
		largest = max(largest, p[c])
	}
	total := 0.0
	for c := range p {
		p[c] = math.Exp(p[c] - largest)
		total += p[c]
	}
	for c := range p {
		p[c] /= total
	}
}
