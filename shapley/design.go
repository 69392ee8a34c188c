package shapley

import (
	"math/bits"
	"math/rand/v2"
	"slices"
)

// designSeed determines the coalitions of a design. Games differ by the assignment of their players to the design's
// seats.
const designSeed = 0x726566696e6564

// newDesign lists at most budget coalitions of n players, the most informative ones about Shapley values first. These
// are N, then all coalitions that lack one player, then all single players. Then follow pairs of a coalition and its
// complement, with sizes drawn by the Shapley kernel 1/(s(n−s)), without repetition. ∅ is not included, because a
// network's f(∅) is 0.
func newDesign(n, budget int) *Coalitions {
	list := [][]uint64{}
	words := max(1, (n+wordBits-1)/wordBits)
	seen := map[string]bool{}
	add := func(s []uint64) {
		if key := wordsKey(s); len(list) < budget && !seen[key] {
			seen[key] = true
			list = append(list, slices.Clone(s))
		}
	}
	one := NewCoalitions(2, n)
	single := func(player int) {
		clear(one.words)
		if player >= 0 {
			one.Add(0, player)
		}
		one.complement(1, 0)
	}
	single(-1)
	add(one.row(1))
	for j := range n {
		if n > 1 {
			single(j)
			add(one.row(1))
		}
	}
	for j := range n {
		single(j)
		add(one.row(0))
	}
	rng := rand.New(rand.NewPCG(designSeed, uint64(n)))
	pairs := func(s []uint64) {
		copy(one.row(0), s)
		one.complement(1, 0)
		if seen[wordsKey(s)] || len(list)+2 > budget {
			return
		}
		add(one.row(0))
		add(one.row(1))
	}
	if n <= MaxExact {
		for _, s := range kernelOrder(n, rng) {
			pairs([]uint64{s})
		}
	} else {
		weights := kernelSizes(n)
		for tries := 0; len(list)+2 <= budget && tries < 2*budget; tries++ {
			clear(one.words)
			for _, player := range rng.Perm(n)[:drawSize(weights, rng)] {
				one.Add(0, player)
			}
			pairs(slices.Clone(one.row(0)))
		}
	}
	all := NewCoalitions(len(list), n)
	for i, s := range list {
		copy(all.row(i), s[:words])
	}
	return all
}

func wordsKey(s []uint64) string {
	key := make([]byte, 0, 8*len(s))
	for _, w := range s {
		for k := 0; k < wordBits; k += 8 {
			key = append(key, byte(w>>k))
		}
	}
	return string(key)
}

// kernelSizes returns 1/(s(n−s)) for s = 2, …, n−2 at index s, and 0 elsewhere.
func kernelSizes(n int) []float64 {
	weights := make([]float64, n+1)
	for s := 2; s <= n-2; s++ {
		weights[s] = 1 / float64(s*(n-s))
	}
	return weights
}

func drawSize(weights []float64, rng *rand.Rand) int {
	total := 0.0
	for _, w := range weights {
		total += w
	}
	pick := rng.Float64() * total
	last := 0
	for s, w := range weights {
		if w == 0 {
			continue
		}
		last = s
		if pick -= w; pick < 0 {
			break
		}
	}
	return last
}

// kernelOrder returns one of each pair of complements of n players, in random order: the kernel draws them without
// replacement.
func kernelOrder(n int, rng *rand.Rand) []uint64 {
	type drawn struct {
		s    uint64
		when float64
	}
	weights := kernelSizes(n)
	var list []drawn
	for s := range uint64(1) << max(0, n-1) { // those without the last player
		if size := bits.OnesCount64(s); weights[size] > 0 {
			list = append(list, drawn{s, rng.ExpFloat64() * binomial(n, size) / weights[size]})
		}
	}
	slices.SortFunc(list, func(a, b drawn) int {
		if a.when < b.when {
			return -1
		}
		return 1
	})
	order := make([]uint64, len(list))
	for i, d := range list {
		order[i] = d.s
	}
	return order
}

// overlap returns |S∩S′|.
func overlap(s *Coalitions, i, j int) int {
	a, b := s.row(i), s.row(j)
	size := 0
	for w := range a {
		size += bits.OnesCount64(a[w] & b[w])
	}
	return size
}
