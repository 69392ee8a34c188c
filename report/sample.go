package report

import (
	"math/rand/v2"

	"github.com/psi-shapley/psi/table"
)

// sampleStream is the second word of the seed of all that is drawn.
const sampleStream = 0x7265706f7274

// sample is rows drawn at random from all that were read, and what is drawn of them.
type sample struct {
	*table.Sample
	rng *rand.Rand
}

func newSample(most int, seed uint64) *sample {
	rng := rand.New(rand.NewPCG(seed, sampleStream))
	return &sample{table.NewSample(most, rng), rng}
}

// draw chooses some of n rows, without regard to their order.
func (s *sample) draw(n, some int) []int { return s.rng.Perm(n)[:min(n, some)] }
