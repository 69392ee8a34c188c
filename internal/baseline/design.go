package baseline

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"github.com/psi-shapley/psi/internal/encode"
)

// reading maps rows to the features of the linear model: standardised numbers with 0, the mean, for a gap; 1 where a
// number with gaps is missing; one feature per label; and finally a 1 for the intercept.
type reading struct {
	numbers []number
	mean    []float64 // of each number
	scale   []float64
	gaps    []int // numbers that have gaps
	labels  []labels
	first   []int // first feature of each category
	count   int   // number of features
}

func newReading(s *sample) *reading {
	r := &reading{labels: newAllLabels(s.rows)}
	for _, n := range newNumbers(s.rows, false) {
		sum, square, weight, gaps := 0.0, 0.0, 0.0, 0
		for i, w := range s.weight {
			if v := n.value(s.rows, i); math.IsNaN(v) {
				gaps++
			} else {
				sum, square, weight = sum+w*v, square+w*v*v, weight+w
			}
		}
		mean := sum / weight
		if std := math.Sqrt(square/weight - mean*mean); std > 1e-6*math.Abs(mean) { // false for NaN too
			if gaps > 0 && n.part < 0 {
				r.gaps = append(r.gaps, len(r.numbers))
			}
			r.numbers, r.mean, r.scale = append(r.numbers, n), append(r.mean, mean), append(r.scale, std)
		}
	}
	r.count = len(r.numbers) + len(r.gaps)
	for _, l := range r.labels {
		r.first = append(r.first, r.count)
		r.count += l.count
	}
	r.count++
	return r
}

// players returns the player of each feature but the intercept.
func (r *reading) players(rows *encode.Batch) []int {
	list := make([]int, 0, r.count-1)
	for _, n := range r.numbers {
		list = append(list, n.column)
	}
	for _, of := range r.gaps {
		list = append(list, r.numbers[of].column)
	}
	for _, l := range r.labels {
		list = append(list, slices.Repeat([]int{rows.Numeric + l.column}, l.count)...)
	}
	return list
}

// design is the feature matrix X of rows: dense columns first, then one 1 for each category, then the intercept.
type design struct {
	rows, dense, categories, count int

	x     []float64 // [rows, dense]
	codes []int32   // [rows, categories]: the feature that is 1
}

func (r *reading) read(rows *encode.Batch) *design {
	d := &design{rows: rows.Rows, dense: len(r.numbers) + len(r.gaps), categories: len(r.labels), count: r.count}
	d.x = make([]float64, d.rows*d.dense)
	d.codes = make([]int32, d.rows*d.categories)
	for i := range d.rows {
		x := d.x[i*d.dense : (i+1)*d.dense]
		for j, n := range r.numbers {
			if v := n.value(rows, i); !math.IsNaN(v) {
				x[j] = (v - r.mean[j]) / r.scale[j]
			}
		}
		for j, of := range r.gaps {
			if math.IsNaN(r.numbers[of].value(rows, i)) {
				x[len(r.numbers)+j] = 1
			}
		}
		for c, l := range r.labels {
			d.codes[i*d.categories+c] = int32(r.first[c]) + l.level(rows, i)
		}
	}
	return d
}

// part returns rows [from, to), sharing memory.
func (d *design) part(from, to int) *design {
	p := *d
	p.rows = to - from
	p.x, p.codes = d.x[from*d.dense:to*d.dense], d.codes[from*d.categories:to*d.categories]
	return &p
}

func (d *design) matrix() blas64.General {
	return blas64.General{Rows: d.rows, Cols: d.dense, Stride: max(1, d.dense), Data: d.x}
}

// times writes X·b [rows, outputs] to out, of b [features, outputs].
func (d *design) times(b, out []float64) {
	k := len(b) / d.count
	intercept := b[(d.count-1)*k:]
	for i := range d.rows {
		row := out[i*k : (i+1)*k]
		copy(row, intercept)
		for _, code := range d.codes[i*d.categories : (i+1)*d.categories] {
			for c, v := range b[int(code)*k : (int(code)+1)*k] {
				row[c] += v
			}
		}
	}
	if d.dense == 0 {
		return
	}
	for c := range k {
		blas64.Gemv(blas.NoTrans, 1, d.matrix(), blas64.Vector{N: d.dense, Data: b[c:], Inc: k}, 1, blas64.Vector{N: d.rows, Data: out[c:], Inc: k})
	}
}

// transposed writes Xᵀ·r [features, outputs] to out, of r [rows, outputs].
func (d *design) transposed(r, out []float64) {
	k := len(r) / d.rows
	clear(out)
	intercept := out[(d.count-1)*k:]
	for i := range d.rows {
		row := r[i*k : (i+1)*k]
		for c, v := range row {
			intercept[c] += v
		}
		for _, code := range d.codes[i*d.categories : (i+1)*d.categories] {
			for c, v := range row {
				out[int(code)*k+c] += v
			}
		}
	}
	if d.dense == 0 {
		return
	}
	for c := range k {
		blas64.Gemv(blas.Trans, 1, d.matrix(), blas64.Vector{N: d.rows, Data: r[c:], Inc: k}, 1, blas64.Vector{N: d.dense, Data: out[c:], Inc: k})
	}
}

// squares returns Σ_i w_i x_ij² of each feature j.
func (d *design) squares(weight []float64) []float64 {
	sum := make([]float64, d.count)
	for i, w := range weight {
		for j, v := range d.x[i*d.dense : (i+1)*d.dense] {
			sum[j] += w * v * v
		}
		for _, code := range d.codes[i*d.categories : (i+1)*d.categories] {
			sum[code] += w
		}
		sum[d.count-1] += w
	}
	return sum
}
