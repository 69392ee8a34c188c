package baseline

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/train"
)

const (
	maxRows   = 100_000
	maxCells  = 2_000_000 // rows × columns × outputs, which determines the work
	minDrawn  = 500       // minimum rows, for a table of any width
	foldCount = 5
	fewCells  = 100_000 // up to which every fold is held out in turn, instead of the first alone
)

// sample holds training rows in random order, rows of one unit side by side. The penalty of the linear model and the
// rounds of the additive one are chosen by the loss of a held-out fold; with few rows, by that of each fold in turn.
type sample struct {
	rows   *encode.Batch
	y      []float64
	weight []float64
	folds  []int // starts of the folds, and the end of the last
	tried  int   // number of folds held out, one at a time
}

func newSample(rows *encode.Batch, y, weight []float64, outputs int) *sample {
	s := &sample{rows: rows, y: y, weight: weight, tried: 1}
	for k := range foldCount + 1 {
		s.folds = append(s.folds, k*len(y)/foldCount)
	}
	if len(y)*rows.Players()*outputs <= fewCells {
		s.tried = foldCount
	}
	return s
}

func (s *sample) len() int { return len(s.y) }

// without returns the rows' weights with 0 in a fold.
func (s *sample) without(fold int) []float64 {
	weight := slices.Clone(s.weight)
	clear(weight[s.folds[fold]:s.folds[fold+1]])
	return weight
}

// sampledRows returns the number of rows of a table to sample.
func sampledRows(rows, columns, outputs int) int {
	return min(rows, maxRows, max(minDrawn, maxCells/max(1, columns*outputs)))
}

// draw draws the sample, which is the same for the same rows.
func draw(p Problem) (*sample, error) { return drawSome(p, maxRows) }

// drawSome draws at most the given number of rows.
func drawSome(p Problem, some int) (*sample, error) {
	first, err := p.Rows.Read(0, 1)
	if err != nil {
		return nil, err
	}
	outputs := family{p.Classes}.outputs()
	n := min(some, sampledRows(p.Rows.Len(), first.Rows.Players(), outputs))
	chosen := choose(p.Rows.Len(), n)
	unit := func(row int) uint64 {
		if p.Units != nil {
			return scramble(p.Units[row])
		}
		return scramble(uint64(row))
	}
	slices.SortFunc(chosen, func(a, b int) int { return cmp.Or(cmp.Compare(unit(a), unit(b)), cmp.Compare(a, b)) })
	s := newSample(first.Rows.Like(n), make([]float64, n), make([]float64, n), outputs)
	read := func(row int) (train.Data, int, error) {
		d, err := p.Rows.Read(row, row+1)
		return d, 0, err
	}
	if p.Rows.InMemory() {
		all, err := p.Rows.Read(0, p.Rows.Len())
		if err != nil {
			return nil, err
		}
		read = func(row int) (train.Data, int, error) { return all, row, nil }
	}
	for i, row := range chosen {
		d, at, err := read(row)
		if err != nil {
			return nil, err
		}
		s.rows.Set(i, d.Rows, at)
		s.y[i], s.weight[i] = float64(d.Target[at]), float64(d.Weight[at])
	}
	s.align(func(i int) bool { return unit(chosen[i]) == unit(chosen[i-1]) })
	return s, nil
}

// align moves the ends of folds to ends of units. If that leaves a fold empty, it divides units: there are too few of
// them.
func (s *sample) align(same func(i int) bool) {
	moved := slices.Clone(s.folds)
	for k := range moved[:foldCount] {
		for moved[k] > 0 && moved[k] < s.len() && same(moved[k]) {
			moved[k]++
		}
	}
	for k := range foldCount {
		if moved[k] >= moved[k+1] {
			return
		}
	}
	s.folds = moved
}

// choose draws some of n numbers without repetition (Floyd's algorithm).
func choose(n, some int) []int {
	chosen := make([]int, 0, some)
	if some == n {
		for i := range n {
			chosen = append(chosen, i)
		}
		return chosen
	}
	rng := rand.New(rand.NewPCG(0, sampleStream))
	seen := make(map[int]bool, some)
	for i := n - some; i < n; i++ {
		k := rng.IntN(i + 1)
		if seen[k] {
			k = i
		}
		seen[k] = true
		chosen = append(chosen, k)
	}
	return chosen
}

const sampleStream = 0x62617365 // of the generator

// scramble is a bijection of words that maps neighbours to pseudorandom numbers: the finaliser of SplitMix64 (Steele,
// Lea and Flood 2014).
func scramble(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
