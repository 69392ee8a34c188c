package explain

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Drift is how the attributions of a player to one output differ between two tables explained by one model. What is
// missing counts as 0, as it does in predictions.
type Drift struct {
	Player      string
	Before      float64 // mean |f_d| of the first table
	After       float64 // of the second
	ChangeError float64 // standard error of After − Before, rows taken for independent

	// Distance is how far the two distributions of f_d lie apart: what must be added or taken away on average to turn the
	// one into the other (Wasserstein's distance), in units of the prediction. Chance is what 19 of 20 pairs of tables of
	// these sizes from one distribution stay below.
	Distance, Chance float64

	MissingBefore, MissingAfter float64 // shares of the rows
}

// Drifted tells whether the distance is more than chance has it.
func (d Drift) Drifted() bool { return d.Distance > d.Chance }

// relabellings of the rows of both tables tell what chance does: the 95th of 100 distances, give or take two places.
const relabellings = 100

// Drifts compares two tables that one model has explained, the largest distance first.
func Drifts(before, after *Explanation, output int) ([]Drift, error) {
	if difference := difference(before, after); difference != "" {
		return nil, fmt.Errorf("explain: the two tables are explained otherwise: %s", difference)
	}
	if before.Rows == 0 || after.Rows == 0 {
		return nil, fmt.Errorf("explain: one of the two tables has no rows")
	}
	list := make([]Drift, len(before.Players))
	rng := rand.New(rand.NewPCG(1, 0)) // one answer for one pair of tables
	for d := range list {
		first, second := before.ofPlayer(output, d), after.ofPlayer(output, d)
		size, sizeError := meanSize(first)
		later, laterError := meanSize(second)
		x := Drift{Player: before.Players[d], Before: size, After: later, ChangeError: math.Hypot(sizeError, laterError)}
		x.MissingBefore, x.MissingAfter = before.missing(d), after.missing(d)
		x.Distance, x.Chance = distances(first, second, rng)
		list[d] = x
	}
	slices.SortStableFunc(list, func(a, b Drift) int { return cmp.Compare(b.Distance, a.Distance) })
	return list, nil
}

func (e *Explanation) ofPlayer(output, player int) []float64 {
	list := make([]float64, e.Rows)
	for row := range list {
		list[row] = e.means(row, output)[player]
	}
	return list
}

func (e *Explanation) missing(player int) float64 {
	n := 0
	for row := range e.Rows {
		if !e.observed(row)[player] {
			n++
		}
	}
	return float64(n) / float64(e.Rows)
}

// meanSize is the mean of |x| and its standard error.
func meanSize(x []float64) (mean, standardError float64) {
	n := float64(len(x))
	for _, v := range x {
		mean += math.Abs(v) / n
	}
	for _, v := range x {
		standardError += (math.Abs(v) - mean) * (math.Abs(v) - mean)
	}
	return mean, math.Sqrt(standardError / max(1, n-1) / n)
}

// distances are Wasserstein's of two samples, and that which 95 of 100 random divisions of their union stay below.
func distances(a, b []float64, rng *rand.Rand) (distance, chance float64) {
	type drawn struct {
		value float64
		first bool
	}
	all := make([]drawn, 0, len(a)+len(b))
	for _, v := range a {
		all = append(all, drawn{v, true})
	}
	for _, v := range b {
		all = append(all, drawn{v, false})
	}
	slices.SortFunc(all, func(x, y drawn) int { return cmp.Compare(x.value, y.value) })
	// ∫ |F_a(x) − F_b(x)| dx, from one value to the next.
	between := func() float64 {
		sum, gap := 0.0, 0.0
		for i, d := range all[:len(all)-1] {
			if d.first {
				gap += 1 / float64(len(a))
			} else {
				gap -= 1 / float64(len(b))
			}
			sum += math.Abs(gap) * (all[i+1].value - d.value)
		}
		return sum
	}
	distance = between()
	random := make([]float64, relabellings)
	for k := range random {
		rng.Shuffle(len(all), func(i, j int) { all[i].first, all[j].first = all[j].first, all[i].first })
		random[k] = between()
	}
	slices.Sort(random)
	return distance, random[relabellings*95/100-1]
}
