package shapley

import (
	"fmt"
	"math"
)

// Prior is what is known of the games of a network, and of the network's own
// attributions of their coalitions, before a game is looked at. A game is a sum over
// the coalitions T of whoever can stand in for one another,
//
//	v(S) = Σ_{T∩S≠∅} l_T,   φ_d(S) = Σ_{T∋d} l_T / |T∩S|
//
// for l_T is there as soon as one of T is, and those of T who are there share it evenly;
// every game is such a sum. The network's attributions f_d(S) = φ_d(S) + δ_d(S) err by
// what adds up to nothing. Taken beforehand, all l_T are independent, with mean zero,
// and so are the errors, but for those of coalitions that are alike:
//
//	E l_T² = Shared[|T|−1]
//	E δ_d(S) δ_e(S′) = √(Own[|S|−1] Own[|S′|−1]) Steady^|SΔS′| · Σ_{j∈S∩S′} (1{j=d} − 1/|S|)(1{j=e} − 1/|S′|)
type Prior struct {
	Shared []float64 `json:"shared"` // of coalitions T of 1, 2, … players
	Own    []float64 `json:"own"`    // of coalitions S of 1, 2, … players; those of more are as the last
	Steady float64   `json:"steady"` // correlation of the errors of a coalition and of that with one player more

	Widths  []Width   `json:"widths"`  // of standard errors, by evaluations; empty means 1
	Players []float64 `json:"players"` // by how much those of each player are wider still; empty means 1
}

// Validate reports what makes no sense.
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

// player is the width of one.
func (p Prior) player(who int) float64 {
	if who >= len(p.Players) {
		return 1
	}
	return p.Players[who]
}

// observation is one number that was seen of a game.
type observation struct {
	kind   observationKind
	s      int // its coalition, a place in the design
	player int
}

type observationKind uint8

const (
	ofValue  observationKind = iota // v(S)
	ofPart                          // f_player(S)
	ofAround                        // Σ_{j≠player} f_player(N∖j), the recursion's sum; N∖j has place 1+j
)

// covariances of what is observed of a game of n players and of what is asked, under a
// prior. They depend on the sizes of overlaps, and on who is in them.
type covariances struct {
	Prior
	n      int
	design *Coalitions
	sizes  []int              // of the design's coalitions
	ways   [][]float64        // binomial coefficients
	shares map[[6]int]float64 // memory of shared
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

// binomial is the number of ways to choose k of n.
func binomial(n, k int) float64 {
	ways := 1.0
	for j := 1; j <= k; j++ {
		ways *= float64(n-k+j) / float64(j)
	}
	return ways
}

// choose is binomial from memory.
func (c *covariances) choose(n, k int) float64 {
	if n < 0 || k < 0 || k >= len(c.ways[n]) {
		return 0
	}
	return c.ways[n][k]
}

// shared is Σ_T E l_T² / (|T∩S| |T∩S′|) over the T that hold fixed players, of which both
// are in S and S′, first in S alone and second in S′ alone, among i, p and q players in
// both, in S alone, and in S′ alone.
func (c *covariances) shared(both, first, second, i, p, q int) float64 {
	key := [6]int{both, first, second, i, p, q}
	if sum, known := c.shares[key]; known {
		return sum
	}
	r, sum, most := c.n-i-p-q, 0.0, len(c.Shared)
	for x := both; x <= min(i, most); x++ {
		for y := first; y <= min(p, most-x); y++ {
			for z := second; z <= min(q, most-x-y); z++ {
				if x+y == 0 || x+z == 0 {
					continue
				}
				ways := c.choose(i-both, x-both) * c.choose(p-first, y-first) * c.choose(q-second, z-second)
				for w := 0; w <= min(r, most-x-y-z); w++ {
					sum += c.Shared[x+y+z+w-1] * ways * c.choose(r, w) / float64((x+y)*(x+z))
				}
			}
		}
	}
	c.shares[key] = sum
	return sum
}

// place says where a player is, for shared.
func place(inS, inOther bool) (both, first, second int) {
	switch {
	case inS && inOther:
		return 1, 0, 0
	case inS:
		return 0, 1, 0
	}
	return 0, 0, 1
}

// parts is the covariance of φ_d(S) and φ_e(S′), given |S∩S′|, |S∖S′|, |S′∖S|, and whether
// d is in S′ and e in S.
func (c *covariances) parts(same, dIn, eIn bool, i, p, q int) float64 {
	if same {
		return c.shared(1, 0, 0, i, p, q)
	}
	both, first, second := place(true, dIn)
	x, y, z := place(eIn, true)
	return c.shared(both+x, first+y, second+z, i, p, q)
}

// values is Σ_T E l_T² over the T that meet both S and S′.
func (c *covariances) values(i, p, q int) float64 {
	sum := 0.0
	for k := 1; k <= min(c.n, len(c.Shared)); k++ {
		sum += c.Shared[k-1] * (c.choose(c.n, k) - c.choose(c.n-i-p, k) - c.choose(c.n-i-q, k) + c.choose(c.n-i-p-q, k))
	}
	return sum
}

// valuePart is the covariance of v(S) = Σ_d φ_d(S) and φ_e(S′).
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

// errors is the covariance of δ_d(S) and δ_e(S′).
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

// between is the covariance of two observations.
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

// withAround is the covariance of an observation with Σ_{j≠d} f_d(N∖j).
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

// phi is the covariance of φ_d(N) with an observation.
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

// phiVariance is that of φ_d(N).
func (c *covariances) phiVariance() float64 { return c.parts(true, true, true, c.n, 0, 0) }

// pair is the covariance with an observation of I_de(N) = −Σ_{T∋d,e} l_T / (|T|−1).
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

// pairShared is −Σ_T E l_T² / ((|T|−1) among(|T∩S|)) over the T that hold fixed players, so
// many of them in and out of S.
func (c *covariances) pairShared(in, out, size int, among func(x int) float64) float64 {
	sum, most := 0.0, len(c.Shared)
	for x := in; x <= min(size, most); x++ {
		for y := out; y <= min(c.n-size, most-x); y++ {
			if x+y > 1 {
				sum -= c.Shared[x+y-1] * c.choose(size-in, x-in) * c.choose(c.n-size-out, y-out) / (float64(x+y-1) * among(x))
			}
		}
	}
	return sum
}

// pairVariance is that of I_de(N).
func (c *covariances) pairVariance() float64 {
	sum := 0.0
	for k := 2; k <= min(c.n, len(c.Shared)); k++ {
		sum += c.Shared[k-1] * c.choose(c.n-2, k-2) / float64((k-1)*(k-1))
	}
	return sum
}
