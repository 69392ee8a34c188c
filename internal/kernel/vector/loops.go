// Package vector has the inner loops of package kernel, over vectors of floats. The portable loops are their definition; those of
// vector instructions, which asm writes, compute the same up to rounding and are tested against them.
//
// Lengths of vectors are multiples of [Lanes]. Whatever the shape of a batch, an element is computed by the same operations in the
// same order, so a row's numbers do not depend on its neighbours.
package vector

import "math"

// Set is a set of instructions that the loops are written in.
type Set int

// The sets. Which of them a CPU has, Available tells.
const (
	Portable Set = iota
	AVX2
	AVX512
)

func (s Set) String() string { return [...]string{"portable", "avx2", "avx512"}[s] }

// MatMul is a matrix product Y = Start + X·W, or its positive part, of matrices whose rows are a stride apart.
type MatMul struct {
	Y, X, W, Start       []float32
	Rows, In, Out        int
	YStride, XStride     int
	WStride, StartStride int // StartStride 0 repeats one row of Start
	XStep                int // between the elements of a row of X; 0 is 1. XStride 1 with a step reads X transposed
	Positive             bool
}

// MatMul computes a matrix product.
func (s Set) MatMul(m *MatMul) {
	if s == Portable {
		m.compute()
	} else {
		s.matMul(m)
	}
}

func (m *MatMul) compute() {
	for r := range m.Rows {
		y := m.Y[r*m.YStride:][:m.Out]
		copy(y, m.Start[r*m.StartStride:])
		for i := range m.In {
			addScaled(y, m.X[r*m.XStride+i*max(1, m.XStep)], m.W[i*m.WStride:][:m.Out])
		}
		if m.Positive {
			positive(y)
		}
	}
}

// Dots is y[r·stride] = Σ_i x[r, i] w[i] for the rows of x, each as long as w.
func (s Set) Dots(y []float32, stride int, x []float32, rows int, w []float32) {
	if s == Portable {
		dots(y, stride, x, rows, w)
	} else {
		s.dots(y, stride, x, rows, w)
	}
}

func dots(y []float32, stride int, x []float32, rows int, w []float32) {
	for r := range rows {
		var even, odd float32 // two sums, so that an addition need not wait for the one before
		row := x[r*len(w):][:len(w)]
		for i := 0; i < len(w); i += 2 {
			even += row[i] * w[i]
			odd += row[i+1] * w[i+1]
		}
		y[r*stride] = even + odd
	}
}

// AddScaled is y += a·x.
func (s Set) AddScaled(y []float32, a float32, x []float32) {
	if s == Portable {
		addScaled(y, a, x)
	} else {
		s.addScaled(y, a, x)
	}
}

func addScaled(y []float32, a float32, x []float32) {
	for i, v := range x[:len(y)] {
		y[i] += a * v
	}
}

// Waves is y = sin(2πt), cos(2πt) for t = x·frequency: first all sines, then all cosines.
func (s Set) Waves(y []float32, x float32, frequency []float32) {
	if s == Portable {
		waves(y, x, frequency)
	} else {
		s.waves(y, x, frequency)
	}
}

func waves(y []float32, x float32, frequency []float32) {
	cosines := y[len(frequency):]
	for i, f := range frequency {
		turns := float64(x * f)
		sin, cos := math.Sincos(2 * math.Pi * (turns - math.Round(turns)))
		y[i], cosines[i] = float32(sin), float32(cos)
	}
}

// Gains is y = tanh(y) − absent for the first elements of rows that are stride apart.
func (s Set) Gains(y []float32, stride, rows int, absent []float32) {
	if s == Portable {
		gains(y, stride, rows, absent)
	} else {
		s.gains(y, stride, rows, absent)
	}
}

func gains(y []float32, stride, rows int, absent []float32) {
	for r := range rows {
		row := y[r*stride:][:len(absent)]
		for k, c := range absent {
			row[k] = tanh(row[k]) - c
		}
	}
}

