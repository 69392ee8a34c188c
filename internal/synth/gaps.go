package synth

import (
	"math"
	"math/rand/v2"
)

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
