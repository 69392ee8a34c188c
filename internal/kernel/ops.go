package kernel

import "math"

// The inner loops of a pass. The portable ones below are their definition; those of vector instructions compute the same up to
// rounding and are tested against them.
//
// Lengths of vectors are multiples of [lanes]. Whatever the shape of a batch, an element is computed by the same operations in the
// same order, so a row's numbers do not depend on its neighbours.

// instructions is a set of instructions that the loops are written in.
type instructions int

const (
	portable instructions = iota
	avx2
	avx512
)

func (i instructions) String() string { return [...]string{"portable", "avx2", "avx512"}[i] }

// lanes is what all lengths of vectors are a multiple of: the floats of the longest vector register.
const lanes = 16

// product is a matrix product y = start + x·w, or its positive part, of matrices whose rows are a stride apart.
type product struct {
	y, x, w, start       []float32
	rows, in, out        int
	yStride, xStride     int
	wStride, startStride int // startStride 0 repeats one row of start
	positive             bool
}

// node is a node of the quadrature on [0, 1] and its weight.
type node struct{ t, weight float32 }

// rule is a quadrature rule on [0, 1].
type rule struct {
	nodes  []node
	blocks []byte // how many nodes are done together; 0 is the end
}

// gemm computes a matrix product.
func (i instructions) gemm(g *product) {
	if i == portable {
		g.compute()
	} else {
		i.vectorGemm(g)
	}
}

func (g *product) compute() {
	for r := range g.rows {
		y := g.y[r*g.yStride:][:g.out]
		copy(y, g.start[r*g.startStride:])
		for i, x := range g.x[r*g.xStride:][:g.in] {
			addScaled(y, x, g.w[i*g.wStride:][:g.out])
		}
		if g.positive {
			positive(y)
		}
	}
}

// dots is y[r·stride] = Σ_i x[r, i] w[i] for the rows of x, each as long as w.
func (i instructions) dots(y []float32, stride int, x []float32, rows int, w []float32) {
	if i == portable {
		dots(y, stride, x, rows, w)
	} else {
		i.vectorDots(y, stride, x, rows, w)
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

// addScaled is y += a·x.
func (i instructions) addScaled(y []float32, a float32, x []float32) {
	if i == portable {
		addScaled(y, a, x)
	} else {
		i.vectorAddScaled(y, a, x)
	}
}

func addScaled(y []float32, a float32, x []float32) {
	for i, v := range x[:len(y)] {
		y[i] += a * v
	}
}

// waves is y = sin(2πt), cos(2πt) for t = x·frequency: first all sines, then all cosines.
func (i instructions) waves(y []float32, x float32, frequency []float32) {
	if i == portable {
		waves(y, x, frequency)
	} else {
		i.vectorWaves(y, x, frequency)
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

// gains is y = tanh(y) − absent for the first elements of rows that are stride apart.
func (i instructions) gains(y []float32, stride, rows int, absent []float32) {
	if i == portable {
		gains(y, stride, rows, absent)
	} else {
		i.vectorGains(y, stride, rows, absent)
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

// positive is y = max(y, 0).
func (i instructions) positive(y []float32) {
	if i == portable {
		positive(y)
	} else {
		i.vectorPositive(y)
	}
}

func positive(y []float32) {
	for i, v := range y {
		y[i] = max(v, 0)
	}
}

// softplus is y = log(1 + eʸ).
func (i instructions) softplus(y []float32) {
	if i == portable {
		softplus(y)
	} else {
		i.vectorSoftplus(y)
	}
}

func softplus(y []float32) {
	for i, x := range y {
		y[i] = max(x, 0) + float32(math.Log1p(math.Exp(-math.Abs(float64(x)))))
	}
}

// silu is y = y / (1 + e⁻ʸ).
func (i instructions) silu(y []float32) {
	if i == portable {
		silu(y)
	} else {
		i.vectorSilu(y)
	}
}

func silu(y []float32) {
	for i, x := range y {
		y[i] = x / (1 + float32(math.Exp(-float64(x))))
	}
}

// value is y_k = Π_j (base_jk + gain_jk) − rest_k.
func (i instructions) value(y []float32, base, gain [][]float32, rest []float32) {
	if i == portable {
		value(y, base, gain, rest)
	} else {
		i.vectorValue(y, base, gain, rest)
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

// shares are the attributions of each channel: for every player j and channel k,
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
// The scratch has room for polyFloats of each factor.
func (i instructions) shares(y []float32, base, gain [][]float32, by rule, scratch []float32) {
	if i == portable {
		shares(y, base, gain, by.nodes, scratch)
	} else {
		i.vectorShares(y, base, gain, by, scratch)
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

// polyFloats is what shares needs of scratch for each factor: products before it and its value at several nodes, M_0 and M_1, each
// as vectors.
const polyFloats = 10 * lanes
