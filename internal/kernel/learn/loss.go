package learn

import (
	"math"

	"github.com/psi-shapley/psi/internal/link"
)

const (
	// hiddenFloor keeps the likelihood of h finite, in units of the target's variance.
	hiddenFloor = 1e-4
	// minVariance is a lower bound of a score's variance, so that the derivative of its square root stays finite.
	minVariance = 1e-4
	// precisions beyond these bounds would let a few rows dominate a step.
	minPrecision, maxPrecision = 0.1, 10
)

// losses is the memory of the losses.
type losses struct {
	hidden, slope []float64 // [B, C] h² + hiddenFloor of masked copies, and its derivative by the network's output
	sigma         []float64 // [B, sigmas] Σ_d σ_d² of rows as observed
	precision     []float64 // [B]
	scores, probs []float64 // [C] of a row
	z, w          []float64 // quadrature
}

func newLosses(t *Trainer) losses {
	n := t.Batch * t.Outputs
	l := losses{
		hidden: make([]float64, n), slope: make([]float64, n), sigma: make([]float64, t.Batch*t.Sigmas()), precision: make([]float64, t.Batch),
		scores: make([]float64, t.Outputs), probs: make([]float64, t.Outputs),
	}
	l.z, l.w = link.Nodes()
	return l
}

// lacks reports whether the current loss uses labels, so that h is the uncertainty due to missing cells.
func (t *Trainer) lacks() bool { return t.current.phase == Spread && !t.Classes }

// softplus returns log(1 + eˣ) and its derivative.
func softplus(x float64) (y, slope float64) {
	e := math.Exp(-math.Abs(x))
	slope = 1 / (1 + e)
	if x < 0 {
		slope = e * slope
	}
	return max(x, 0) + math.Log1p(e), slope
}

// gaussian returns −log N for a squared distance and a variance, ½ [log 2πσ² + square/σ²], and its derivative by the
// variance.
func gaussian(square, variance float64) (loss, slope float64) {
	return 0.5 * (math.Log(2*math.Pi*variance) + square/variance), 0.5 * (1 - square/variance) / variance
}

// losses computes the loss and its gradients: by values, by h's outputs, and by variances if the phase trains σ.
//
// The loss has two parts: that of the mean or of σ, and that of h. Inputs that one part takes from the other are
// treated as constants.
func (t *Trainer) losses() (loss, hidden float64) {
	l := &t.loss
	phase := t.current.phase
	if phase != Absent {
		for i := range l.hidden {
			variance, slope := t.hide.variance(i/t.Outputs, i%t.Outputs)
			l.hidden[i], l.slope[i] = variance+hiddenFloor, slope
		}
	}
	if phase.usesSigma() {
		clear(l.sigma)
		for d := range t.columns {
			for i, s := range t.columns[d].std {
				l.sigma[i] += float64(s) * float64(s)
			}
		}
	}
	clear(t.learnerGradients)
	switch {
	case phase == Spread:
		loss = t.spreadLoss()
	case t.Classes:
		loss = t.classesLoss()
	default:
		loss = t.numberLoss()
	}
	switch {
	case phase == Absent:
	case t.lacks():
		hidden = t.lackingLoss()
	default:
		hidden = t.hiddenLoss()
	}
	for l := range t.learners {
		n := copies * t.Batch * t.Outputs
		gradients := t.learnerGradients[l*(n+t.Outputs):]
		for i, d := range gradients[:n] {
			gradients[n+i%t.Outputs] -= d // subtracted from all copies: the product with no column present
		}
	}
	return loss, hidden
}

// valueOf returns a value of a row's copy.
func (t *Trainer) valueOf(row, which, output int) float64 {
	return float64(t.value[(row*copies+which)*t.Outputs+output])
}

// learnerValue returns a learner's value of a row's copy.
func (t *Trainer) learnerValue(learner, row, which, output int) float64 {
	return float64(t.learnerValues[((learner*t.Batch+row)*copies+which)*t.Outputs+output])
}

