package synth

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/stat/combin"
)

var fresnelAtEdge = fresnelS(4 * math.Sqrt(2/math.Pi))

// written holds E[y | x] of every process once more, copied from App. H.1 as it is printed there.
var written = map[string]func(x1, x2, x3 float64) float64{
	"synth1": func(x1, x2, x3 float64) float64 {
		f1 := 2 + math.Exp(-math.Pow(x1, 2)) - math.Sqrt(math.Pi)/8*math.Erf(4)
		f2 := 1 + math.Sin(-math.Pow(x2, 2)) + math.Sqrt(2*math.Pi)/8*fresnelAtEdge
		f3 := 3*math.Cos(3*x3) + 4*math.Sin(5*x3)
		return f1 + f2 + f3
	},
	"synth2": func(x1, x2, x3 float64) float64 {
		f1 := math.Exp(-math.Pow(x1, 2)) * x1
		f2 := 0.5 * x2 * math.Sin(x2)
		f3 := math.Cos(3*x3) * math.Sin(x3)
		return f1 + f2 + f3
	},
	"synth3": func(x1, x2, x3 float64) float64 {
		f1 := 4*math.Sin(x1) + 2*math.Sin(2*x1)
		f2 := 3 * math.Cos(3*x2) * math.Sin(5*x2)
		f3 := math.Cos(2*x3) + math.Pow(x3, 2)/7
		f12 := math.Exp(-math.Pow(x1+x2, 2))
		f13 := (x1 - 3) * x3 * math.Sin(x1) * math.Cos(x3) / 2
		f23 := x2 * x3 / 2
		return f1 + f2 + f3 + f12 + f13 + f23
	},
	"synth4": func(x1, x2, x3 float64) float64 {
		f1 := math.Exp(-1/math.Pow(x1, 2)) + math.Sin(100/x1)
		f2 := math.Exp(-math.Abs(math.Cos(math.Abs(x2))+0.5*math.Sin(2*x2))) + x2/4
		f3 := math.Tanh(math.Pow(x3, 2))
		f12 := math.Sin(math.Pow(x1, 2)+math.Pow(x2, 2)) / 2
		return f1 + f2 + f3 + f12
	},
	"synth5": func(x1, x2, x3 float64) float64 {
		f23 := 5 * math.Abs(math.Sin(x3*x2)*math.Cos(x3*x2)) / 2
		return synth5AsPrinted(x1, x2, x3) + f23
	},
	"synth5-paper": synth5AsPrinted,
}

func synth5AsPrinted(x1, x2, x3 float64) float64 {
	f1 := math.Abs(x1)/10 + math.Pow(x1, 2)/10 + math.Sin(x1)
	f2 := math.Cos(5*x2) + math.Sin(2*x2) + x2
	f3 := math.Exp(-math.Pow(x3, 100))
	f12 := 5 * math.Pow(math.Pow(x1, 10)+math.Pow(x2, 10), 1.0/10) / 2
	return f1 + f2 + f3 + f12
}

// coalitionMean returns E[y | x_S] by the midpoint rule over all columns outside S at once.
func coalitionMean(y func(x1, x2, x3 float64) float64, x [columns]float64, s uint) float64 {
	const points = 60
	for d := range x {
		if s&(1<<d) == 0 {
			return midpoint(points, func(u float64) float64 {
				filled := x
				filled[d] = u
				return coalitionMean(y, filled, s|1<<d)
			})
		}
	}
	return y(x[0], x[1], x[2])
}

// enumerate returns the Shapley values of v over all 2³ coalitions:
//
//	φ_d = Σ_{S∌d} |S|! (2−|S|)! / 3! (v(S∪d) − v(S)).
func enumerate(v [1 << columns]float64) [columns]float64 {
	weight := [columns]float64{1.0 / 3, 1.0 / 6, 1.0 / 3}
	var phi [columns]float64
	for d := range phi {
		for s := range uint(len(v)) {
			if s&(1<<d) == 0 {
				phi[d] += weight[bits.OnesCount(s)] * (v[s|1<<d] - v[s])
			}
		}
	}
	return phi
}

