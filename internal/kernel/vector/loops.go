// Package vector has the inner loops of package kernel, over vectors of floats. The portable loops are their
// definition. The loops with vector instructions, which asm generates, compute the same up to rounding and are tested
// against them.
//
// Lengths of vectors are multiples of [Lanes]. For any shape of a batch, an element is computed by the same operations
// in the same order, so the numbers of a row do not depend on other rows.
package vector

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"unsafe"
)

// Set is an instruction set of the loops.
type Set int

// Instruction sets. Available lists those that a CPU supports.
const (
	Portable Set = iota
	AVX2
	AVX512
)

func (s Set) String() string { return [...]string{"portable", "avx2", "avx512"}[s] }

// MatMul describes a matrix product Y = Start + X·W, or its positive part, of matrices whose rows are a stride apart.
type MatMul struct {
	Y, X, W, Start       []float32
	Rows, In, Out        int
	YStride, XStride     int
	WStride, StartStride int // StartStride 0 repeats one row of Start
	XStep                int // between the elements of a row of X; 0 means 1. XStride 1 with a step reads X transposed
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

// Dots computes y[r·stride] = Σ_i x[r, i] w[i] for the rows of x, each of the length of w.
func (s Set) Dots(y []float32, stride int, x []float32, rows int, w []float32) {
	if s == Portable {
		dots(y, stride, x, rows, w)
	} else {
		s.dots(y, stride, x, rows, w)
	}
}

func dots(y []float32, stride int, x []float32, rows int, w []float32) {
	for r := range rows {
		var even, odd float32 // two sums, so that an addition need not wait for the previous one
		row := x[r*len(w):][:len(w)]
		for i := 0; i < len(w); i += 2 {
			even += row[i] * w[i]
			odd += row[i+1] * w[i+1]
		}
		y[r*stride] = even + odd
	}
}

// AddScaled computes y += a·x.
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

// Waves computes y = sin(2πt), cos(2πt) for t = x·frequency: first all sines, then all cosines.
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

// Gains computes y = tanh(y) − absent for the first elements of rows that are stride apart.
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

// tanh is a rational approximation with an error of 3e-7. Its coefficients are those of Eigen.
func tanh(x float32) float32 {
	x = min(max(x, -7.90531111), 7.90531111)
	q := x * x
	p := ((((((-2.76076847742355e-16*q+2.00018790482477e-13)*q-8.60467152213735e-11)*q+5.12229709037114e-08)*q+1.48572235717979e-05)*q+6.37261928875436e-04)*q + 4.89352455891786e-03)
	d := ((1.19825839466702e-06*q+1.18534705686654e-04)*q+2.26843463243900e-03)*q + 4.89352518554385e-03
	return x * p / d
}

// Positive computes y = max(y, 0).
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

// Softplus computes y = log(1 + eʸ).
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

// Silu computes y = y / (1 + e⁻ʸ).
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

// Pairs describes the factors of pairs of records. Records 2p and 2p+1 are a pair; each has a base and parts, of which
// the first is the gain over the base. With base a, gain r and further parts u_m of the one, and b, s and w_m of the
// other, the factor depends on the presence R of the one and Q of the other:
//
//	(a + R r)(b + Q s) + R Q Σ_m u_m w_m.
//
// That is a sum over parts of products (a_m + R r_m)(b_m + Q s_m), in which the a_m and b_m of further parts are 0. With
// records y_m in place of absent ones, a_0 is the base plus y_0, a_m is y_m, and r_m is the record's part less y_m.
type Pairs struct {
	Base    [][]float32 // [2 · pairs][channels]
	Records [][]float32 // [2 · pairs][parts, Part]
	Absent  [][]float32 // [2 · pairs][parts, Part] in place of absent records, for Coefficients; nil if those are 0
	Parts   int
	Part    int // floats from one part to the next
}

// Value computes y_k = Π_p − rest_k over the pairs with both present.
func (s Set) Value(y []float32, p *Pairs, rest []float32) {
	if s == Portable {
		p.value(y, rest)
	} else {
		s.value(y, p, rest)
	}
}

func (p *Pairs) value(y, rest []float32) {
	for k := range y {
		product := float32(1)
		for i := 0; i < len(p.Base); i += 2 {
			product *= (p.Base[i][k]+p.Records[i][k])*(p.Base[i+1][k]+p.Records[i+1][k]) + p.with(i, k)
		}
		y[k] = product - rest[k]
	}
}

// with returns Σ_m u_m w_m of a pair in a channel.
func (p *Pairs) with(i, k int) (sum float32) {
	for m := 1; m < p.Parts; m++ {
		sum += p.Records[i][m*p.Part+k] * p.Records[i+1][m*p.Part+k]
	}
	return sum
}

// Coefficients computes the coefficients of a pair as a polynomial in R and Q: rb of R, as of Q, and rs + Σ_m u_m w_m of
// RQ. Those are three per pair; with records in place of absent ones, the constant is the fourth. Otherwise it is ab.
func (s Set) Coefficients(y []float32, p *Pairs, channels int) {
	switch {
	case s != Portable:
		s.coefficients(y, p, channels)
	case p.Absent != nil:
		p.coefficientsAgainst(y, channels)
	default:
		p.coefficients(y, channels)
	}
}

func (p *Pairs) coefficients(y []float32, channels int) {
	for i := 0; i < len(p.Base); i += 2 {
		of := y[i/2*3*channels:][:3*channels]
		for k := range channels {
			r, s := p.Records[i][k], p.Records[i+1][k]
			of[k], of[channels+k], of[2*channels+k] = r*p.Base[i+1][k], p.Base[i][k]*s, r*s+p.with(i, k)
		}
	}
}

func (p *Pairs) coefficientsAgainst(y []float32, channels int) {
	for i := 0; i < len(p.Base); i += 2 {
		of := y[i/2*4*channels:][:4*channels]
		for k := range channels {
			var first, second, both, none float32
			for m := range p.Parts {
				at := m*p.Part + k
				a, b := p.Absent[i][at], p.Absent[i+1][at]
				r, s := p.Records[i][at]-a, p.Records[i+1][at]-b
				if m == 0 {
					a, b = p.Base[i][k]+a, p.Base[i+1][k]+b
				}
				first, second, both, none = first+r*b, second+a*s, both+r*s, none+a*b
			}
			of[k], of[channels+k], of[2*channels+k], of[3*channels+k] = first, second, both, none
		}
	}
}

// Shares computes the attributions of each channel. A factor p has two players, and is a polynomial in their presence
// with the coefficients factors 4p (the constant), 4p+1 (of the first player), 4p+2 (of the second), 4p+3 (of both).
// For every factor p and channel k
//
//	y_2p,k = ∫₀¹ (first + t both) Π_{others} dt,  y_2p+1,k = ∫₀¹ (second + t both) Π_{others} dt,
//
// the other factors with all players present by t. With M_n = Σ_q ω_q t_qⁿ Π_{others}(t_q) the integrals are first M_0
// + both M_1 and second M_0 + both M_1. The products of the other factors are those of the factors before times those
// of the factors after, which avoids division.
//
// The scratch has room for ShareFloats per factor.
func (s Set) Shares(y []float32, factors [][]float32, by Rule, scratch []float32) {
	if s == Portable {
		shares(y, len(factors)/4, func(f, k int) (none, first, second, both float32) {
			return factors[4*f][k], factors[4*f+1][k], factors[4*f+2][k], factors[4*f+3][k]
		}, by.nodes, scratch)
	} else {
		s.shares(y, factors, by, scratch)
	}
}

// SharesOfPairs is Shares for pairs, whose coefficients are not stored.
func (s Set) SharesOfPairs(y []float32, p *Pairs, by Rule, scratch []float32) {
	if s == Portable {
		shares(y, len(p.Base)/2, func(f, k int) (none, first, second, both float32) {
			i, j := 2*f, 2*f+1
			a, b, r, s := p.Base[i][k], p.Base[j][k], p.Records[i][k], p.Records[j][k]
			return a * b, r * b, a * s, r*s + p.with(i, k)
		}, by.nodes, scratch)
	} else {
		s.sharesOfPairs(y, p, by, scratch)
	}
}

func shares(y []float32, factors int, factor func(f, k int) (none, first, second, both float32), nodes []node, scratch []float32) {
	channels := len(y) / (2 * factors)
	before, of, m0, m1 := scratch[:factors], scratch[factors:2*factors], scratch[2*factors:3*factors], scratch[3*factors:4*factors]
	for k := range channels {
		clear(scratch[2*factors : 4*factors])
		for _, q := range nodes {
			p := q.weight
			for f := range factors {
				none, first, second, both := factor(f, k)
				before[f], of[f] = p, none+q.t*(first+second+q.t*both)
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
			_, first, second, both := factor(f, k)
			y[2*f*channels+k] = first*m0[f] + both*m1[f]
			y[(2*f+1)*channels+k] = second*m0[f] + both*m1[f]
		}
	}
}

// Rule is a quadrature rule on [0, 1].
type Rule struct {
	nodes  []node
	blocks []byte // number of nodes computed together, four, three or two; and the position of the block
}

type node struct{ t, weight float32 }

// NewRule returns the rule with nodes t and their weights. A single node gets a second one with weight 0, because at
// least two are computed together.
func NewRule(t, weights []float64) Rule {
	r := Rule{nodes: make([]node, max(2, len(t)))}
	for q := range t {
		r.nodes[q] = node{float32(t[q]), float32(weights[q])}
	}
	left := len(r.nodes)
	for ; left > 5 || left == 4; left -= 4 {
		r.blocks = append(r.blocks, 4)
	}
	switch left {
	case 5:
		r.blocks = append(r.blocks, 3, 2)
	case 3, 2:
		r.blocks = append(r.blocks, byte(left))
	}
	for i := range r.blocks {
		r.blocks[i] |= middleBlock
	}
	r.blocks[0] ^= middleBlock ^ firstBlock
	if end := len(r.blocks) - 1; end > 0 {
		r.blocks[end] ^= middleBlock ^ lastBlock
	} else {
		r.blocks[0] |= onlyBlock
	}
	return r
}

// Position of a block: the first one initialises the moments, the last one completes them.
const (
	firstBlock  = 0 << 4
	middleBlock = 1 << 4
	lastBlock   = 2 << 4
	onlyBlock   = 3 << 4
)

// ShareFloats is the scratch that Shares needs per factor: the products before it and its value at four nodes, M_0 and
// M_1, each as a vector.
const ShareFloats = 10 * Lanes

// Lanes divides all lengths of vectors: the number of floats of the longest vector register.
const Lanes = 16

// Padded returns the next multiple of Lanes.
func Padded(n int) int { return (n + Lanes - 1) / Lanes * Lanes }

// Floats returns zeros that start at a multiple of a cache line, so that no vector crosses two lines.
func Floats(n int) []float32 {
	const line = 64 / 4
	all := make([]float32, n+line)
	skip := 0
	for uintptr(unsafe.Pointer(&all[skip]))%64 != 0 {
		skip++
	}
	return all[skip : skip+n : skip+n]
}

// Ones returns n ones.
func Ones(n int) []float32 {
	v := Floats(n)
	for i := range v {
		v[i] = 1
	}
	return v
}

// Best returns the fastest instruction set of this CPU, or the one named by the environment variable PSI_CPU.
var Best = sync.OnceValues(func() (Set, error) {
	list := Available()
	name := os.Getenv("PSI_CPU")
	if name == "" {
		return list[0], nil
	}
	if i := slices.IndexFunc(list, func(s Set) bool { return s.String() == name }); i >= 0 {
		return list[i], nil
	}
	names := make([]string, len(list))
	for i, s := range list {
		names[i] = s.String()
	}
	return Portable, fmt.Errorf("PSI_CPU is %q: this machine can run %s", name, strings.Join(names, ", "))
})
