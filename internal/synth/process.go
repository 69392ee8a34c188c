package synth

import "math"

// columns is the number of inputs x_1, x_2, x_3 of every process.
const columns = 3

// process is one data generating process of App. H.1,
//
//	y = c + Σ_d f_d(x_d) + Σ_{a<b} f_ab(x_a, x_b) + Σ_d σ_d(x_d) ε_d + σ_0 ε_0,  ε ~ N(0, I),
//
// with x ~ U(−4, 4)³.
type process struct {
	name         string
	constant     float64 // c
	effects      [columns]effect
	interactions []interaction
	std          [columns]func(x float64) float64 // σ_d; nil is 0
	noiseStd     float64                          // σ_0
	labelled     bool                             // Bernoulli(sigmoid(y − E y)) is observed instead of y
}

// effect is a main effect f_d.
type effect struct {
	f     func(x float64) float64
	kinks []float64 // as in quadrature.mean
}

// interaction is a term f_ab of two columns.
type interaction struct {
	a, b int
	f    func(xa, xb float64) float64

	// kinks lists, as in quadrature.mean, where f is not smooth in one argument while the other is held at x. It
	// applies to both arguments, so the curves on which f has kinks must be symmetric in a and b. nil means none.
	kinks func(x float64) []float64
}

// processes returns the data generating processes in the order of App. H.1.
func processes() []process {
	return []process{
		synth1("synth1"),
		synth2("synth2"),
		synth3("synth3"),
		synth4("synth4"),
		synth5("synth5"),
		synth5Paper("synth5-paper"),
		synth1Binary("synth1-binary"),
	}
}

// synth1 is additive and heteroscedastic:
//
//	f_1 ~ N(2 + exp(−x_1²) − E exp(−X²), 0.6 cos(0.03 x_1)^800)
//	f_2 ~ N(1 + sin(−x_2²) − E sin(−X²), 0.2 |x_2|)
//	f_3 = 3 cos(3x_3) + 4 sin(5x_3)
//
// The second argument of N is a standard deviation. The paper writes the two expectations out, as √π/8 erf(4) and
// −√(2π)/8 S(4√(2/π)) with S the Fresnel integral.
func synth1(name string) process {
	q := newQuadrature()
	bell := func(x float64) float64 { return math.Exp(-x * x) }
	chirp := func(x float64) float64 { return math.Sin(-x * x) }
	return process{
		name:     name,
		constant: 2 - q.mean(bell, nil) + 1 - q.mean(chirp, nil),
		effects: [columns]effect{
			{f: bell},
			{f: chirp},
			{f: func(x float64) float64 { return 3*math.Cos(3*x) + 4*math.Sin(5*x) }},
		},
		std: [columns]func(float64) float64{
			func(x float64) float64 { return 0.6 * math.Pow(math.Cos(0.03*x), 800) },
			func(x float64) float64 { return 0.2 * math.Abs(x) },
			nil,
		},
	}
}

// synth1Binary replaces y of synth1 by a label that is 1 with probability sigmoid(y − E y). It is not in the paper.
func synth1Binary(name string) process {
	p := synth1(name)
	p.labelled = true
	return p
}

// synth2 is additive and free of noise:
//
//	f_1 = exp(−x_1²) x_1
//	f_2 = 0.5 x_2 sin(x_2)
//	f_3 = cos(3x_3) sin(x_3)
func synth2(name string) process {
	return process{
		name: name,
		effects: [columns]effect{
			{f: func(x float64) float64 { return math.Exp(-x*x) * x }},
			{f: func(x float64) float64 { return 0.5 * x * math.Sin(x) }},
			{f: func(x float64) float64 { return math.Cos(3*x) * math.Sin(x) }},
		},
	}
}

// synth3 has every pairwise interaction, and noise of variance 0.01:
//
//	f_1  = 4 sin(x_1) + 2 sin(2x_1)
//	f_2  = 3 cos(3x_2) sin(5x_2)
//	f_3  = cos(2x_3) + x_3²/7
//	f_12 = exp(−(x_1 + x_2)²)
//	f_13 = (x_1 − 3) x_3 sin(x_1) cos(x_3) / 2
//	f_23 = x_2 x_3 / 2
func synth3(name string) process {
	return process{
		name: name,
		effects: [columns]effect{
			{f: func(x float64) float64 { return 4*math.Sin(x) + 2*math.Sin(2*x) }},
			{f: func(x float64) float64 { return 3 * math.Cos(3*x) * math.Sin(5*x) }},
			{f: func(x float64) float64 { return math.Cos(2*x) + x*x/7 }},
		},
		interactions: []interaction{
			{a: 0, b: 1, f: func(x1, x2 float64) float64 { return math.Exp(-(x1 + x2) * (x1 + x2)) }},
			{a: 0, b: 2, f: func(x1, x3 float64) float64 { return (x1 - 3) * x3 * math.Sin(x1) * math.Cos(x3) / 2 }},
			{a: 1, b: 2, f: func(x2, x3 float64) float64 { return x2 * x3 / 2 }},
		},
		noiseStd: 0.1,
	}
}

