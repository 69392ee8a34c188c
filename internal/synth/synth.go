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
	"slices"
	"strconv"
	"strings"

	"github.com/psi-shapley/psi/table"
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

// set is a data set that can be drawn.
type set struct {
	name   string
	sample func(rows int, seed uint64, rho float64) *Sample // rho is ignored without correlated columns
}

// sets returns all data sets, in the order they are listed in.
func sets() []set {
	independent := func(name string, sample func(rows int, seed uint64) *Sample) set {
		return set{name, func(rows int, seed uint64, _ float64) *Sample { return sample(rows, seed) }}
	}
	known := processes()
	paper := make([]set, len(known))
	for i, p := range known {
		paper[i] = independent(p.name, p.sample)
	}
	return slices.Concat(paper, correlatedSets(), []set{independent("gaps", gaps)})
}

func correlatedSets() []set {
	known := normals()
	all := make([]set, len(known))
	for i, n := range known {
		all[i] = set{n.name, n.sample}
	}
	return all
}

// Names returns the names that Generate accepts.
func Names() []string { return namesOf(sets()) }

// CorrelatedNames returns the names that GenerateCorrelated accepts.
func CorrelatedNames() []string { return namesOf(correlatedSets()) }

func namesOf(sets []set) []string {
	names := make([]string, len(sets))
	for i, s := range sets {
		names[i] = s.name
	}
	return names
}

// Sample is a synthetic data set with its ground truth. Arrays by row are in the order of the rows, and the first rows
// of a larger sample with the same seed are the smaller sample. Arrays by column are in the order of Columns.
//
// y follows App. H.1 with all its constants; the truth is centred. On synth1 this moves the paper's constants 2 and 1,
// and the mean sin(12)/4 ≈ −0.1341 that the paper leaves in f_3, from attributions to Base.
//
// On synth1-binary Y is a label, 0 or 1, and the truth (Mean, Std, Draw, Pair, Expected, Base) is that of its log odds
// y − E y, where y is synth1's. On logit Y is a label too, and the truth is that of log odds: φ_d is the Shapley value
// of S ↦ log(p_S / (1 − p_S)), p_S = P(y = 1 | x_S).
type Sample struct {
	Name    string
	Rows    int
	Columns []string    // names of the inputs
	X       [][]float64 // features; NaN is a missing cell
	Y       []float64

	Mean     [][]float64 // φ_d, the Shapley value of S ↦ E[y | x_S]; 0 for a missing cell
	NoiseStd []float64   // σ_0, the standard deviation of y about Expected, or about Base + Σ_d Draw where there is a Draw
	Expected []float64   // E[y | x] = Base + Σ_d Mean
	Base     float64     // E y

	// Only the sets of App. H.1 have these; they are nil on others.
	Std  [][]float64 // σ_d, the standard deviation of Draw about Mean; 0 except on synth1
	Draw [][]float64 // the latent draw, ~ N(φ_d, σ_d²)
	Pair [][]float64 // the Shapley interaction indices of columns 1 and 2, 1 and 3, 2 and 3
}

// newSample returns a sample of zeros with the given columns and rows, without Std, Draw and Pair.
func newSample(name string, rows int, columns []string) *Sample {
	return &Sample{
		Name: name, Rows: rows, Columns: columns,
		X: matrix(len(columns), rows), Y: make([]float64, rows),
		Mean: matrix(len(columns), rows), NoiseStd: make([]float64, rows), Expected: make([]float64, rows),
	}
}

// matrix returns columns of zeros.
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

// Table returns what a model is trained on: the features and y.
func (s *Sample) Table() (*table.Table, error) {
	return table.New(append(s.perInput("", s.X), table.NumberColumn("y", s.Y, nil))...)
}

// TruthTable returns the ground truth: row, mean_x1, …, noise_std, expected_y, and after the means std_x1, …, draw_x1,
// … for the sets of App. H.1. On synth1-binary and logit expected_y is on the scale of the rest, the log odds.
func (s *Sample) TruthTable() (*table.Table, error) {
	row := make([]float64, s.Rows)
	for i := range row {
		row[i] = float64(i)
	}
	return table.New(slices.Concat(
		[]*table.Column{table.NumberColumn("row", row, nil)},
		s.perInput("mean_", s.Mean),
		s.perInput("std_", s.Std),
		s.perInput("draw_", s.Draw),
		[]*table.Column{
			table.NumberColumn("noise_std", s.NoiseStd, nil),
			table.NumberColumn("expected_y", s.Expected, nil),
		},
	)...)
}

// perInput returns one column per feature, named after it; none if there are no values.
func (s *Sample) perInput(prefix string, values [][]float64) []*table.Column {
	cols := make([]*table.Column, len(values))
	for d := range cols {
		cols[d] = table.NumberColumn(prefix+s.Columns[d], values[d], nil)
	}
	return cols
}
