package synth

import (
	"math"
	"math/bits"
	"math/rand/v2"

	"gonum.org/v1/gonum/integrate/quad"
)

// normal is a data set of standard normal columns. x1, x2 and x3 have the pairwise correlation ρ and determine
//
//	score = x1 + 0.8 x2 + 0.5 x1 x3;
//
// the other columns are independent of them, of each other and of y, except for a copy of x2.
type normal struct {
	name     string
	idle     int  // number of irrelevant columns x4, x5, …
	copied   bool // adds a column x2_copy
	labelled bool // y ~ Bernoulli(sigmoid(score)) in place of y = score + 0.5 ε, ε ~ N(0, 1)
}

// normals returns the data sets of correlated columns.
func normals() []normal {
	return []normal{
		{name: "gauss", idle: 2},
		{name: "copy", idle: 2, copied: true},
		{name: "null", idle: 7},
		{name: "logit", idle: 2, labelled: true},
	}
}

func score(x [columns]float64) float64 { return x[0] + 0.8*x[1] + 0.5*x[0]*x[2] }

// worth is the value of a coalition of x1, x2 and x3 on a row: bit d is column d.
type worth func(x [columns]float64, coalition uint) float64

// expectedScore returns
//
//	E[score | x_S] = E[x1 | x_S] + 0.8 E[x2 | x_S] + 0.5 (E[x1 | x_S] E[x3 | x_S] + Cov(x1, x3 | x_S)).
func expectedScore(law equicorrelated) worth {
	const x1, x3 = 1 << 0, 1 << 2
	return func(x [columns]float64, coalition uint) float64 {
		mean, _, covariance := law.given(x, coalition)
		for d := range x {
			if coalition>>d&1 == 0 {
				x[d] = mean
			}
		}
		if coalition&(x1|x3) != 0 {
			covariance = 0
		}
		return score(x) + 0.5*covariance
	}
}

// expectedLogOdds returns log(p / (1 − p)) of p = P(y = 1 | x_S) = E[sigmoid(score) | x_S].
func expectedLogOdds(law equicorrelated) worth {
	rule := newHermite()
	probability := func(x [columns]float64) float64 { return sigmoid(score(x)) }
	empty := logOdds(rule.mean(law, [columns]float64{}, 0, probability))
	return func(x [columns]float64, coalition uint) float64 {
		switch coalition {
		case 0:
			return empty
		case 1<<columns - 1:
			return score(x)
		}
		return logOdds(rule.mean(law, x, coalition, probability))
	}
}

// sample draws the set. All sets with the same seed have the same x1, x2, x3, and the same noise or labels if they have
// any.
func (n normal) sample(rows int, seed uint64, rho float64) *Sample {
	law := equicorrelated{rho}
	inputs := rand.New(rand.NewPCG(seed, inputStream))
	idle := rand.New(rand.NewPCG(seed, idleStream))
	noise := rand.New(rand.NewPCG(seed, noiseStream))
	labels := rand.New(rand.NewPCG(seed, labelStream))

	v, noiseStd := expectedScore(law), 0.5
	if n.labelled {
		v, noiseStd = expectedLogOdds(law), 0
	}
	names := numbered(columns + n.idle)
	copyOfX2 := len(names)
	players := []int{0, 1, 2} // relevant columns
	if n.copied {
		names, players = append(names, "x2_copy"), append(players, copyOfX2)
	}
	s := newSample(n.name, rows, names)
	s.Base = v([columns]float64{}, 0)
	for i := range rows {
		x := law.draw(inputs)
		for d, value := range x {
			s.X[d][i] = value
		}
		for d := range n.idle {
			s.X[columns+d][i] = idle.NormFloat64()
		}
		if n.copied {
			s.X[copyOfX2][i] = x[1]
		}
		phi := shapleyValues(len(players), func(coalition uint) float64 { return v(x, seen(coalition)) })
		for k, d := range players {
			s.Mean[d][i] = phi[k]
		}
		s.NoiseStd[i] = noiseStd
		s.Expected[i] = score(x)
		if n.labelled {
			s.Y[i] = bernoulli(labels, sigmoid(score(x)))
		} else {
			s.Y[i] = score(x) + noiseStd*noise.NormFloat64()
		}
	}
	return s
}

// seen returns the coalition of the columns that players reveal: the fourth, the copy of x2, reveals x2.
func seen(coalition uint) uint {
	return coalition&(1<<columns-1) | coalition>>columns<<1
}

