package explain

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/integrate/quad"
)

const (
	// reach is the half-width, in standard deviations, of the range in which a player is integrated; 2e-9 of its
	// probability lies outside.
	reach = 6

	// panelWidth is the maximum width of a panel, in standard deviations of the narrowest player in it.
	panelWidth = 3

	// pointlike is the relative width below which float64 hardly resolves a player's distribution; smallest is a width
	// whose inverse is finite.
	pointlike = 1e-12
	smallest  = 1e-200
)

// top computes p_top, the probability that |φ_d| is among the k largest of its row:
//
//	p_d = ∫ f_d(t) P(fewer than k of the others exceed t) dt
//
// where f_d is the density of |φ_d|, a folded normal, and the number of others that exceed t is Poisson-binomial. It
// integrates all players of a row at once and reuses its memory from row to row.
//
// A player without spread is a point: its integral is one value of the integrand. Points at the same |mean| share the
// remaining places equally.
type top struct {
	k     int
	rules [panelWidth]rule // for panels of up to 1, 2 and 3 standard deviations

	result  []float64
	rivals  []rival
	lows    []float64
	active  []int     // rivals that may lie on either side of t
	exceed  []float64 // [active] P(|φ_j| > t)
	density []float64 // [active] f_j(t)
	before  []float64 // [active, places] P(c of the rivals before j exceed t)
	after   []float64 // [places] P(at most c of the rivals after j exceed t)
}

// rival is an observed player that can be among the k largest.
type rival struct {
	player    int
	mean, std float64 // of φ with mean ≥ 0, in units of the row's largest; a point has std 0
	low, high float64 // bounds of |φ|
	p         float64
}

// rule is Gauss–Legendre quadrature on [0, 1].
type rule struct{ nodes, weights []float64 }

func newRule(nodes int) rule {
	r := rule{make([]float64, nodes), make([]float64, nodes)}
	quad.Legendre{}.FixedLocations(r.nodes, r.weights, 0, 1)
	return r
}

// newTop uses rules that TestTopConverges verifies.
func newTop(k int) *top {
	return &top{k: k, rules: [panelWidth]rule{newRule(8), newRule(12), newRule(16)}}
}

// probabilities returns p_top of all players, overwritten by the next call. If a mean or std of an observed player is
// not finite, all observed players get NaN.
func (t *top) probabilities(mean, std []float64, observed []bool) []float64 {
	t.result = append(t.result[:0], make([]float64, len(mean))...)
	unit := 0.0
	for d := range mean {
		if observed[d] {
			unit = max(unit, math.Abs(mean[d]), std[d]) // NaN propagates
		}
	}
	t.rivals = t.rivals[:0]
	for d := range mean {
		if observed[d] {
			t.rivals = append(t.rivals, newRival(d, mean[d], std[d], unit))
		}
	}
	switch {
	case !finite(unit):
		for _, r := range t.rivals {
			t.result[r.player] = math.NaN()
		}
	case len(t.rivals) <= t.k:
		for _, r := range t.rivals {
			t.result[r.player] = 1
		}
	default:
		t.integrate(t.dropHopeless())
		for i := range t.rivals {
			r := &t.rivals[i]
			if r.std == 0 {
				r.p = t.point(r.mean)
			}
			t.result[r.player] = max(0, min(r.p, 1))
		}
	}
	return t.result
}

func newRival(player int, mean, std, unit float64) rival {
	r := rival{player: player}
	if unit > 0 {
		r.mean, r.std = math.Abs(mean)/unit, std/unit
	}
	if r.std <= max(pointlike*r.mean, smallest) {
		r.std = 0
	}
	r.low, r.high = max(0, r.mean-reach*r.std), r.mean+reach*r.std
	return r
}

// dropHopeless keeps the rivals that can be among the k largest. It returns the height below which none is: k+1 lie
// above it.
func (t *top) dropHopeless() float64 {
	t.lows = t.lows[:0]
	for _, r := range t.rivals {
		t.lows = append(t.lows, r.low)
	}
	slices.Sort(t.lows)
	floor := t.lows[len(t.lows)-1-t.k]
	t.rivals = slices.DeleteFunc(t.rivals, func(r rival) bool { return r.high < floor })
	return floor
}

