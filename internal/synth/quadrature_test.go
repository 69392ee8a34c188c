package synth

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"
)

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
