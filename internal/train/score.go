package train

import "github.com/psi-shapley/psi/internal/form"

// validated holds the inputs of a validation score.
type validated struct {
	*form.Explained
	data   Data
	sigma0 []float32 // [C]
	base   []float64 // [C], of classes
}

// mean returns the weighted mean of a loss over rows.
func (v *validated) mean(loss func(row int) float64) float64 {
	sum, total := 0.0, 0.0
	for row, w := range v.data.Weight {
		sum += float64(w) * loss(row)
		total += float64(w)
	}
	return sum / total
}

// variance returns Σσ_d² of element i of [rows, C].
func (v *validated) variance(i int) float64 {
	d := len(v.Std) / len(v.Value)
	variance := 0.0
	for _, s := range v.Std[i*d : (i+1)*d] {
		variance += float64(s) * float64(s)
	}
	return variance
}

// scoreOf returns the score of values [rows, C].
func (r *Run) scoreOf(values []float32, data Data) float64 {
	return r.target.score(&validated{Explained: &form.Explained{Value: values}, data: data, base: r.Base})
}