// TestShapleyAgainstEnumeration computes the truth a second time from the printed formula alone, without using that y is
// a sum of terms of one and two columns.
func TestShapleyAgainstEnumeration(t *testing.T) {
	const (
		seed      = 1
		rows      = 5
		tolerance = 5e-3 // the midpoint rule's error
	)
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	for _, p := range processes() {
		y, ok := written[p.name]
		if !ok {
			continue // synth1-binary: synth1's game
		}
		g := newGame(p)
		empty := coalitionMean(y, [columns]float64{}, 0)
		if !scalar.EqualWithinAbs(g.base, empty, tolerance) {
			t.Errorf("%s: E y = %g, want %g", p.name, g.base, empty)
		}
		for range rows {
			var x [columns]float64
			for d := range x {
				x[d] = halfWidth * (2*rnd.Float64() - 1)
			}
			v := [1 << columns]float64{0: empty}
			for s := uint(1); s < uint(len(v)); s++ {
				v[s] = coalitionMean(y, x, s)
			}
			if got, want := g.expected(x), v[len(v)-1]; !scalar.EqualWithinAbs(got, want, exact) {
				t.Errorf("%s: E[y | x = %.3f] = %g, want %g", p.name, x, got, want)
			}
			want := enumerate(v)
			for d, got := range g.shapley(x) {
				if !scalar.EqualWithinAbs(got, want[d], tolerance) {
					t.Errorf("%s: φ_%d(%.3f) = %g, enumeration gives %g", p.name, d+1, x, got, want[d])
				}
			}
			// Of three players, a pair meets the third half of the time.
			for k, got := range g.interaction(x) {
				a, b, third := [...]uint{1, 1, 2}[k], [...]uint{2, 4, 4}[k], [...]uint{4, 2, 1}[k]
				want := (v[a|b] - v[a] - v[b] + v[0] + v[a|b|third] - v[a|third] - v[b|third] + v[third]) / 2
				if !scalar.EqualWithinAbs(got, want, tolerance) {
					t.Errorf("%s: I of the pair %b(%.3f) = %g, enumeration gives %g", p.name, a|b, x, got, want)
				}
			}
		}
	}
}

// TestConditionalMeans checks the integrals behind the truth at points chosen to hurt: near zero, on kinks, at the edge.
func TestConditionalMeans(t *testing.T) {
	const (
		points    = 1 << 16
		tolerance = 5e-8 // the midpoint rule's error at the kinks of f_23
	)
	for _, p := range processes() {
		g := newGame(p)
		for _, term := range g.interactions {
			for _, x := range []float64{-4, -math.Pi / 2, 1e-3, 0.31} {
				got := g.givenA(term, x)
				want := midpoint(points, func(xb float64) float64 { return term.f(x, xb) })
				if !scalar.EqualWithinAbs(got, want, tolerance) {
					t.Errorf("%s: E[f_%d%d | x_%d = %g] = %.12g, want %.12g", p.name, term.a+1, term.b+1, term.a+1, x, got, want)
				}
				got = g.givenB(term, x)
				want = midpoint(points, func(xa float64) float64 { return term.f(xa, x) })
				if !scalar.EqualWithinAbs(got, want, tolerance) {
					t.Errorf("%s: E[f_%d%d | x_%d = %g] = %.12g, want %.12g", p.name, term.a+1, term.b+1, term.b+1, x, got, want)
				}
			}
		}
	}
}

