package report

import (
	"math/rand/v2"

	"github.com/psi-shapley/psi/table"
)

// sampleStream is the second word of the seed of everything random.
const sampleStream = 0x7265706f7274

// sample holds rows drawn at random from all that were read.
type sample struct {
	*table.Sample
	rng *rand.Rand
}

func newSample(most int, seed uint64) *sample {
	rng := rand.New(rand.NewPCG(seed, sampleStream))
	return &sample{table.NewSample(most, rng), rng}
}

// draw draws some of n rows in random order.
func (s *sample) draw(n, some int) []int { return s.rng.Perm(n)[:min(n, some)] }
