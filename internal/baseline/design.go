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

// number is a numeric input of a baseline: a standardised numeric column, which the encoder keeps beside the bins; a
// cyclic part of a time; or the angle of that part.
type number struct {
	column int // index among the numeric columns
	part   int // index of the cyclic part, from 0; −1 for the column itself
	angle  bool
}

// value returns NaN for a gap.
func (n number) value(rows *encode.Batch, i int) float64 {
	at := i*rows.Numeric + n.column
	if rows.Observed[i*rows.Players()+n.column] == 0 || rows.Numbers[2*at] == encode.GapPosition {
		return math.NaN()
	}
	if n.part < 0 {
		return float64(rows.Numbers[2*at+1])
	}
	time := n.column - (rows.Numeric - rows.Times)
	cycles := rows.Cycles[(i*rows.Times+time)*encode.CyclicParts:]
	if n.angle {
		return math.Atan2(float64(cycles[n.part]), float64(cycles[n.part+1]))
	}
	return float64(cycles[n.part])
}

// newNumbers lists the numeric inputs of rows: each numeric column and, for times, all cyclic parts or the angles.
func newNumbers(rows *encode.Batch, angles bool) []number {
	list := make([]number, 0, rows.Numeric)
	for c := range rows.Numeric {
		list = append(list, number{column: c, part: -1})
	}
	for c := rows.Numeric - rows.Times; c < rows.Numeric; c++ {
		for part := range encode.CyclicParts {
			if !angles || part%2 == 0 { // sine and cosine
				list = append(list, number{c, part, angles})
			}
		}
	}
	return list
}

// minOfLabel is the number of sampled rows below which labels are combined, because they could not be fitted
// individually.
const minOfLabel = 5

// labels holds the levels of a category: gaps, rare or unknown labels, and each of the others.
type labels struct {
	column int             // index among the categories
	levels map[int32]int32 // by row of the embedding table; absent ones are rare
	count  int
}

const (
	gapLevel  = 0
	rareLevel = 1
	ownLevels = 2 // first level of individual labels
)

func newLabels(rows *encode.Batch, column int) labels {
	l := labels{column: column, levels: map[int32]int32{}, count: ownLevels}
	seen := map[int32]int{}
	for i := range rows.Rows {
		if !l.gap(rows, i) {
			code := l.code(rows, i)
			if seen[code]++; seen[code] == minOfLabel {
				l.levels[code] = int32(l.count)
				l.count++
			}
		}
	}
	return l
}

func (l labels) gap(rows *encode.Batch, i int) bool {
	return rows.Observed[i*rows.Players()+rows.Numeric+l.column] == 0
}

func (l labels) code(rows *encode.Batch, i int) int32 {
	return rows.Codes[i*rows.Categorical+l.column]
}

// level returns the level of a row.
func (l labels) level(rows *encode.Batch, i int) int32 {
	if l.gap(rows, i) {
		return gapLevel
	}
	if level, known := l.levels[l.code(rows, i)]; known {
		return level
	}
	return rareLevel
}

// newAllLabels returns the levels of every category.
func newAllLabels(rows *encode.Batch) []labels {
	all := make([]labels, rows.Categorical)
	for c := range all {
		all[c] = newLabels(rows, c)
	}
	return all
}
