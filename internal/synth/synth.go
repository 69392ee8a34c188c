// Package synth draws the synthetic data sets of the paper (App. H.1) together with what a perfect model would say
// about every row: the Shapley value of each column, the spread of its latent draw, and the noise no column owns.
//
// The inputs are independent, so the truth is the Shapley value of the game S ↦ E[y | x_S] and needs integrals over one
// column at a time only; they are done by Gauss–Legendre quadrature to about ten digits.
package synth

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
)

// Sample is a synthetic data set and its truth. Everything indexed by row is in the order of the rows, and the first
// rows of a larger sample of the same seed are the smaller sample. What is indexed by column is in the order of Columns.
//
// y follows App. H.1 with all its constants; the truth is centred. On synth1 this puts the paper's constants 2 and 1,
// and the mean sin(12)/4 ≈ −0.1341 that the paper leaves in f_3, into Base instead of into attributions.
//
// On synth1-binary Y is a label, 0 or 1, and the truth (Mean, Std, Draw, Pair, Expected, Base) is that of its log-odds
// y − E y, where y is synth1's.
type Sample struct {
	Name    string
	Rows    int
	Columns []string    // names of the inputs
	X       [][]float64 // inputs
	Y       []float64

	Mean     [][]float64 // φ_d, the Shapley value of S ↦ E[y | x_S]
	Std      [][]float64 // σ_d, the standard deviation of Draw about Mean; 0 except on synth1
	Draw     [][]float64 // the latent draw, ~ N(φ_d, σ_d²)
	Pair     [][]float64 // the Shapley interaction indices of columns 1 and 2, 1 and 3, 2 and 3
	NoiseStd []float64   // σ_0, the standard deviation of y about Base + Σ_d Draw
	Expected []float64   // E[y | x] = Base + Σ_d Mean
	Base     float64     // E y
}

// Names returns the names Generate knows.
func Names() []string {
	all := processes()
	names := make([]string, len(all))
	for i, p := range all {
		names[i] = p.name
	}
	return names
}

// Second words of the generator's seed: inputs, noise and labels are drawn from streams of their own, so that
// synth1-binary has the rows and the latent draws of synth1. The words are arbitrary (from SHA-512's initial state).
const (
	inputStream = 0x3c6ef372fe94f82b
	noiseStream = 0xa54ff53a5f1d36f1
	labelStream = 0x510e527fade682d1
)

// Generate draws that many rows of the named data set. The same arguments give the same sample.
func Generate(name string, rows int, seed uint64) (*Sample, error) {
	if rows < 1 {
		return nil, fmt.Errorf("synth: %d rows of %s asked for: need at least 1", rows, name)
	}
	for _, p := range processes() {
		if p.name == name {
			return p.sample(rows, seed), nil
		}
	}
	return nil, fmt.Errorf("synth: no data set %q: there are %s", name, strings.Join(Names(), ", "))
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

// newSample returns a sample of columns of that many rows, all of them zero, without Std, Draw and Pair.
func newSample(name string, rows int, columns []string) *Sample {
	return &Sample{
		Name: name, Rows: rows, Columns: columns,
		X: matrix(len(columns), rows), Y: make([]float64, rows),
		Mean: matrix(len(columns), rows), NoiseStd: make([]float64, rows), Expected: make([]float64, rows),
	}
}

// matrix returns columns of that many zeros.
func matrix(columns, rows int) [][]float64 {
	m := make([][]float64, columns)
	for d := range m {
		m[d] = make([]float64, rows)
	}
	return m
}

// numbered returns the names x1, x2, ….
func numbered(columns int) []string {
	names := make([]string, columns)
	for d := range names {
		names[d] = "x" + strconv.Itoa(d+1)
	}
	return names
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