// logOdds returns log(p / (1 − p)).
func logOdds(p float64) float64 { return math.Log(p / (1 - p)) }

// equicorrelated is the law of three standard normal columns of which every pair has the correlation ρ, 0 ≤ ρ < 1. Bit d
// of a coalition is column d.
type equicorrelated struct{ rho float64 }

// draw returns √ρ u + √(1−ρ) e_d: the columns share u.
func (l equicorrelated) draw(rnd *rand.Rand) [columns]float64 {
	shared := math.Sqrt(l.rho) * rnd.NormFloat64()
	var x [columns]float64
	for d := range x {
		x[d] = shared + math.Sqrt(1-l.rho)*rnd.NormFloat64()
	}
	return x
}

// given returns the conditional moments of absent columns, given the k columns of a coalition S:
//
//	E[x_a | x_S]        = ρ / (1 + (k−1)ρ) Σ_{d∈S} x_d
//	Cov(x_a, x_b | x_S) = ρ (1−ρ) / (1 + (k−1)ρ)
//	Var(x_a | x_S)      = Cov(x_a, x_b | x_S) + 1 − ρ
func (l equicorrelated) given(x [columns]float64, coalition uint) (mean, variance, covariance float64) {
	scale := l.rho / (1 + float64(bits.OnesCount(coalition)-1)*l.rho)
	for d, value := range x {
		if coalition>>d&1 == 1 {
			mean += scale * value
		}
	}
	covariance = scale * (1 - l.rho)
	return mean, covariance + 1 - l.rho, covariance
}

// hermiteNodes gives the log odds of the data set logit with an error below 1e-6 if no column is beyond ±4. The worst
// case is a large x3 and x1 absent at ρ = 0: the steeper the sigmoid, the nearer its poles. For ρ = 0.5 the error is
// 4e-8.
const hermiteNodes = 60

// hermite is the Gauss–Hermite rule for E f(Z), Z ~ N(0, 1), of functions with values in (0, 1).
type hermite struct {
	z, weight []float64
}

func newHermite() *hermite {
	const negligible = 1e-17
	var u, weight [hermiteNodes]float64
	quad.Hermite{}.FixedLocations(u[:], weight[:], math.Inf(-1), math.Inf(1)) // for ∫ exp(−u²) f(u) du
	var q hermite
	for k, w := range weight {
		if w > negligible { // halves the nodes of a double integral
			q.z, q.weight = append(q.z, math.Sqrt2*u[k]), append(q.weight, w/math.SqrtPi)
		}
	}
	return &q
}

// mean returns E[f(x) | x_S]. It integrates over one absent column after another, each given those before it.
func (q *hermite) mean(law equicorrelated, x [columns]float64, coalition uint, f func(x [columns]float64) float64) float64 {
	for d := range x {
		if coalition>>d&1 == 1 {
			continue
		}
		mean, variance, _ := law.given(x, coalition)
		std := math.Sqrt(variance)
		var sum float64
		for k, z := range q.z {
			x[d] = mean + std*z
			sum += q.weight[k] * q.mean(law, x, coalition|1<<d, f)
		}
		return sum
	}
	return f(x)
}

// gaps draws
//
//	y = x1 + … + x5 + 0.3 ε,  x, ε ~ N(0, I),
//
// and then removes each cell of x with probability ½, independently of its value. The players of the game are the
// observed cells. It is a sum of terms of one column, S ↦ Σ_{d∈S} x_d, so φ_d = x_d; a missing cell has none. Missing
// cells are noise:
//
//	Var(y | observed cells) = 0.09 + number of missing cells.
func gaps(rows int, seed uint64) *Sample {
	const terms, noiseStd = 5, 0.3
	inputs := rand.New(rand.NewPCG(seed, inputStream))
	missing := rand.New(rand.NewPCG(seed, gapStream))
	noise := rand.New(rand.NewPCG(seed, noiseStream))

	s := newSample("gaps", rows, numbered(terms))
	for i := range rows {
		variance := noiseStd * noiseStd
		for d := range terms {
			x := inputs.NormFloat64()
			s.Y[i] += x
			if missing.Float64() < 0.5 {
				s.X[d][i] = math.NaN()
				variance++
				continue
			}
			s.X[d][i], s.Mean[d][i] = x, x
			s.Expected[i] += x
		}
		s.NoiseStd[i] = math.Sqrt(variance)
		s.Y[i] += noiseStd * noise.NormFloat64()
	}
	return s
}
