package synth

import (
	"math"
	"math/rand/v2"
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
