package baseline

import "math"

// family is a loss of scores f with its canonical link: the squared error ½(p − y)² of a number, p = f; the log loss of
// two classes, p = sigmoid(f); that of more, p = softmax(f). The gradient of each by f is p − y, where y is 0 or 1 for
// each class.
type family struct{ classes int }

// outputs returns the number of scores of a row.
func (f family) outputs() int {
	if f.classes > 2 {
		return f.classes
	}
	return 1
}

// respond turns the scores of a row into p.
func (f family) respond(score []float64) {
	switch {
	case f.classes == 0:
	case f.classes == 2:
		score[0] = 1 / (1 + math.Exp(-score[0]))
	default:
		most := score[0]
		for _, s := range score {
			most = max(most, s)
		}
		sum := 0.0
		for k, s := range score {
			score[k] = math.Exp(s - most)
			sum += score[k]
		}
		for k := range score {
			score[k] /= sum
		}
	}
}

// respondAll turns the scores [rows, outputs] into p.
func (f family) respondAll(scores []float64) {
	k := f.outputs()
	for i := 0; i < len(scores); i += k {
		f.respond(scores[i : i+k])
	}
}

// loss returns the loss of a row with target y: a number, or the index of its class.
func (f family) loss(p []float64, y float64) float64 {
	const least = 1e-15
	switch {
	case f.classes == 0:
		return (p[0] - y) * (p[0] - y) / 2
	case f.classes == 2 && y == 0:
		return -math.Log(max(1-p[0], least))
	case f.classes == 2:
		return -math.Log(max(p[0], least))
	}
	return -math.Log(max(p[int(y)], least))
}

// gradient turns p of a row into p − y.
func (f family) gradient(p []float64, y float64) {
	if f.classes > 2 {
		p[int(y)]--
		return
	}
	p[0] -= y
}

// curvature returns the diagonal of the second derivative by output k.
func (f family) curvature(p float64) float64 {
	if f.classes == 0 {
		return 1
	}
	return p * (1 - p)
}

// steepest returns an upper bound of the eigenvalues of the second derivative.
func (f family) steepest() float64 {
	switch {
	case f.classes == 0:
		return 1
	case f.classes == 2:
		return 0.25
	}
	return 0.5
}

// bend replaces v by ∇²v, the second derivative at p times v: v, p(1−p)v, or p_k(v_k − Σ_j p_j v_j).
func (f family) bend(p, v []float64) {
	switch {
	case f.classes == 0:
	case f.classes == 2:
		v[0] *= p[0] * (1 - p[0])
	default:
		mean := 0.0
		for k := range v {
			mean += p[k] * v[k]
		}
		for k := range v {
			v[k] = p[k] * (v[k] - mean)
		}
	}
}

// meanLoss returns the weighted mean loss of scores [rows, outputs]. The scores become p.
func (f family) meanLoss(scores, y, weight []float64) float64 {
	f.respondAll(scores)
	sum, total, k := 0.0, 0.0, f.outputs()
	for i, w := range weight {
		sum += w * f.loss(scores[i*k:(i+1)*k], y[i])
		total += w
	}
	return sum / total
}