func (t *Trainer) setGradient(learner, row, which, output int, v float64) {
	t.learnerGradients[(learner*(copies*t.Batch+1)+row*copies+which)*t.Outputs+output] = float32(v)
}

// hiddenLoss returns the mean of −log N(v(x_S); v(x), h²) over outputs and, weighted, over rows. In the phase spread of
// classes the columns that S hides add their own noise: Var(y | x_S) = Var(μ(x) | x_S) + E[σ²(x) | x_S].
func (t *Trainer) hiddenLoss() float64 {
	share := 1 / float64(t.Batch*t.Outputs)
	loss := 0.0
	for r, weight := range t.current.Weight[:t.Batch] {
		w := float64(weight) * share
		for o := range t.Outputs {
			i := r*t.Outputs + o
			gap := t.valueOf(r, observed, o) - t.valueOf(r, masked, o)
			square := gap * gap
			if t.current.phase == Spread {
				square += t.hiddenNoise(r, o)
			}
			nll, slope := gaussian(square, t.loss.hidden[i])
			loss += w * nll
			t.hide.dout[r*t.hide.outs+o] = float32(w * slope * t.loss.slope[i])
		}
	}
	return loss
}

// lackingLoss replaces hiddenLoss in the phase spread of a number: the mean of −log N(y; v(x_S), σ_0² + Σσ_d² + h²),
// all given x_S. Only h has a gradient. Errors of new rows are larger than those of training rows by the same factor as
// for rows as observed.
func (t *Trainer) lackingLoss() float64 {
	growth := float64(t.lay.noiseGrowth.of(t.weights, 0)[0])
	std, _ := t.noise()
	loss := 0.0
	for r, y := range t.current.Target[:t.Batch] {
		w := float64(t.current.Weight[r]) / float64(t.Batch)
		whole, part := float64(y)-t.valueOf(r, observed, 0), float64(y)-t.valueOf(r, masked, 0)
		variance := std * std
		for d := range t.columns {
			s := float64(t.columns[d].maskedStd[r])
			variance += s * s
		}
		h, slope := t.hide.variance(t.hide.copyAt(t, r, masked), 0)
		nll, byVariance := gaussian(part*part+(growth-1)*whole*whole, variance+h)
		loss += w * nll
		t.hide.dout[r*t.hide.outs] = float32(w * byVariance * slope)
	}
	return loss
}

// hiddenNoise returns Σσ_d² of the columns that the masked copy of a row hides.
func (t *Trainer) hiddenNoise(row, output int) (noise float64) {
	for d := range t.columns {
		if !t.isPresent(row, masked, d) {
			s := float64(t.columns[d].std[row*t.Sigmas()+min(output, t.Sigmas()-1)])
			noise += s * s
		}
	}
	return noise
}

// maxExponent keeps e^x within the range of 32-bit floats.
const maxExponent = 50

// errorOf returns the loss of a gap v − y, and its derivative by v. The loss is half the square of the gap. On the
// scale log-mean it is half the gamma deviance in units of the variance of the log, (e^x − 1 − x)/s² with x = s(y − v),
// where s is the standard deviation of the log.
func (t *Trainer) errorOf(gap float64) (loss, slope float64) {
	if t.LogStd == 0 {
		return 0.5 * gap * gap, gap
	}
	x := min(-t.LogStd*gap, maxExponent)
	e := math.Expm1(x)
	return (e - x) / (t.LogStd * t.LogStd), -e / t.LogStd
}