// TestBase checks E y against forms with at most one integral of one variable, worked out by hand.
func TestBase(t *testing.T) {
	const points = 1 << 17
	meanOf := func(f func(float64) float64) float64 { return midpoint(points, f) }

	// f_2 has two kinks; ∫∫ sin(u² + v²) = 2 ∫ sin u² ∫ cos v².
	synth4 := math.Exp(-1.0/16) - math.Sqrt(math.Pi)*math.Erfc(0.25)/4 +
		meanOf(func(x float64) float64 { return math.Exp(-math.Abs(math.Cos(x) * (1 + math.Sin(x)))) }) +
		meanOf(func(x float64) float64 { return math.Tanh(x * x) }) +
		meanOf(func(x float64) float64 { return math.Sin(x * x) })*meanOf(func(x float64) float64 { return math.Cos(x * x) })

	// f_12 is homogeneous of degree 1: with t = min/max of |x_1|, |x_2|, E f_12 = 5/2 · 2/3 · 4 ∫₀¹ (1 + t^10)^(1/10) dt.
	synth5Paper := 0.2 + 1.6/3 + math.Sin(20)/20 + math.Gamma(1.01)/4 +
		20.0/3*meanOf(func(x float64) float64 { return math.Pow(1+math.Pow(x/4, 10), 0.1) })

	// E[f_23 | x_3] = 5/4 A(8|x_3|) / (8|x_3|) with A(t) = ∫₀ᵗ |sin u| du = 2⌊t/π⌋ + 1 − cos(t mod π).
	f23 := meanOf(func(x float64) float64 {
		u := 8 * math.Abs(x)
		return 1.25 * (2*math.Floor(u/math.Pi) + 1 - math.Cos(math.Mod(u, math.Pi))) / u
	})

	want := map[string]float64{
		"synth1":        3 + math.Sin(12)/4,
		"synth2":        (math.Sin(4) - 4*math.Cos(4)) / 8,
		"synth3":        math.Sin(8)/8 + 16.0/21 + (8*math.Sqrt(math.Pi)-1)/64,
		"synth4":        synth4,
		"synth5":        synth5Paper + f23,
		"synth5-paper":  synth5Paper,
		"synth1-binary": 3 + math.Sin(12)/4,
	}
	for _, p := range processes() {
		if got := newGame(p).base; !scalar.EqualWithinAbs(got, want[p.name], exact) {
			t.Errorf("%s: E y = %.12g, want %.12g", p.name, got, want[p.name])
		}
	}
}

// overOrders returns the Shapley values of v as means over all orders in which players can come.
func overOrders(players int, v func(coalition uint) float64) []float64 {
	values := make([]float64, 1<<players)
	for s := range values {
		values[s] = v(uint(s))
	}
	phi := make([]float64, players)
	orders := combin.Permutations(players, players)
	for _, order := range orders {
		var came uint
		for _, d := range order {
			phi[d] += (values[came|1<<d] - values[came]) / float64(len(orders))
			came |= 1 << d
		}
	}
	return phi
}

func TestShapleyValuesAgainstOrders(t *testing.T) {
	const seed = 1
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	for players := 1; players <= 5; players++ {
		value := make([]float64, 1<<players)
		for s := range value {
			value[s] = rnd.NormFloat64()
		}
		v := func(s uint) float64 { return value[s] }
		want := overOrders(players, v)
		for d, got := range shapleyValues(players, v) {
			if !scalar.EqualWithinAbs(got, want[d], exact) {
				t.Errorf("%d players: φ_%d = %g, orders give %g", players, d+1, got, want[d])
			}
		}
	}
	// A glove game: players 1 and 2 have a left one, player 3 a right one.
	pairs := func(s uint) float64 { return math.Min(float64(s>>2), float64(s&1|s>>1&1)) }
	for d, want := range []float64{1. / 6, 1. / 6, 2. / 3} {
		if got := shapleyValues(3, pairs)[d]; !scalar.EqualWithinAbs(got, want, exact) {
			t.Errorf("gloves: φ_%d = %g, want %g", d+1, got, want)
		}
	}
}

const exact = 1e-9