// synth4 oscillates without bound near x_1 = 0, and is free of noise:
//
//	f_1  = exp(−1/x_1²) + sin(100/x_1)
//	f_2  = exp(−|cos|x_2| + sin(2x_2)/2|) + x_2/4
//	f_3  = tanh(x_3²)
//	f_12 = sin(x_1² + x_2²) / 2
//
// cos(x) + sin(2x)/2 = cos(x)(1 + sin(x)) changes sign at ±π/2.
func synth4(name string) process {
	return process{
		name: name,
		effects: [columns]effect{
			{f: func(x float64) float64 { return math.Exp(-1/(x*x)) + math.Sin(100/x) }},
			{
				f: func(x float64) float64 {
					return math.Exp(-math.Abs(math.Cos(math.Abs(x))+math.Sin(2*x)/2)) + x/4
				},
				kinks: []float64{math.Pi / 2},
			},
			{f: func(x float64) float64 { return math.Tanh(x * x) }},
		},
		interactions: []interaction{
			{a: 0, b: 1, f: func(x1, x2 float64) float64 { return math.Sin(x1*x1+x2*x2) / 2 }},
		},
	}
}

// synth5 has a step, ridges and noise of variance 0.01:
//
//	f_1  = |x_1|/10 + x_1²/10 + sin(x_1)
//	f_2  = cos(5x_2) + sin(2x_2) + x_2
//	f_3  = exp(−x_3^100)
//	f_12 = 5 (x_1^10 + x_2^10)^(1/10) / 2
//	f_23 = 5 |sin(x_3 x_2) cos(x_3 x_2)| / 2
//
// The paper defines f_23 but leaves it out of y. The error it reports fits only with it, so here it is in; synth5Paper
// follows the text.
func synth5(name string) process {
	p := synth5Paper(name)
	p.interactions = append(p.interactions, interaction{
		a: 1, b: 2,
		f: func(x2, x3 float64) float64 {
			sin, cos := math.Sincos(x3 * x2)
			return 5 * math.Abs(sin*cos) / 2
		},
		kinks: hyperbolas,
	})
	return p
}

// synth5Paper is synth5 without f_23 in y, as the paper's text has it.
func synth5Paper(name string) process {
	return process{
		name: name,
		effects: [columns]effect{
			{f: func(x float64) float64 { return math.Abs(x)/10 + x*x/10 + math.Sin(x) }},
			{f: func(x float64) float64 { return math.Cos(5*x) + math.Sin(2*x) + x }},
			{
				f:     func(x float64) float64 { return math.Exp(-math.Pow(x, 100)) },
				kinks: []float64{0.9, 1.1}, // smooth, but it falls only between these
			},
		},
		interactions: []interaction{{
			a: 0, b: 1,
			f:     func(x1, x2 float64) float64 { return 5 * math.Pow(tenthPower(x1)+tenthPower(x2), 0.1) / 2 },
			kinks: doublings,
		}},
		noiseStd: 0.1,
	}
}

// tenthPower returns x^10. Most of the time of drawing synth5 is spent under f_12, and math.Pow would double it.
func tenthPower(x float64) float64 {
	square := x * x
	return square * square * square * square * square
}

// doublings returns |x|, 2|x|, 4|x|, … below 4. (x^10 + u^10)^(1/10) is smooth in u, on the scale of |x|, and has the
// nearest of its complex branch points at distance sin(π/10) |x| from the real line: these panels resolve it at any |x|.
func doublings(x float64) []float64 {
	var kinks []float64
	if x != 0 {
		for u := math.Abs(x); u < halfWidth; u *= 2 {
			kinks = append(kinks, u)
		}
	}
	return kinks
}

// hyperbolas returns the u in (0, 4) at which |sin(xu) cos(xu)| = |sin(2xu)|/2 has a kink: xu = kπ/2.
func hyperbolas(x float64) []float64 {
	var kinks []float64
	for k := 1.0; k*math.Pi/2 < math.Abs(x)*halfWidth; k++ {
		kinks = append(kinks, k*math.Pi/2/math.Abs(x))
	}
	return kinks
}