// integrate adds the integrals of the rivals with spread, from floor up, panel by panel.
func (t *top) integrate(floor float64) {
	for from := floor; ; {
		to := t.panelEnd(from)
		if math.IsInf(to, 1) {
			return
		}
		t.active = t.active[:0]
		places := t.k // left by rivals that certainly exceed the panel
		for i, r := range t.rivals {
			switch {
			case r.low >= to:
				places--
			case r.high > from:
				t.active = append(t.active, i)
			}
		}
		switch {
		case places <= 0:
		case len(t.active) <= places: // every rival gets a place
			for _, i := range t.active {
				r := &t.rivals[i]
				above, _ := r.at(height{base: from})
				beyond, _ := r.at(height{base: to})
				r.p += above - beyond
			}
		default:
			t.panel(from, to, places)
		}
		from = to
	}
}

// panelEnd returns where the panel that starts at from must end to be narrow for all its rivals; infinite if none is
// left.
func (t *top) panelEnd(from float64) float64 {
	to := math.Inf(1)
	for _, r := range t.rivals {
		if r.low <= from && from < r.high {
			to = min(to, from+panelWidth*r.std)
		}
	}
	for _, r := range t.rivals {
		if from < r.low && r.low < to {
			to = min(to, max(r.low, from+panelWidth*r.std))
		}
	}
	return to
}

// panel adds the integrals over [from, to] of the active rivals, of which there are more than places.
func (t *top) panel(from, to float64, places int) {
	width, narrowest := to-from, math.Inf(1)
	for _, i := range t.active {
		narrowest = min(narrowest, t.rivals[i].std)
	}
	rule := t.rules[min(int(width/narrowest), panelWidth-1)]
	for q, node := range rule.nodes {
		at := height{from, width * node}
		t.exceed, t.density = t.exceed[:0], t.density[:0]
		for _, i := range t.active {
			r := &t.rivals[i]
			exceed, density := r.at(at)
			t.exceed = append(t.exceed, exceed)
			t.density = append(t.density, density)
		}
		t.countBefore(places)
		t.after = t.after[:0]
		for range places {
			t.after = append(t.after, 1)
		}
		for j, i := range slices.Backward(t.active) {
			fewer := 0.0
			for c, p := range t.before[j*places : (j+1)*places] {
				fewer += p * t.after[places-1-c]
			}
			t.rivals[i].p += width * rule.weights[q] * t.density[j] * fewer

			for c := places - 1; c > 0; c-- {
				t.after[c] += t.exceed[j] * (t.after[c-1] - t.after[c])
			}
			t.after[0] -= t.exceed[j] * t.after[0]
		}
	}
}

// countBefore fills before from exceed: the Poisson-binomial distribution, one rival more in each line.
func (t *top) countBefore(places int) {
	t.before = append(t.before[:0], make([]float64, (len(t.exceed)+1)*places)...)
	t.before[0] = 1
	for j, q := range t.exceed {
		line, next := t.before[j*places:(j+1)*places], t.before[(j+1)*places:(j+2)*places]
		next[0] = line[0] * (1 - q)
		for c := 1; c < places; c++ {
			next[c] = line[c]*(1-q) + line[c-1]*q
		}
	}
}

// point returns p_top of a rival without spread: the expected share of the places left for such rivals.
func (t *top) point(at float64) float64 {
	t.exceed = t.exceed[:0]
	places, sharers := t.k, 0.0
	for i := range t.rivals {
		r := &t.rivals[i]
		switch {
		case r.std > 0:
			exceed, _ := r.at(height{base: at})
			t.exceed = append(t.exceed, exceed)
		case r.mean > at:
			places--
		case r.mean == at:
			sharers++
		}
	}
	if places <= 0 {
		return 0
	}
	t.countBefore(places)
	share := 0.0
	for c, p := range t.before[len(t.exceed)*places:] {
		share += p * min(1, float64(places-c)/sharers)
	}
	return share
}

// height is a value of |φ| in two parts, base + offset, because a narrow player may be smaller than the rounding error
// of their sum.
type height struct{ base, offset float64 }

func (h height) over(mean float64) float64 { return h.base - mean + h.offset }

// at returns P(|φ| > t) = Φ((m − t)/s) + Φ((−m − t)/s) and the density of |φ| at t.
func (r *rival) at(h height) (exceed, density float64) {
	exceed, density = upper(h.over(r.mean) / r.std)
	if z := h.over(-r.mean) / r.std; z < reach {
		p, f := upper(z)
		exceed += p
		density += f
	}
	return exceed, density / r.std
}