// midpoint returns E f(X), X ~ U(−4, 4), by the midpoint rule: no panels, no nodes, no knowledge of f.
func midpoint(points int, f func(float64) float64) float64 {
	var sum float64
	for i := range points {
		sum += f(halfWidth * (2*(float64(i)+0.5)/float64(points) - 1))
	}
	return sum / float64(points)
}

func TestMeanAgainstClosedForm(t *testing.T) {
	q := newQuadrature()
	for _, c := range []struct {
		name  string
		f     func(float64) float64
		kinks []float64
		want  float64
	}{
		{"x^38", func(x float64) float64 { return math.Pow(x/4, 38) }, nil, 1.0 / 39},
		{"sin(100/x)", func(x float64) float64 { return math.Sin(100 / x) }, nil, 0},
		{"|x|", math.Abs, nil, 2},
		{"|x − 0.3| + |x + 0.3|", func(x float64) float64 { return math.Abs(x-0.3) + math.Abs(x+0.3) }, []float64{0.3}, 4.0225},
		{"kinks outside, unsorted", math.Cos, []float64{7, 3.5, -1, 0, 0.2, 4}, math.Sin(4) / 4},
		{
			"exp(−1/x²)", func(x float64) float64 { return math.Exp(-1 / (x * x)) }, nil,
			math.Exp(-1.0/16) - math.Sqrt(math.Pi)*math.Erfc(0.25)/4,
		},
		{
			"exp(−x^100)", func(x float64) float64 { return math.Exp(-math.Pow(x, 100)) },
			synth5("").effects[2].kinks, math.Gamma(1.01) / 4,
		},
	} {
		if got := q.mean(c.f, c.kinks); !scalar.EqualWithinAbs(got, c.want, exact) {
			t.Errorf("%s: mean %.12g, want %.12g", c.name, got, c.want)
		}
	}
}

// TestPaperCentring checks the constants App. H.1 subtracts from f_1 and f_2 of synth1 against the means they stand for.
func TestPaperCentring(t *testing.T) {
	q, p := newQuadrature(), synth1("synth1")
	erf := math.Sqrt(math.Pi) / 8 * math.Erf(4)
	if got := q.mean(p.effects[0].f, nil); !scalar.EqualWithinAbs(got, erf, exact) {
		t.Errorf("E exp(−X²) = %.12g, the paper has %.12g", got, erf)
	}
	fresnel := math.Sqrt(2*math.Pi) / 8 * fresnelS(4*math.Sqrt(2/math.Pi))
	if got := q.mean(p.effects[1].f, nil); !scalar.EqualWithinAbs(got, -fresnel, exact) {
		t.Errorf("E sin(−X²) = %.12g, the paper has %.12g", got, -fresnel)
	}
	if got, want := q.mean(p.effects[2].f, nil), math.Sin(12)/4; !scalar.EqualWithinAbs(got, want, exact) {
		t.Errorf("E f_3 = %.12g, want %.12g: the paper does not subtract it", got, want)
	}
	if want := 3 - erf + fresnel; !scalar.EqualWithinAbs(p.constant, want, exact) {
		t.Errorf("constant %.12g, the paper has %.12g", p.constant, want)
	}
}

// fresnelS returns
//
//	S(z) = ∫₀ᶻ sin(πt²/2) dt = Σ_n (−1)ⁿ (π/2)^(2n+1) z^(4n+3) / ((2n+1)! (4n+3)).
//
// The sum cancels: at z = 3.2 it keeps ten digits, enough here and not beyond.
func fresnelS(z float64) float64 {
	term := math.Pi / 2 * z * z * z
	var sum float64
	for n := 0.0; n < 60; n++ {
		sum += term / (4*n + 3)
		term *= -(math.Pi / 2 * math.Pi / 2) * math.Pow(z, 4) / ((2*n + 2) * (2*n + 3))
	}
	return sum
}
