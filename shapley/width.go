package shapley

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
)

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
