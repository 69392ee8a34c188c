package shapley

import (
	"maps"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// Moments estimates a Prior from games whose coalitions are all known.
type Moments struct {
	shared, rounding, count []float64 // by |T|−1
	own, owns               []float64 // by |S|−1
	lagged, lags            float64   // products of the errors of a coalition with those of it without a player; and without a lag
}

// Add adds a game.
func (m *Moments) Add(g Enumerated) {
	n := g.Players
	for len(m.count) < n {
		m.shared, m.rounding, m.count = append(m.shared, 0), append(m.rounding, 0), append(m.count, 0)
		m.own, m.owns = append(m.own, 0), append(m.owns, 0)
	}
	v := make([]float64, 1<<n)
	largest := 0.0
	for s := range v {
		v[s] = g.value(s)
		largest = max(largest, math.Abs(v[s]))
	}
	m.addShared(n, v, largest)
	m.addOwn(g, v)
}

// addShared computes the l_T of v(N) − v(N∖U) = Σ_{∅≠T⊆U} l_T by Möbius inversion.
func (m *Moments) addShared(n int, v []float64, largest float64) {
	lost := make([]float64, len(v))
	for u := range lost {
		lost[u] = v[len(v)-1] - v[len(v)-1-u]
	}
	for j := range n {
		for u := range lost {
			if u>>j&1 == 1 {
				lost[u] -= lost[u^1<<j]
			}
		}
	}
	for T := 1; T < len(lost); T++ {
		k := bits.OnesCount(uint(T)) - 1
		m.shared[k] += lost[T] * lost[T]
		m.rounding[k] += largest * largest
		m.count[k]++
	}
}

// addOwn computes the network's errors by the recursion
//
//	φ_d(S) = [v(S) − v(S∖d) + Σ_{j∈S∖d} φ_d(S∖j)] / |S|
func (m *Moments) addOwn(g Enumerated, v []float64) {
	n := g.Players
	phi := make([]float64, n<<n)
	err := make([]float64, n<<n)
	for s := 1; s < 1<<n; s++ {
		size := bits.OnesCount(uint(s))
		squares, lagged := 0.0, 0.0
		for d := range n {
			if s>>d&1 == 0 {
				continue
			}
			at := s*n + d
			phi[at] = v[s] - v[s^1<<d]
			for j := range n {
				if j != d && s>>j&1 == 1 {
					phi[at] += phi[(s^1<<j)*n+d]
				}
			}
			phi[at] /= float64(size)
			err[at] = g.F[at] - phi[at]
			squares += err[at] * err[at]
			for j := range n {
				if j != d && s>>j&1 == 1 {
					lagged += err[at] * err[(s^1<<j)*n+d]
				}
			}
		}
		if size < 2 {
			continue
		}
		m.own[size-1] += squares
		m.owns[size-1] += float64(size - 1) // E Σ_d δ_d² = (|S|−1) Own
		if size > 2 {
			// For each j, E Σ_d δ_d(S) δ_d(S∖j) = (|S|−2) Own · Steady: all sizes count equally.
			ways := binomial(n, size) * float64(size*(size-2))
			m.lagged += lagged / ways
			m.lags += squares / float64(size-1) / binomial(n, size)
		}
	}
}

// singlePrecision is the approximate error of a value relative to the largest of its game.
const singlePrecision = 1e-7

// Prior returns the prior estimated from the games. Variances within the rounding error are 0.
func (m *Moments) Prior() Prior {
	p := Prior{Shared: make([]float64, len(m.count)), Own: make([]float64, len(m.count))}
	for k, count := range m.count {
		if x := m.shared[k] / count; x > m.rounding[k]/count*singlePrecision*singlePrecision*math.Ldexp(1, k+2) {
			p.Shared[k] = x
		}
		if m.owns[k] > 0 {
			p.Own[k] = m.own[k] / m.owns[k]
		}
	}
	if m.lags > 0 {
		p.Steady = min(max(m.lagged/m.lags, 0), 1)
	}
	return p
}

// Width is the factor that turns standard deviations under a prior into standard errors, so that ∓ 1.645 of them
// contain the truth in nine cases of ten. A correct prior would have widths of 1.
type Width struct {
	PerPlayer   float64 `json:"per_player"` // evaluations per player, beyond the first
	Attribution float64 `json:"attribution"`
	Interaction float64 `json:"interaction"`
}

// width interpolates the width after some evaluations of a game of n players.
func (p Prior) width(evaluations, n int) Width {
	if len(p.Widths) == 0 {
		return Width{Attribution: 1, Interaction: 1}
	}
	x := float64(evaluations-1) / float64(max(1, n))
	k, _ := slices.BinarySearchFunc(p.Widths, x, func(w Width, x float64) int {
		if w.PerPlayer < x {
			return -1
		}
		return 1
	})
	if k == 0 || k == len(p.Widths) {
		return p.Widths[min(k, len(p.Widths)-1)]
	}
	a, b := p.Widths[k-1], p.Widths[k]
	t := (x - a.PerPlayer) / (b.PerPlayer - a.PerPlayer)
	return Width{
		PerPlayer: x, Attribution: a.Attribution + t*(b.Attribution-a.Attribution), Interaction: a.Interaction + t*(b.Interaction-a.Interaction),
	}
}

// widthStages lists the evaluations per player at which widths are measured.
var widthStages = []float64{0, 1, 2, 4, 8, 16}

// Calibrate returns the prior with the widths that its standard errors need in games with known Shapley values. It
// refines each game several times, with its players on different seats.
func (p Prior) Calibrate(games []Enumerated) Prior {
	p.Widths, p.Players = nil, nil
	seen := p.measure(games)
	stages := make([]float64, len(widthStages))
	for k, list := range seen {
		stages[k] = nineTenths(list.attributions(nil))
	}
	p.Players = playerWidths(seen, stages)
	seen = p.measure(games)
	for k, stage := range widthStages {
		if list := seen[k].attributions(nil); len(list) > 0 {
			p.Widths = append(p.Widths, Width{stage, nineTenths(list), nineTenths(seen[k].pairs)})
		}
	}
	return p
}

// ratios holds errors divided by their standard errors.
type ratios struct {
	of    map[int][]float64 // of attributions, by player
	pairs []float64
}

// attributions returns a new list with the ratios of some players; nil means all.
func (r ratios) attributions(players []int) []float64 {
	if players == nil {
		players = slices.Sorted(maps.Keys(r.of))
	}
	var list []float64
	for _, player := range players {
		list = append(list, r.of[player]...)
	}
	return list
}

// playerWidths returns the factor of each player relative to all together, over all stages with evaluations. With few
// games it is shrunk towards 1.
func playerWidths(seen []ratios, stages []float64) []float64 {
	const few = 200 // number of ratios with the same weight as the prior factor 1
	var widths []float64
	for player := 0; player <= slices.Max(append(slices.Collect(maps.Keys(seen[0].of)), -1)); player++ {
		var list []float64
		for k := 1; k < len(seen); k++ {
			for _, x := range seen[k].of[player] {
				if stages[k] > 0 {
					list = append(list, x/stages[k])
				}
			}
		}
		count := float64(len(list))
		widths = append(widths, math.Pow(max(nineTenths(list), 0.1), count/(count+few)))
	}
	return widths
}

// measure refines games with known Shapley values and returns the errors at each of widthStages.
func (p Prior) measure(games []Enumerated) []ratios {
	const runs = 600
	seen := make([]ratios, len(widthStages))
	for k := range seen {
		seen[k].of = map[int][]float64{}
	}
	of := map[int]*refinement{}
	rng := rand.New(rand.NewPCG(designSeed, refineStream))
	for _, g := range games {
		n := g.Players
		who := make([]int, n)
		for player := range who {
			who[player] = g.who(player)
		}
		if of[n] == nil {
			last := int(widthStages[len(widthStages)-1])*n + 1
			of[n] = newRefinement(p, n, min(last, 1<<n-1), true)
		}
		phi, pair := g.truth()
		for range max(1, runs/len(games)) {
			c := &course{r: of[n], who: who, seats: rng.Perm(n), of: []*posterior{of[n].start()}}
			for k, stage := range widthStages {
				end := int(stage)*n + 1
				if end > c.r.design.Len() {
					break
				}
				for ; c.at < end; c.at++ {
					_ = c.take(g.answer(c.r.design, c.at, c.seats)) // cannot fail: the length is right and the values are finite
				}
				x := c.refined(Refining{Prior: p, Interactions: true})
				for d, want := range phi {
					seen[k].of[who[d]] = ratio(seen[k].of[who[d]], x.Phi[d]-want, x.StandardErrors[d])
				}
				for at, want := range pair {
					if at/n < at%n {
						seen[k].pairs = ratio(seen[k].pairs, x.Interactions.I[at]-want, x.Interactions.StandardErrors[at])
					}
				}
			}
		}
	}
	return seen
}

// ratio appends an error divided by its standard error.
func ratio(list []float64, err, se float64) []float64 {
	if se > 0 {
		list = append(list, math.Abs(err)/se)
	}
	return list
}

// normal90 is the half-width of the central 90 % interval of a normal distribution, in standard deviations.
const normal90 = 1.6448536269514722

// nineTenths returns the width with which nine tenths of the errors lie within 1.645.
func nineTenths(ratios []float64) float64 {
	if len(ratios) == 0 {
		return 1
	}
	slices.Sort(ratios)
	return ratios[min(len(ratios)-1, len(ratios)*9/10)] / normal90
}
