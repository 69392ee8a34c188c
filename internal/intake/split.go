package intake

import (
	"hash/fnv"
	"math"
	"slices"

	"github.com/psi-shapley/psi/table"
)

// sideOf a row is where it goes.
type sideOf bool

const (
	trainingSide   sideOf = false
	validationSide sideOf = true
)

// split divides rows by a hash of their unit: the row itself, or the value it has in the
// column that keeps rows together. Units with a hash up to the threshold validate.
type split struct {
	by         string
	seed       uint64
	threshold  uint64
	candidates int    // rows that the threshold lets validate
	kept       uint64 // of those, rows with a hash up to this one do
}

// exactUnits is up to how many units the share of validating rows is met exactly. Beyond
// it, the law of large numbers is exact enough.
const exactUnits = 1 << 20

// split chooses the threshold: the units with the lowest hashes validate, as many as give
// the wanted share of rows, but at least one and never all.
func (g *gathered) split(o Options) split {
	s := split{by: o.By, seed: o.Seed, kept: math.MaxUint64}
	if o.Validation != nil {
		return s // threshold 0: all train
	}
	s.threshold = uint64(o.Fraction * math.MaxUint64)
	want := max(1, int(math.Round(o.Fraction*float64(g.labelled))))
	if o.By == "" && g.rows > exactUnits {
		s.candidates = want
		return s
	}
	units := g.units
	hashes := make([]uint64, 0, len(units))
	for hash := range units {
		hashes = append(hashes, hash)
	}
	slices.Sort(hashes)
	for i, hash := range hashes[:len(hashes)-1] {
		if i > 0 && s.candidates+units[hash]/2 >= want {
			break
		}
		s.threshold = hash
		s.candidates += units[hash]
	}
	return s
}

// thin keeps about the given number of the validating rows.
func (s *split) thin(most int) {
	if s.candidates > most {
		s.kept = uint64(float64(most) / float64(s.candidates) * math.MaxUint64)
	}
}

// to says which of the rows of a chunk that count go to a side. Its first row has the given
// number.
func (s *split) to(side sideOf, chunk *table.Table, first int, counts func(row int) bool) func(row int) bool {
	by := chunk.Column(s.by)
	return func(i int) bool {
		if !counts(i) {
			return false
		}
		row := hashRow(s.seed, first+i)
		unit := row
		if by != nil {
			unit = hashCell(s.seed, by, i)
		}
		validates := unit <= s.threshold
		return validates == bool(side) && (!validates || mix(row) <= s.kept)
	}
}

// hashRow and hashCell never give 0, so that a threshold of 0 lets nothing validate.
func hashRow(seed uint64, row int) uint64 { return max(1, mix(mix(seed)+uint64(row))) }

func hashCell(seed uint64, c *table.Column, row int) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(c.Text(row))) // a hash never fails
	return max(1, mix(mix(seed)+h.Sum64()))
}

// mix is splitmix64, a bijection that scatters its argument.
func mix(x uint64) uint64 {
	x += 0x9E3779B97F4A7C15
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}
