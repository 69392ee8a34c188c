package train

import (
	"math"

	"github.com/psi-shapley/psi/internal/link"
	"github.com/psi-shapley/psi/internal/network"
)

// validated is what a validation has to judge by.
type validated struct {
	*network.Explained
	data   Data
	sigma0 []float32 // [C]
	base   []float64 // [C], of classes
}

// mean is that of a row's loss, by the rows' weights.
func (v *validated) mean(loss func(row int) float64) float64 {
	sum, total := 0.0, 0.0
	for row, w := range v.data.Weight {
		sum += float64(w) * loss(row)
		total += float64(w)
	}
	return sum / total
}

// pointScore is the error of the mean: squared error, or log loss.
func (r *Run) pointScore() func(*validated) float64 {
	if r.net.Classes {
		return logLoss
	}
	return squaredError
}

// spreadScore is −log p(y) with all that is uncertain.
func (r *Run) spreadScore() func(*validated) float64 {
	if r.net.Classes {
		return marginalLogLoss
	}
	return gaussianNLL
}

// squaredError is the mean squared error of the values.
func squaredError(v *validated) float64 {
	return v.mean(func(row int) float64 {
		gap := float64(v.data.Target[row]) - float64(v.Value[row])
		return gap * gap
	})
}

// variance is Σσ_d² of element i of [rows, C].
func (v *validated) variance(i int) float64 {
	d := len(v.Std) / len(v.Value)
	variance := 0.0
	for _, s := range v.Std[i*d : (i+1)*d] {
		variance += float64(s) * float64(s)
	}
	return variance
}

// gaussianNLL is the mean of −log N(y; μ, σ_0² + Σσ_d² + h²).
func gaussianNLL(v *validated) float64 {
	return v.mean(func(row int) float64 {
		s := float64(v.sigma0[0])
		variance := s*s + v.variance(row) + float64(v.HiddenVariance[row])
		gap := float64(v.data.Target[row]) - float64(v.Value[row])
		return 0.5 * (math.Log(2*math.Pi*variance) + gap*gap/variance)
	})
}

// logLoss is the mean of −log p(y), without the spread of the scores.
func logLoss(v *validated) float64 {
	return v.classLoss(func(int) float64 { return 0 })
}

// marginalLogLoss is the mean of −log p(y) over the spread σ_d of the scores.
func marginalLogLoss(v *validated) float64 { return v.classLoss(v.variance) }

func (v *validated) classLoss(variance func(i int) float64) float64 {
	c := len(v.base)
	scores, variances, p := make([]float64, c), make([]float64, c), make([]float64, c)
	return v.mean(func(row int) float64 {
		for k := range c {
			scores[k], variances[k] = float64(v.Value[row*c+k])+v.base[k], variance(row*c+k)
		}
		if c == 1 {
			return -link.LogLogisticNormal(scores[0], math.Sqrt(variances[0]), v.data.Target[row] == 1)
		}
		link.SoftmaxNormal(scores, variances, p)
		return -math.Log(max(p[int(v.data.Target[row])], math.SmallestNonzeroFloat64))
	})
}

// squaredErrorOf is the mean squared error of values, by the rows' weights.
func squaredErrorOf(value []float32, data Data) float64 {
	return squaredError(&validated{Explained: &network.Explained{Value: value}, data: data})
}

// naiveScore is the score of a mean that knows nothing of a row.
func (r *Run) naiveScore() float64 {
	nothing := &validated{
		Explained: &network.Explained{Value: make([]float32, r.validation.Len()*r.net.Outputs)},
		data:      r.validation, base: r.Base,
	}
	return r.pointScore()(nothing)
}
