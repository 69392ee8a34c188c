package vector

import "math"

// Products describes products of records, multiplied two by two, which lie anywhere in one slice. A record has parts,
// each with one float per channel. For every row r and channel k,
//
//	Y_rk = Π_(i,j) Σ_m Records[At_ri + m·Part + k] Records[At_rj + m·Part + k] − Rest_k,
//
// over the pairs (i, j) of Order. With one part that is the product of all records.
type Products struct {
	Y       []float32 // [Rows, YStride]
	Records []float32
	At      []int32 // [Rows, Columns] offset of each record
	Order   []int32 // [2 · pairs] the columns, pair by pair
	Rest    []float32

	Rows, Columns, Channels, YStride int
	Parts, Part                      int // number of parts, and floats from one to the next
}

// Products computes products of records.
func (s Set) Products(p *Products) {
	if s == Portable {
		p.compute()
	} else {
		s.products(p)
	}
}

func (p *Products) compute() {
	for r := range p.Rows {
		y, at := p.Y[r*p.YStride:][:p.Channels], p.At[r*p.Columns:][:p.Columns]
		for k := range y {
			product := float32(1)
			for f := 0; f < len(p.Order); f += 2 {
				product *= together(p.Records[k:], at[p.Order[f]], at[p.Order[f+1]], p.Parts, p.Part)
			}
			y[k] = product - p.Rest[k]
		}
	}
}

// together returns the product of two records in a channel.
func together(records []float32, i, j int32, parts, part int) (sum float32) {
	for m := range parts {
		sum += records[int(i)+m*part] * records[int(j)+m*part]
	}
	return sum
}

// ProductsGradient describes the backward pass of Products: for the record i of the pair (i, j)
//
//	Gradient[At_ri + m·Part + k] += Up_rk · Π_{other pairs} · Records[At_rj + m·Part + k].
//
// The products of the other pairs are those of the pairs before times those of the pairs after, which avoids division.
type ProductsGradient struct {
	Gradient []float32 // like Records
	Up       []float32 // [Rows, UpStride]
	Records  []float32
	At       []int32 // [Rows, Columns]
	Order    []int32 // [2 · pairs]
	Scratch  []float32

	Rows, Columns, Channels, UpStride int
	Parts, Part                       int
}

// ScratchFloats returns the size of the scratch memory of a ProductsGradient.
func ScratchFloats(columns int) int { return 4 * columns * Lanes }

// ProductsGradient computes the gradients by records.
func (s Set) ProductsGradient(p *ProductsGradient) {
	if s == Portable {
		p.compute()
	} else {
		s.productsGradient(p)
	}
}

func (p *ProductsGradient) compute() {
	pairs := len(p.Order) / 2
	before, of := p.Scratch[:pairs], p.Scratch[pairs:2*pairs]
	for r := range p.Rows {
		at := p.At[r*p.Columns:][:p.Columns]
		for k, up := range p.Up[r*p.UpStride:][:p.Channels] {
			product := float32(1)
			for f := range pairs {
				before[f], of[f] = product, together(p.Records[k:], at[p.Order[2*f]], at[p.Order[2*f+1]], p.Parts, p.Part)
				product *= of[f]
			}
			for f := pairs - 1; f >= 0; f-- {
				others := before[f] * up
				i, j := int(at[p.Order[2*f]])+k, int(at[p.Order[2*f+1]])+k
				for range p.Parts {
					p.Gradient[i] += others * p.Records[j]
					p.Gradient[j] += others * p.Records[i]
					i, j = i+p.Part, j+p.Part
				}
				up *= of[f]
			}
		}
	}
}

// Gather describes the addition of rows anywhere in X to the rows of Y, of length Width: Y_r += Σ_j Scale_rj X[At_rj].
type Gather struct {
	Y, X             []float32
	At               []int32   // [Rows, Per]
	Scale            []float32 // [Rows, Per]
	Rows, Per, Width int
}

// Gather adds rows up.
func (s Set) Gather(g *Gather) {
	switch {
	case g.Rows == 0:
	case s == Portable:
		g.compute()
	default:
		s.gather(g)
	}
}

func (g *Gather) compute() {
	for r := range g.Rows {
		for j := r * g.Per; j < (r+1)*g.Per; j++ {
			addScaled(g.Y[r*g.Width:][:g.Width], g.Scale[j], g.X[g.At[j]:][:g.Width])
		}
	}
}

// Scatter adds the rows of X, of length width, to rows anywhere in y: y[at_r] += scale_r x_r. The length of at is the
// number of rows.
func (s Set) Scatter(y []float32, at []int32, scale, x []float32, width int) {
	switch {
	case len(at) == 0:
	case s == Portable:
		scatter(y, at, scale, x, width)
	default:
		s.scatter(y, at, scale, x, width)
	}
}

