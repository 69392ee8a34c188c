// Package synth draws data sets with their ground truth: for every row, the Shapley value of each column and the noise
// that no column explains. They are the synthetic data sets of the paper (App. H.1), with the standard deviation of
// each column's latent draw, and sets with other properties: correlated columns, copies, irrelevant columns, labels,
// missing cells.
//
// The truth is the Shapley value of the game S ↦ E[y | x_S], for labels of the game S ↦ log odds of P(y = 1 | x_S). The
// paper's features are independent, so theirs needs integrals over only one column at a time, which Gauss–Legendre
// quadrature computes to about ten digits.
package synth

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
)

// Second words of the generator's seed: features, noise, labels, irrelevant columns and missing cells have separate
// streams. synth1-binary thus has the rows and the latent draws of synth1, and null the rows of gauss. The words are
// arbitrary (from SHA-512's initial state).
const (
	inputStream = 0x3c6ef372fe94f82b
	noiseStream = 0xa54ff53a5f1d36f1
	labelStream = 0x510e527fade682d1
	idleStream  = 0x9b05688c2b3e6c1f
	gapStream   = 0x1f83d9abfb41bd6b
)

// DefaultRho is the correlation that Generate uses for data sets with correlated columns.
const DefaultRho = 0.5

// Generate draws the given number of rows of the named data set. The same arguments give the same sample.
func Generate(name string, rows int, seed uint64) (*Sample, error) {
	return drawOf(sets(), name, rows, seed, DefaultRho)
}

// GenerateCorrelated is Generate for a data set with correlated columns; rho, 0 ≤ rho < 1, is their correlation.
func GenerateCorrelated(name string, rows int, seed uint64, rho float64) (*Sample, error) {
	if !(rho >= 0 && rho < 1) {
		return nil, fmt.Errorf("synth: correlation %g of %s asked for: need 0 or more, less than 1", rho, name)
	}
	return drawOf(correlatedSets(), name, rows, seed, rho)
}

func drawOf(known []set, name string, rows int, seed uint64, rho float64) (*Sample, error) {
	if rows < 1 {
		return nil, fmt.Errorf("synth: %d rows of %s asked for: need at least 1", rows, name)
	}
	for _, s := range known {
		if s.name == name {
			return s.sample(rows, seed, rho), nil
		}
	}
	return nil, fmt.Errorf("synth: no data set %q: there are %s", name, strings.Join(namesOf(known), ", "))
}

func (p process) sample(rows int, seed uint64) *Sample {
	g := newGame(p)
	inputs := rand.New(rand.NewPCG(seed, inputStream))
	noise := rand.New(rand.NewPCG(seed, noiseStream))
	labels := rand.New(rand.NewPCG(seed, labelStream))

	s := newSample(p.name, rows, numbered(columns))
	s.Std, s.Draw, s.Pair = matrix(columns, rows), matrix(columns, rows), matrix(columns, rows)
	if !p.labelled {
		s.Base = g.base
	}
	for i := range rows {
		var x [columns]float64
		for d := range x {
			x[d] = halfWidth * (2*inputs.Float64() - 1)
			s.X[d][i] = x[d]
		}
		s.NoiseStd[i] = p.noiseStd
		s.Expected[i] = g.expected(x) - g.base + s.Base
		for k, index := range g.interaction(x) {
			s.Pair[k][i] = index
		}
		y := s.Base
		for d, phi := range g.shapley(x) {
			var sigma float64
			if p.std[d] != nil {
				sigma = p.std[d](x[d])
			}
			s.Mean[d][i] = phi
			s.Std[d][i] = sigma
			s.Draw[d][i] = phi + sigma*noise.NormFloat64()
			y += s.Draw[d][i]
		}
		y += p.noiseStd * noise.NormFloat64()
		if p.labelled {
			y = bernoulli(labels, sigmoid(y))
		}
		s.Y[i] = y
	}
	return s
}

// bernoulli returns 1 with probability p and 0 otherwise.
func bernoulli(rnd *rand.Rand, p float64) float64 {
	if rnd.Float64() < p {
		return 1
	}
	return 0
}

// sigmoid returns 1 / (1 + exp(−z)).
func sigmoid(z float64) float64 {
	return 1 / (1 + math.Exp(-z))
}
