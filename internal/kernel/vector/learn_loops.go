package vector

import (
	"math"
	"slices"
)

// Products are those of factors that lie anywhere in one slice: for every row r and channel k,
//
//	Y_rk = Π_j Factors[At_rj + k] − Rest_k.
type Products struct {
	Y       []float32 // [Rows, YStride]
	Factors []float32
	At      []int32 // [Rows, Columns] where each factor begins
	Rest    []float32

	Rows, Columns, Channels, YStride int
}

// Products computes products of factors.
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
			y[k] = 1
		}
		for _, a := range at {
			for k, f := range p.Factors[a:][:p.Channels] {
				y[k] *= f
			}
		}
		for k, v := range p.Rest[:p.Channels] {
			y[k] -= v
		}
	}
}

// ProductsGradient adds to the gradients by factors what Products passes back:
//
//	Gradient[At_rj + k] += Up_rk Π_{i≠j} Factors[At_ri + k].
//
// The products of the other factors are those of the factors before times those of the factors behind, so nothing is divided.
type ProductsGradient struct {
	Gradient []float32 // like Factors
	Up       []float32 // [Rows, UpStride]
	Factors  []float32
	At       []int32 // [Rows, Columns]
	Scratch  []float32

	Rows, Columns, Channels, UpStride int
}

// ScratchFloats is the room that a ProductsGradient needs.
func ScratchFloats(columns int) int { return 4 * columns * Lanes }

// ProductsGradient computes the gradients by factors.
func (s Set) ProductsGradient(p *ProductsGradient) {
	if s == Portable {
		p.compute()
	} else {
		s.productsGradient(p)
	}
}

func (p *ProductsGradient) compute() {
	before := p.Scratch[:p.Columns]
	for r := range p.Rows {
		at := p.At[r*p.Columns:][:p.Columns]
		for k, up := range p.Up[r*p.UpStride:][:p.Channels] {
			product := float32(1)
			for j, a := range at {
				before[j] = product
				product *= p.Factors[int(a)+k]
			}
			for j, a := range slices.Backward(at) {
				p.Gradient[int(a)+k] += before[j] * up
				up *= p.Factors[int(a)+k]
			}
		}
	}
}

// Gather adds rows that lie anywhere in X to the rows of Y, as long as Width: Y_r += Σ_j Scale_rj X[At_rj].
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

// Scatter adds the rows of X, as long as width, to rows that lie anywhere in y: y[at_r] += scale_r x_r. at says how many there are.
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

// FactorsGradient is dy ← dy·y(2 − y), the way back through y = 1 + tanh, for the first elements of rows that are stride apart.
func (s Set) FactorsGradient(dy, y []float32, stride, rows, width int) {
	switch {
	case rows == 0:
	case s == Portable:
		factorsGradient(dy, y, stride, rows, width)
	default:
		s.factorsGradient(dy, y, stride, rows, width)
	}
}

func factorsGradient(dy, y []float32, stride, rows, width int) {
	for r := range rows {
		d := dy[r*stride:][:width]
		for k, v := range y[r*stride:][:width] {
			d[k] *= v * (2 - v)
		}
	}
}

// PositiveGradient is the way back through y = max(·, 0): dy ← 0 where y is 0.
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

// SiluGradient is the way back through x / (1 + e⁻ˣ): dy ← dy·s(1 + x(1 − s)) with s = 1 / (1 + e⁻ˣ).
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

// SquaredSum is Σ x².
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

// Adam is one step of AdamW (Loshchilov and Hutter 2019) on the gradient g times Scale, and the moving average of the weights:
//
//	m ← β₁m + (1 − β₁)g,  v ← β₂v + (1 − β₂)g²
//	w ← w − Rate·m·Debias1 / (√(v·Debias2) + ε) − Decay·w
//	average ← w + Keep (average − w)
type Adam struct {
	Weights, Gradient, First, Second, Average []float32

	Scale, Rate, Decay, Debias1, Debias2, Keep float32
}

// The constants of Adam.
const (
	Beta1   = 0.9
	Beta2   = 0.99
	Epsilon = 1e-8
)

// Adam takes a step.
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
