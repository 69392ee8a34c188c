package synth

import (
	"math/bits"
	"slices"

	"gonum.org/v1/gonum/integrate/quad"
)

// game is S ↦ E[y | x_S] for a process, with precomputed parts that do not depend on the row.
type game struct {
	process
	quadrature      *quadrature
	effectMean      [columns]float64 // E f_d(X_d)
	interactionMean []float64        // E f_ab(X_a, X_b)
	base            float64          // E y
}

func newGame(p process) *game {
	g := &game{process: p, quadrature: newQuadrature(), base: p.constant}
	for d, e := range p.effects {
		g.effectMean[d] = g.quadrature.mean(e.f, e.kinks)
		g.base += g.effectMean[d]
	}
	for _, t := range p.interactions {
		// E[f_ab | x_a] loses smoothness where, with x_a, a kink of f_ab leaves the domain at x_b = ±4.
		var kinks []float64
		if t.kinks != nil {
			kinks = t.kinks(halfWidth)
		}
		mean := g.quadrature.mean(func(xa float64) float64 { return g.givenA(t, xa) }, kinks)
		g.interactionMean = append(g.interactionMean, mean)
		g.base += mean
	}
	return g
}

// givenA returns E[f_ab(x_a, X_b)].
func (g *game) givenA(t interaction, xa float64) float64 {
	return g.givenOne(t, xa, func(xb float64) float64 { return t.f(xa, xb) })
}

// givenB returns E[f_ab(X_a, x_b)].
func (g *game) givenB(t interaction, xb float64) float64 {
	return g.givenOne(t, xb, func(xa float64) float64 { return t.f(xa, xb) })
}

// givenOne returns the mean of section, the term t with one argument held at x.
func (g *game) givenOne(t interaction, x float64, section func(float64) float64) float64 {
	var kinks []float64
	if t.kinks != nil {
		kinks = t.kinks(x)
	}
	return g.quadrature.mean(section, kinks)
}

// expected returns
//
//	E[y | x] = c + Σ_d f_d(x_d) + Σ_{a<b} f_ab(x_a, x_b).
func (g *game) expected(x [columns]float64) float64 {
	y := g.constant
	for d, e := range g.effects {
		y += e.f(x[d])
	}
	for _, t := range g.interactions {
		y += t.f(x[t.a], x[t.b])
	}
	return y
}

// shapley returns the Shapley values φ_d of S ↦ E[y | x_S]. Columns are independent, so each term of y is a game of its
// own players, and the values add up over terms:
//
//	φ_d = f_d − E f_d + Σ_{b≠d} ½ (E[f_db | x_d] − E f_db + f_db − E[f_db | x_b]).
//
// They are centred, E φ_d(X) = 0, and efficient, Σ_d φ_d + E y = E[y | x].
func (g *game) shapley(x [columns]float64) [columns]float64 {
	var phi [columns]float64
	for d, e := range g.effects {
		phi[d] = e.f(x[d]) - g.effectMean[d]
	}
	for i, t := range g.interactions {
		empty, both := g.interactionMean[i], t.f(x[t.a], x[t.b])
		onlyA, onlyB := g.givenA(t, x[t.a]), g.givenB(t, x[t.b])
		phi[t.a] += (onlyA - empty + both - onlyB) / 2
		phi[t.b] += (onlyB - empty + both - onlyA) / 2
	}
	return phi
}

// interaction returns the Shapley interaction indices of the pairs 12, 13 and 23. The joint contribution of a term of
// two columns does not depend on the other columns,
//
//	I_ab = f_ab − E[f_ab | x_a] − E[f_ab | x_b] + E f_ab,
//
// and terms of one column contribute nothing.
func (g *game) interaction(x [columns]float64) [columns]float64 {
	var index [columns]float64
	for i, t := range g.interactions {
		index[t.a+t.b-1] = t.f(x[t.a], x[t.b]) - g.givenA(t, x[t.a]) - g.givenB(t, x[t.b]) + g.interactionMean[i]
	}
	return index
}

// shapleyValues returns the Shapley values of the game v of a few players,
//
//	φ_d = Σ_{S∌d} |S|! (n−1−|S|)! / n! (v(S∪d) − v(S)).
//
// Bit d of a coalition is player d. It does not use package shapley, because the truth serves to test that package.
func shapleyValues(players int, v func(coalition uint) float64) []float64 {
	values := make([]float64, 1<<players)
	for s := range values {
		values[s] = v(uint(s))
	}
	weight := make([]float64, players) // |S|! (n−1−|S|)! / n! by |S|
	weight[0] = 1 / float64(players)
	for size := 1; size < players; size++ {
		weight[size] = weight[size-1] * float64(size) / float64(players-size)
	}
	phi := make([]float64, players)
	for d := range phi {
		for s, without := range values {
			if s>>d&1 == 0 {
				phi[d] += weight[bits.OnesCount(uint(s))] * (values[s|1<<d] - without)
			}
		}
	}
	return phi
}

// halfWidth is the a of U(−a, a), the law of every input.
const halfWidth = 4

const (
	nodes    = 20 // Gauss–Legendre points on a panel
	maxWidth = 1  // of a panel; the fastest term, sin(x²), turns by at most 8 radians on one
)

// quadrature is the Gauss–Legendre rule on (0, 1), applied panel by panel.
type quadrature struct {
	x, weight [nodes]float64
}

func newQuadrature() *quadrature {
	var q quadrature
	quad.Legendre{}.FixedLocations(q.x[:], q.weight[:], 0, 1)
	return &q
}

// mean returns
//
//	E f(X) = 1/a ∫₀ᵃ (f(x) + f(−x))/2 dx,  X ~ U(−a, a).
//
// Adding x and −x first makes every odd part vanish exactly, such as sin(100/x).
//
// kinks are the points of (0, ∞) between which f and its mirror image are smooth, in any order; panels end there. Those
// at or beyond a are ignored.
func (q *quadrature) mean(f func(x float64) float64, kinks []float64) float64 {
	ends := make([]float64, 0, len(kinks)+halfWidth/maxWidth)
	for end := maxWidth; end <= halfWidth; end += maxWidth {
		ends = append(ends, float64(end))
	}
	for _, kink := range kinks {
		if kink > 0 && kink < halfWidth {
			ends = append(ends, kink)
		}
	}
	slices.Sort(ends)

	var sum, start float64
	for _, end := range ends {
		width := end - start
		for i, u := range q.x {
			x := start + width*u
			sum += width * q.weight[i] * (f(x) + f(-x)) / 2
		}
		start = end
	}
	return sum / halfWidth
}
