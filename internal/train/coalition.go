package train

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/psi-shapley/psi/internal/form"
)

// Sampler is a distribution over the coalitions of a row's observed players.
type Sampler string

const (
	// UniformSize draws the size uniformly from 0..n, then a uniform subset.
	UniformSize Sampler = "uniform"
	// Kernel draws the size s with probability ∝ 1/(s(n−s)), 0 < s < n, then a uniform
	// subset: the Shapley kernel, under which least squares gives Shapley values.
	Kernel Sampler = "kernel"
	// Bernoulli keeps each player with probability 1/2.
	Bernoulli Sampler = "bernoulli"
	// TwoThirds keeps each player with probability 2/3. The paper calls its p "the probability of introducing a
	// feature", though it names it p_missing.
	TwoThirds Sampler = "two-thirds"
)

// Validate returns an error if the sampler is unknown.
func (s Sampler) Validate() error {
	switch s {
	case UniformSize, Kernel, Bernoulli, TwoThirds:
		return nil
	}
	return fmt.Errorf("unknown sampler %q: choose %s, %s, %s or %s", s, UniformSize, Kernel, Bernoulli, TwoThirds)
}

// draw writes a random coalition of the players in whole to part.
func (s Sampler) draw(rng *rand.Rand, whole, part []float32) {
	n := count(whole)
	switch s {
	case Bernoulli:
		for d, present := range whole {
			part[d] = present * float32(rng.Uint32()&1)
		}
	case TwoThirds:
		for d, present := range whole {
			part[d] = 0
			if rng.IntN(3) != 0 {
				part[d] = present
			}
		}
	case Kernel:
		subset(rng, whole, part, n, kernelSize(rng, n))
	default:
		subset(rng, whole, part, n, rng.IntN(n+1))
	}
}

func count(mask []float32) (n int) {
	for _, present := range mask {
		if present != 0 {
			n++
		}
	}
	return n
}

// kernelSize draws s with probability ∝ 1/(s(n−s)) = (1/s + 1/(n−s))/n: it draws s with probability ∝ 1/s and returns s
// or n−s with equal probability. With fewer than two players there is no such s, and the coalition is empty.
func kernelSize(rng *rand.Rand, n int) int {
	if n < 2 {
		return 0
	}
	total := 0.0
	for s := 1; s < n; s++ {
		total += 1 / float64(s)
	}
	at := rng.Float64() * total
	s := 1
	for ; s < n-1; s++ {
		if at -= 1 / float64(s); at < 0 {
			break
		}
	}
	if rng.Uint32()&1 == 0 {
		return n - s
	}
	return s
}

// subset writes a uniform subset of the given size of the n players in whole.
func subset(rng *rand.Rand, whole, part []float32, n, size int) {
	for d, present := range whole {
		part[d] = 0
		if present == 0 {
			continue
		}
		if rng.IntN(n) < size {
			part[d] = 1
			size--
		}
		n--
	}
}

// before draws a player of whole and the players that precede it in a uniform random order. Their number is uniform on
// 0..n−1. pick marks the player. Without players everything stays empty.
func before(rng *rand.Rand, whole, pick []float32, predecessors ...[]float32) {
	clear(pick)
	for _, p := range predecessors {
		clear(p)
	}
	n := count(whole)
	if n == 0 {
		return
	}
	subset(rng, whole, pick, n, 1)
	rest := make([]float32, len(whole))
	for d := range whole {
		rest[d] = whole[d] - pick[d]
	}
	for _, p := range predecessors {
		subset(rng, rest, p, n-1, rng.IntN(n))
	}
}

// maskedCopies is the number of masked copies of a validation row in a score.
const maskedCopies = 4

// hideSome evaluates masked copies of some rows with the averaged weights, and returns their targets. The copies are
// the same each time.
func (r *Run) hideSome(ctx context.Context, rows Data) (*form.Explained, Data, error) {
	in, n := r.net.Inputs, rows.Len()*maskedCopies
	b := minibatch{Data: rows, masks: make([]float32, rows.Len()*in.Players()), copies: 1, players: in.Players(), groups: in.Groups}
	masks, part := make([]float32, 0, n*in.Columns()), make([]float32, in.Players())
	copies := Data{Target: make([]float32, 0, n), Weight: make([]float32, 0, n)}
	player := in.PlayerOf()
	rng := rand.New(rand.NewPCG(0, 0))
	for row := range rows.Len() {
		b.observe(row)
		for range maskedCopies {
			r.Sampler.draw(rng, b.mask(row, 0), part)
			for d, p := range player {
				masks = append(masks, part[p]*rows.Rows.Observed[row*len(player)+d])
			}
			copies.Target, copies.Weight = append(copies.Target, rows.Target[row]), append(copies.Weight, rows.Weight[row])
		}
	}
	values, err := r.evaluator.Coalitions(ctx, rows.Rows, masks, maskedCopies)
	return &form.Explained{Value: values}, copies, err
}