// numberLoss returns the mean of errorOf over rows as observed and their masked copies, averaged over learners. What a
// copy hides is noise for it, so its weight is (τ / (τ + h²))^γ, where τ is the error of rows as observed. The weight
// is 1 in the phase that trains only the weights for absent players.
func (t *Trainer) numberLoss() float64 {
	n := float64(t.Batch)
	tau := 0.0
	for r, y := range t.current.Target[:t.Batch] {
		gap := float64(y) - t.valueOf(r, observed, 0)
		tau += float64(t.current.Weight[r]) * gap * gap / n
		t.loss.precision[r] = 1
	}
	if t.current.phase == Refit {
		t.weigh()
	}
	loss := 0.0
	for r, y := range t.current.Target[:t.Batch] {
		w := float64(t.current.Weight[r]) / n
		precision := t.loss.precision[r]
		weight := 1.0
		if t.current.phase != Absent {
			weight = math.Pow(tau/(tau+t.loss.hidden[r]), t.MaskedExponent)
		}
		for l := range t.learners {
			whole, byWhole := t.errorOf(t.learnerValue(l, r, observed, 0) - float64(y))
			part, byPart := t.errorOf(t.learnerValue(l, r, masked, 0) - float64(y))
			loss += w * (precision*whole + weight*part) / float64(t.learners)
			t.setGradient(l, r, observed, 0, w*precision*byWhole)
			t.setGradient(l, r, masked, 0, w*weight*byPart)
		}
	}
	return loss
}

// weigh sets the precision of each row, 1/σ² divided by its mean.
func (t *Trainer) weigh() {
	std, _ := t.noise()
	mean := 0.0
	for r := range t.loss.precision {
		t.loss.precision[r] = 1 / (t.loss.sigma[r] + std*std)
		mean += float64(t.current.Weight[r]) * t.loss.precision[r] / float64(t.Batch)
	}
	for r, p := range t.loss.precision {
		t.loss.precision[r] = min(max(p/mean, minPrecision), maxPrecision)
	}
}

// noise returns σ_0, and its derivative by its weight.
func (t *Trainer) noise() (std, slope float64) {
	scale := float64(t.lay.noiseScale.of(t.weights, 0)[0])
	std, slope = softplus(float64(t.lay.sigma0.of(t.weights, 0)[0]))
	return std * scale, slope * scale
}

// classesLoss returns the mean of −log p(y) of rows as observed plus that of their masked copies, averaged over
// learners.
func (t *Trainer) classesLoss() float64 {
	loss := 0.0
	for r := range t.Batch {
		w := float64(t.current.Weight[r]) / float64(t.Batch)
		for l := range t.learners {
			for which := range copies {
				loss += w * t.classLoss(l, r, which, w) / float64(t.learners)
			}
		}
	}
	return loss
}

// classLoss returns −log p(y) of a copy for a learner. It sets the gradient, times a weight.
func (t *Trainer) classLoss(learner, r, which int, w float64) float64 {
	y := t.current.Target[r]
	if t.Outputs == 1 {
		side := 2*float64(y) - 1
		loss, slope := softplus(-side * (t.learnerValue(learner, r, which, 0) + t.Base[0]))
		t.setGradient(learner, r, which, 0, -side*slope*w)
		return loss
	}
	for o := range t.loss.scores {
		t.loss.scores[o] = t.learnerValue(learner, r, which, o) + t.Base[o]
	}
	loss := t.softmax(int(y))
	for o, p := range t.loss.probs {
		t.setGradient(learner, r, which, o, p*w)
	}
	return loss
}

// softmax returns −log softmax(scores)_y. It leaves the derivatives by the scores in probs.
func (t *Trainer) softmax(y int) float64 {
	scores, probs := t.loss.scores, t.loss.probs
	top := math.Inf(-1)
	for _, s := range scores {
		top = max(top, s)
	}
	sum := 0.0
	for o, s := range scores {
		probs[o] = math.Exp(s - top)
		sum += probs[o]
	}
	for o := range probs {
		probs[o] /= sum
	}
	probs[y]--
	return top + math.Log(sum) - scores[y]
}

