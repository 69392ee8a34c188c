package shapley

import (
	"fmt"
	"math"
)

// Prior is a prior distribution of the games of a network, and of the network's own attributions of their coalitions. A
// game is a sum over the coalitions T of players that can replace each other,
//
//	v(S) = Σ_{T∩S≠∅} l_T,   φ_d(S) = Σ_{T∋d} l_T / |T∩S|
//
// because l_T counts as soon as a member of T is present, and the present members share it equally. Every game is such
// a sum. The network's attributions f_d(S) = φ_d(S) + δ_d(S) have errors δ that sum to 0. A priori, all l_T and all
// errors are independent with mean zero, except that errors of similar coalitions are correlated:
//
//	E l_T² = Shared[|T|−1]
//	E δ_d(S) δ_e(S′) = √(Own[|S|−1] Own[|S′|−1]) Steady^|SΔS′| · Σ_{j∈S∩S′} (1{j=d} − 1/|S|)(1{j=e} − 1/|S′|)
type Prior struct {
	Shared []float64 `json:"shared"` // by the size of T, from 1
	Own    []float64 `json:"own"`    // by the size of S, from 1; larger sizes have the last value
	Steady float64   `json:"steady"` // correlation of the errors of a coalition and of it with one more player

	Widths  []Width   `json:"widths"`  // factors of standard errors, by evaluations; empty means 1
	Players []float64 `json:"players"` // additional factors of each player; empty means 1
}

// Validate returns an error if the prior is invalid.
func (p Prior) Validate() error {
	if len(p.Shared) == 0 || len(p.Own) == 0 {
		return fmt.Errorf("shapley: a prior of %d and %d sizes of coalitions", len(p.Shared), len(p.Own))
	}
	for _, list := range [][]float64{p.Shared, p.Own} {
		for _, x := range list {
			if !(x >= 0) || math.IsInf(x, 0) {
				return fmt.Errorf("shapley: a prior variance of %v", x)
			}
		}
	}
	if !(p.Steady >= 0 && p.Steady <= 1) {
		return fmt.Errorf("shapley: a correlation of %v", p.Steady)
	}
	for k, w := range p.Widths {
		if !(w.Attribution >= 0) || !(w.Interaction >= 0) || math.IsInf(w.Attribution+w.Interaction, 0) ||
			math.IsNaN(w.PerPlayer) || k > 0 && w.PerPlayer <= p.Widths[k-1].PerPlayer {
			return fmt.Errorf("shapley: widths %v of standard errors", w)
		}
	}
	for _, x := range p.Players {
		if !(x >= 0) || math.IsInf(x, 0) {
			return fmt.Errorf("shapley: a player's width of %v", x)
		}
	}
	return nil
}

// player returns the factor of a player.
func (p Prior) player(who int) float64 {
	if who >= len(p.Players) {
		return 1
	}
	return p.Players[who]
}

// observation is one observed number of a game.
type observation struct {
	kind   observationKind
	s      int // index of its coalition in the design
	player int
}

type observationKind uint8

const (
	ofValue  observationKind = iota // v(S)
	ofPart                          // f_player(S)
	ofAround                        // Σ_{j≠player} f_player(N∖j), the recursion's sum; N∖j has the index 1+j
)

// covariances computes the covariances of observations of a game of n players and of its unknown values under a prior.
// They depend on the sizes of overlaps and their members.
type covariances struct {
	Prior
	n      int
	design *Coalitions
	sizes  []int              // sizes of the design's coalitions
	ways   [][]float64        // binomial coefficients
	shares map[[6]int]float64 // cache of shared
	around [2]float64         // variance and covariance of ofAround
}

func newCovariances(p Prior, design *Coalitions) *covariances {
	n := design.Players()
	c := &covariances{Prior: p, n: n, design: design, shares: map[[6]int]float64{}}
	for i := range design.Len() {
		c.sizes = append(c.sizes, design.Size(i))
	}
	c.ways = make([][]float64, n+1)
	for i := range c.ways {
		c.ways[i] = make([]float64, min(i, len(p.Shared))+1)
		for k := range c.ways[i] {
			c.ways[i][k] = binomial(i, k)
		}
	}
	if n > 2 && design.Len() > n {
		for k := range c.around {
			for j := range n {
				if j != 0 {
					c.around[k] += c.between(observation{ofPart, 1 + j, 0}, observation{ofAround, 0, k})
				}
			}
		}
	}
	return c
}