func scatter(y []float32, at []int32, scale, x []float32, width int) {
	for r, a := range at {
		addScaled(y[a:][:width], scale[r], x[r*width:][:width])
	}
}

// TanhGradient computes dy ← dy (1 + start − y)(1 − start + y), the backward pass of y = start + tanh, for the first
// elements of rows that are stride apart.
func (s Set) TanhGradient(dy, y []float32, stride, rows, width int, start float32) {
	switch {
	case rows == 0 || width == 0:
	case s == Portable:
		tanhGradient(dy, y, stride, rows, width, start)
	default:
		s.tanhGradient(dy, y, stride, rows, width, start)
	}
}

func tanhGradient(dy, y []float32, stride, rows, width int, start float32) {
	for r := range rows {
		d := dy[r*stride:][:width]
		for k, v := range y[r*stride:][:width] {
			d[k] *= (1 + start - v) * (1 - start + v)
		}
	}
}

// PositiveGradient computes the backward pass of y = max(·, 0): dy ← 0 where y is 0.
func (s Set) PositiveGradient(dy, y []float32) {
	switch {
	case len(dy) == 0:
	case s == Portable:
		positiveGradient(dy, y)
	default:
		s.positiveGradient(dy, y)
	}
}

func positiveGradient(dy, y []float32) {
	for i, v := range y[:len(dy)] {
		if !(v > 0) {
			dy[i] = 0
		}
	}
}

// SiluGradient computes the backward pass of x / (1 + e⁻ˣ): dy ← dy·s(1 + x(1 − s)) with s = 1 / (1 + e⁻ˣ).
func (s Set) SiluGradient(dy, x []float32) {
	if s == Portable {
		siluGradient(dy, x)
	} else {
		s.siluGradient(dy, x)
	}
}

func siluGradient(dy, x []float32) {
	for i, v := range x[:len(dy)] {
		sigmoid := 1 / (1 + float32(math.Exp(-float64(v))))
		dy[i] *= sigmoid * (1 + v*(1-sigmoid))
	}
}

// Transpose writes x [rows, columns] to y [columns, rows], whose rows are a stride apart.
func (s Set) Transpose(y []float32, yStride int, x []float32, xStride, rows, columns int) {
	if s == Portable {
		transpose(y, yStride, x, xStride, rows, columns)
	} else {
		s.transpose(y, yStride, x, xStride, rows, columns)
	}
}

func transpose(y []float32, yStride int, x []float32, xStride, rows, columns int) {
	for c := range columns {
		to := y[c*yStride:][:rows]
		for r := range to {
			to[r] = x[r*xStride+c]
		}
	}
}

// SquaredSum returns Σ x².
func (s Set) SquaredSum(x []float32) float32 {
	if s == Portable {
		return squaredSum(x)
	}
	return s.squaredSum(x)
}

func squaredSum(x []float32) float32 {
	var sums [Lanes]float32
	for i := 0; i < len(x); i += Lanes {
		for j, v := range x[i:][:Lanes] {
			sums[j] += v * v
		}
	}
	total := float32(0)
	for _, v := range sums {
		total += v
	}
	return total
}

// Adam describes a step of AdamW (Loshchilov and Hutter 2019) on the gradient g times Scale, and the moving average of
// the weights:
//
//	m ← β₁m + (1 − β₁)g,  v ← β₂v + (1 − β₂)g²
//	w ← w − Rate·m·Debias1 / (√(v·Debias2) + ε) − Decay·w
//	average ← w + Keep (average − w)
type Adam struct {
	Weights, Gradient, First, Second, Average []float32

	Scale, Rate, Decay, Debias1, Debias2, Keep float32
}

// Constants of Adam.
const (
	Beta1   = 0.9
	Beta2   = 0.99
	Epsilon = 1e-8
)

// Adam runs a step.
func (s Set) Adam(a *Adam) {
	if s == Portable {
		a.step()
	} else {
		s.adam(a)
	}
}

func (a *Adam) step() {
	weights, first, second, average := a.Weights, a.First[:len(a.Weights)], a.Second[:len(a.Weights)], a.Average[:len(a.Weights)]
	for i, g := range a.Gradient[:len(weights)] {
		g *= a.Scale
		m := Beta1*first[i] + (1-Beta1)*g
		v := Beta2*second[i] + (1-Beta2)*(g*g)
		first[i], second[i] = m, v
		step := a.Rate*(m*a.Debias1)/(float32(math.Sqrt(float64(v*a.Debias2)))+Epsilon) + a.Decay*weights[i]
		w := weights[i] - step
		weights[i] = w
		average[i] = w + a.Keep*(average[i]-w)
	}
}