// spreadLoss returns the mean of −log p(y) with the variances of σ_d, and the penalty λ Σ_d E σ_d².
func (t *Trainer) spreadLoss() float64 {
	scale, sigmas := t.lay.noiseScale.of(t.weights, 0), t.Sigmas()
	loss, dnoise := 0.0, 0.0
	for r := range t.Batch {
		w := float64(t.current.Weight[r]) / float64(t.Batch)
		var nll float64
		switch {
		case !t.Classes:
			var slope float64
			nll, slope = t.numberSpread(r)
			dnoise += w * slope
			t.spread.dvariance[r] = float32(w * slope)
		case t.Outputs == 1:
			var slope float64
			nll, slope = t.logisticNormal(t.valueOf(r, observed, 0)+t.Base[0], t.loss.sigma[r]+minVariance, t.current.Target[r] == 1)
			t.spread.dvariance[r] = float32(w * slope)
		default:
			nll = t.softmaxNormal(r, w)
		}
		loss += w * nll
		for o := range sigmas {
			i, unit := r*sigmas+o, float64(scale[o])*float64(scale[o])
			weight := t.SpreadPenalty * w / (float64(sigmas) * unit)
			loss += weight * t.loss.sigma[i]
			t.spread.dvariance[i] += float32(weight)
		}
	}
	if !t.Classes {
		std, slope := t.noise()
		t.lay.sigma0.of(t.gradient, 0)[0] = float32(dnoise * 2 * std * slope)
	}
	return loss
}

// numberSpread returns −log N(y; v, σ_0² + Σσ_d² + h²) of a row as observed, and its derivative by the variance. h is
// treated as a constant.
func (t *Trainer) numberSpread(r int) (nll, slope float64) {
	gap := float64(t.current.Target[r]) - t.valueOf(r, observed, 0)
	growth := float64(t.lay.noiseGrowth.of(t.weights, 0)[0])
	lacking, _ := t.hide.variance(t.hide.copyAt(t, r, observed), 0)
	std, _ := t.noise()
	return gaussian(gap*gap*growth, t.loss.sigma[r]+lacking+std*std)
}

// logisticNormal returns −log ∫ sigmoid(±u) N(u; μ, σ²) du, and its derivative by σ².
func (t *Trainer) logisticNormal(mu, variance float64, positive bool) (nll, slope float64) {
	std, side := math.Sqrt(variance), 1.0
	if !positive {
		side = -1
	}
	mu *= side
	// sigmoid(u) = e^min(u, 0) / (1 + e^−|u|). The largest exponent is factored out, so that not all terms underflow.
	top := min(mu+std*t.loss.z[len(t.loss.z)-1], 0) // the nodes are symmetric
	shift := math.Exp(top)
	sum, moment := 0.0, 0.0
	for q, z := range t.loss.z {
		u := mu + std*z
		var s, rest float64 // sigmoid(u) e^−top, and 1 − sigmoid(u)
		if u < 0 {
			e := math.Exp(u - top)
			rest = 1 / (1 + e*shift)
			s = e * rest
		} else { // then top is 0
			e := math.Exp(-u)
			s = 1 / (1 + e)
			rest = e * s
		}
		term := t.loss.w[q] * s
		sum += term
		moment += term * rest * z
	}
	return -(math.Log(sum) + top), -moment / sum / (2 * std)
}

// softmaxNormal returns −log softmax(scores)_y of scores shrunk by √(1 + πv/8), where v is their mean variance. It sets
// the gradient by the variances, times a weight.
func (t *Trainer) softmaxNormal(r int, w float64) float64 {
	mean, sigmas := 0.0, t.Sigmas()
	for _, variance := range t.loss.sigma[r*sigmas:][:sigmas] {
		mean += variance / float64(sigmas)
	}
	square := 1 + math.Pi/8*mean
	for o := range t.loss.scores {
		t.loss.scores[o] = (t.valueOf(r, observed, o) + t.Base[o]) / math.Sqrt(square)
	}
	nll := t.softmax(int(t.current.Target[r]))
	slope := 0.0
	for o, p := range t.loss.probs {
		slope -= p * t.loss.scores[o] * math.Pi / 16 / square
	}
	for o := range sigmas {
		t.spread.dvariance[r*sigmas+o] = float32(w * slope / float64(sigmas))
	}
	return nll
}