// binomial returns the number of ways to choose k of n.
func binomial(n, k int) float64 {
	ways := 1.0
	for j := 1; j <= k; j++ {
		ways *= float64(n-k+j) / float64(j)
	}
	return ways
}

// choose returns binomial from a table.
func (c *covariances) choose(n, k int) float64 {
	if n < 0 || k < 0 || k >= len(c.ways[n]) {
		return 0
	}
	return c.ways[n][k]
}

// shared returns Σ_T E l_T² / (|T∩S| |T∩S′|) over the T that contain given players. Of these, both are in S and S′,
// first in S alone and second in S′ alone, where i players are in both, p in S alone and q in S′ alone.
func (c *covariances) shared(both, first, second, i, p, q int) float64 {
	key := [6]int{both, first, second, i, p, q}
	if sum, known := c.shares[key]; known {
		return sum
	}
	r, sum, maxSize := c.n-i-p-q, 0.0, len(c.Shared)
	for x := both; x <= min(i, maxSize); x++ {
		for y := first; y <= min(p, maxSize-x); y++ {
			for z := second; z <= min(q, maxSize-x-y); z++ {
				if x+y == 0 || x+z == 0 {
					continue
				}
				ways := c.choose(i-both, x-both) * c.choose(p-first, y-first) * c.choose(q-second, z-second)
				for w := 0; w <= min(r, maxSize-x-y-z); w++ {
					sum += c.Shared[x+y+z+w-1] * ways * c.choose(r, w) / float64((x+y)*(x+z))
				}
			}
		}
	}
	c.shares[key] = sum
	return sum
}

// place classifies a player for shared.
func place(inS, inOther bool) (both, first, second int) {
	switch {
	case inS && inOther:
		return 1, 0, 0
	case inS:
		return 0, 1, 0
	}
	return 0, 0, 1
}

// parts returns the covariance of φ_d(S) and φ_e(S′), given |S∩S′|, |S∖S′|, |S′∖S|, and whether d is in S′ and e in S.
func (c *covariances) parts(same, dIn, eIn bool, i, p, q int) float64 {
	if same {
		return c.shared(1, 0, 0, i, p, q)
	}
	both, first, second := place(true, dIn)
	x, y, z := place(eIn, true)
	return c.shared(both+x, first+y, second+z, i, p, q)
}

// values returns Σ_T E l_T² over the T that meet both S and S′.
func (c *covariances) values(i, p, q int) float64 {
	sum := 0.0
	for k := 1; k <= min(c.n, len(c.Shared)); k++ {
		sum += c.Shared[k-1] * (c.choose(c.n, k) - c.choose(c.n-i-p, k) - c.choose(c.n-i-q, k) + c.choose(c.n-i-p-q, k))
	}
	return sum
}

// valuePart returns the covariance of v(S) = Σ_d φ_d(S) and φ_e(S′).
func (c *covariances) valuePart(eIn bool, i, p, q int) float64 {
	own, others := 0.0, float64(i)
	if eIn {
		own, others = c.parts(true, true, true, i, p, q), float64(i-1)
	}
	if others > 0 {
		own += others * c.parts(false, true, eIn, i, p, q)
	}
	if p > 0 {
		own += float64(p) * c.parts(false, false, eIn, i, p, q)
	}
	return own
}

// errors returns the covariance of δ_d(S) and δ_e(S′).
func (c *covariances) errors(same, dIn, eIn bool, i, p, q int) float64 {
	a, b := float64(i+p), float64(i+q)
	share := float64(i) / (a * b)
	if same {
		share++
	}
	if eIn {
		share -= 1 / a
	}
	if dIn {
		share -= 1 / b
	}
	return math.Sqrt(c.own(i+p)*c.own(i+q)) * math.Pow(c.Steady, float64(p+q)) * share
}

