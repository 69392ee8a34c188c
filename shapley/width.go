package shapley

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Width is what standard deviations under a prior are multiplied by to be standard
// errors, of which 1.645 to either side hold the truth nine times in ten. A prior that
// were true of its games would have widths of 1.
type Width struct {
	PerPlayer   float64 `json:"per_player"` // evaluations beyond the first, for each player
	Attribution float64 `json:"attribution"`
	Interaction float64 `json:"interaction"`
}

// width is that after some evaluations of a game of n players, between the two that are
// nearest.
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

// widthStages are the evaluations per player at which widths are measured.
var widthStages = []float64{0, 1, 2, 4, 8, 16}

// Calibrate is the prior with the widths that its standard errors need in games of which
// the truth is known. Each game is refined several times, with other players in other
// places.
func (p Prior) Calibrate(games []Enumerated) Prior {
	const runs = 600
	attributions, interactions := make([][]float64, len(widthStages)), make([][]float64, len(widthStages))
	of := map[int]*refinement{}
	rng := rand.New(rand.NewPCG(designSeed, refineStream))
	for _, g := range games {
		n := g.Players
		if of[n] == nil {
			last := int(widthStages[len(widthStages)-1])*n + 1
			of[n] = newRefinement(p, n, min(last, 1<<n-1), true)
		}
		phi, pair := g.truth()
		for range max(1, runs/len(games)) {
			c := &course{r: of[n], seats: rng.Perm(n), of: []*posterior{of[n].start()}}
			for k, stage := range widthStages {
				end := int(stage)*n + 1
				if end > c.r.design.Len() {
					break
				}
				for ; c.at < end; c.at++ {
					_ = c.take(g.answer(c.r.design, c.at, c.seats)) // of the right length, and finite
				}
				x := c.refined(Refining{Prior: p, Interactions: true})
				for d, want := range phi {
					attributions[k] = ratio(attributions[k], x.Phi[d]-want, x.StandardErrors[d])
				}
				for at, want := range pair {
					if at/n < at%n {
						interactions[k] = ratio(interactions[k], x.Interactions.I[at]-want, x.Interactions.StandardErrors[at])
					}
				}
			}
		}
	}
	p.Widths = nil
	for k, stage := range widthStages {
		if len(attributions[k]) > 0 {
			p.Widths = append(p.Widths, Width{stage, nineTenths(attributions[k]), nineTenths(interactions[k])})
		}
	}
	return p
}

// ratio appends an error in standard errors.
func ratio(list []float64, err, se float64) []float64 {
	if se > 0 {
		list = append(list, math.Abs(err)/se)
	}
	return list
}

// normal90 is how many deviations of a normal variable hold nine tenths of it.
const normal90 = 1.6448536269514722

// nineTenths is the width with which nine tenths of the errors lie within 1.645.
func nineTenths(ratios []float64) float64 {
	if len(ratios) == 0 {
		return 1
	}
	slices.Sort(ratios)
	return ratios[min(len(ratios)-1, len(ratios)*9/10)] / normal90
}