// tanh is a rational approximation, right to 3e-7. Its coefficients are those of Eigen's.
func tanh(x float32) float32 {
	x = min(max(x, -7.90531111), 7.90531111)
	q := x * x
	p := ((((((-2.76076847742355e-16*q+2.00018790482477e-13)*q-8.60467152213735e-11)*q+5.12229709037114e-08)*q+1.48572235717979e-05)*q+6.37261928875436e-04)*q + 4.89352455891786e-03)
	d := ((1.19825839466702e-06*q+1.18534705686654e-04)*q+2.26843463243900e-03)*q + 4.89352518554385e-03
	return x * p / d
}

// Positive is y = max(y, 0).
func (s Set) Positive(y []float32) {
	if s == Portable {
		positive(y)
	} else {
		s.positive(y)
	}
}

func positive(y []float32) {
	for i, v := range y {
		y[i] = max(v, 0)
	}
}

// Softplus is y = log(1 + eʸ).
func (s Set) Softplus(y []float32) {
	if s == Portable {
		softplus(y)
	} else {
		s.softplus(y)
	}
}

func softplus(y []float32) {
	for i, x := range y {
		y[i] = max(x, 0) + float32(math.Log1p(math.Exp(-math.Abs(float64(x)))))
	}
}

// Silu is y = y / (1 + e⁻ʸ).
func (s Set) Silu(y []float32) {
	if s == Portable {
		silu(y)
	} else {
		s.silu(y)
	}
}

func silu(y []float32) {
	for i, x := range y {
		y[i] = x / (1 + float32(math.Exp(-float64(x))))
	}
}

// Value is y_k = Π_j (base_jk + gain_jk) − rest_k.
func (s Set) Value(y []float32, base, gain [][]float32, rest []float32) {
	if s == Portable {
		value(y, base, gain, rest)
	} else {
		s.value(y, base, gain, rest)
	}
}

func value(y []float32, base, gain [][]float32, rest []float32) {
	for k := range y {
		p := float32(1)
		for j := range gain {
			p *= base[j][k] + gain[j][k]
		}
		y[k] = p - rest[k]
	}
}

// Shares are the attributions of each channel: for every player j and channel k,
//
//	y_jk = gain_jk ∫₀¹ Π_{i≠j} (base_ik + t gain_ik) dt.
//
// Players 2p and 2p+1 form the factor p. It is a quadratic polynomial in t,
//
//	(a + t r)(b + t s) = ab + t (rb + as) + t² rs   for a, r of player 2p and b, s of player 2p+1,
//
// so what is done for every node is done for half as many factors: with M_n = Σ_q ω_q t_qⁿ Π_{other factors}(t_q), the
// integrals are r (b M_0 + s M_1) and s (a M_0 + r M_1). The products of the other factors are those of the factors before
// times those of the factors behind, so nothing is divided.
//
// The scratch has room for ShareFloats of each factor.
func (s Set) Shares(y []float32, base, gain [][]float32, by Rule, scratch []float32) {
	if s == Portable {
		shares(y, base, gain, by.nodes, scratch)
	} else {
		s.shares(y, base, gain, by, scratch)
	}
}

func shares(y []float32, base, gain [][]float32, nodes []node, scratch []float32) {
	factors, channels := len(gain)/2, len(y)/len(gain)
	before, of, m0, m1 := scratch[:factors], scratch[factors:2*factors], scratch[2*factors:3*factors], scratch[3*factors:4*factors]
	for k := range channels {
		clear(scratch[2*factors : 4*factors])
		for _, q := range nodes {
			p := q.weight
			for f := range factors {
				a, r, b, s := base[2*f][k], gain[2*f][k], base[2*f+1][k], gain[2*f+1][k]
				before[f], of[f] = p, a*b+q.t*(r*b+a*s+q.t*(r*s))
				p *= of[f]
			}
			behind := float32(1)
			for f := factors - 1; f >= 0; f-- {
				others := before[f] * behind
				m0[f] += others
				m1[f] += q.t * others
				behind *= of[f]
			}
		}
		for f := range factors {
			a, r, b, s := base[2*f][k], gain[2*f][k], base[2*f+1][k], gain[2*f+1][k]
			y[2*f*channels+k] = r * (b*m0[f] + s*m1[f])
			y[(2*f+1)*channels+k] = s * (a*m0[f] + r*m1[f])
		}
	}
}