func (c *covariances) own(size int) float64 { return c.Own[min(size, len(c.Own))-1] }

// between returns the covariance of two observations.
func (c *covariances) between(a, b observation) float64 {
	if a.kind > b.kind {
		a, b = b, a
	}
	if b.kind == ofAround {
		return c.withAround(a, b.player)
	}
	i := overlap(c.design, a.s, b.s)
	p, q := c.sizes[a.s]-i, c.sizes[b.s]-i
	switch {
	case b.kind == ofValue:
		return c.values(i, p, q)
	case a.kind == ofValue:
		return c.valuePart(c.design.Has(a.s, b.player), i, p, q)
	}
	same, dIn, eIn := a.player == b.player, c.design.Has(b.s, a.player), c.design.Has(a.s, b.player)
	return c.parts(same, dIn, eIn, i, p, q) + c.errors(same, dIn, eIn, i, p, q)
}

// withAround returns the covariance of an observation with Σ_{j≠d} f_d(N∖j).
func (c *covariances) withAround(a observation, d int) float64 {
	if a.kind == ofAround {
		if a.player == d {
			return c.around[0]
		}
		return c.around[1]
	}
	sum := 0.0
	for j := range c.n {
		if j != d {
			sum += c.between(a, observation{ofPart, 1 + j, d})
		}
	}
	return sum
}

// phi returns the covariance of φ_d(N) with an observation.
func (c *covariances) phi(d int, a observation) float64 {
	if a.kind == ofAround {
		sum := 0.0
		for j := range c.n {
			if j != a.player {
				sum += c.phi(d, observation{ofPart, 1 + j, a.player})
			}
		}
		return sum
	}
	size := c.sizes[a.s]
	in := c.design.Has(a.s, d)
	if a.kind == ofPart {
		return c.parts(a.player == d, in, true, size, c.n-size, 0)
	}
	return c.valuePart(in, size, 0, c.n-size)
}

// phiVariance returns the variance of φ_d(N).
func (c *covariances) phiVariance() float64 { return c.parts(true, true, true, c.n, 0, 0) }

// pair returns the covariance of an observation with I_de(N) = −Σ_{T∋d,e} l_T / (|T|−1).
func (c *covariances) pair(d, e int, a observation) float64 {
	if a.kind == ofAround {
		sum := 0.0
		for j := range c.n {
			if j != a.player {
				sum += c.pair(d, e, observation{ofPart, 1 + j, a.player})
			}
		}
		return sum
	}
	in, out := 0, 0
	fix := func(player int) {
		if c.design.Has(a.s, player) {
			in++
		} else {
			out++
		}
	}
	fix(d)
	fix(e)
	if a.kind == ofPart {
		if a.player != d && a.player != e {
			fix(a.player)
		}
		return c.pairShared(in, out, c.sizes[a.s], func(x int) float64 { return float64(x) })
	}
	return c.pairShared(in, out, c.sizes[a.s], func(x int) float64 {
		if x == 0 {
			return math.Inf(1)
		}
		return 1
	})
}

// pairShared returns −Σ_T E l_T² / ((|T|−1) among(|T∩S|)) over the T that contain given players, in of them inside S
// and out outside.
func (c *covariances) pairShared(in, out, size int, among func(x int) float64) float64 {
	sum, maxSize := 0.0, len(c.Shared)
	for x := in; x <= min(size, maxSize); x++ {
		for y := out; y <= min(c.n-size, maxSize-x); y++ {
			if x+y > 1 {
				sum -= c.Shared[x+y-1] * c.choose(size-in, x-in) * c.choose(c.n-size-out, y-out) / (float64(x+y-1) * among(x))
			}
		}
	}
	return sum
}

// pairVariance returns the variance of I_de(N).
func (c *covariances) pairVariance() float64 {
	sum := 0.0
	for k := 2; k <= min(c.n, len(c.Shared)); k++ {
		sum += c.Shared[k-1] * c.choose(c.n-2, k-2) / float64((k-1)*(k-1))
	}
	return sum
}
