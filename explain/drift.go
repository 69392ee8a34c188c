package explain

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Drift compares the attributions of a player to one output between two tables explained by one model. Missing cells
// count as 0, as they do in predictions.
type Drift struct {
	Player      string
	Before      float64 // mean |f_d| of the first table
	After       float64 // mean |f_d| of the second table
	ChangeError float64 // standard error of After − Before, for independent rows or units of rows

	// Distance is the Wasserstein distance between the two distributions of f_d, in units of the prediction. P is the
	// probability of a distance at least as unusual for any player if nothing has changed (ADR 0024). Chance is the
	// distance at which P = .05. It depends on the compared players and on the numbers of rows.
	Distance, Chance, P float64

	MissingBefore, MissingAfter float64 // shares of missing cells
}

// Drifted reports whether P ≤ .05. If nothing has changed, at most one pair of tables in 20 has a drifted player.
func (d Drift) Drifted() bool { return d.P <= alarm }

// maxCompared limits the rows of each table whose distributions are compared; larger tables are sampled.
const maxCompared = 5000

// Drifts compares two tables explained by one model and returns the players in descending order of distance. It assumes
// independent rows. The result is deterministic.
func Drifts(before, after *Explanation, output int) ([]Drift, error) {
	return DriftsBy(before, after, output, Units{})
}

// DriftsBy is Drifts for rows that may depend on other rows of the same unit.
func DriftsBy(before, after *Explanation, output int, units Units) ([]Drift, error) {
	if difference := difference(before, after); difference != "" {
		return nil, fmt.Errorf("explain: the two tables are explained otherwise: %s", difference)
	}
	if before.Rows == 0 || after.Rows == 0 {
		return nil, fmt.Errorf("explain: one of the two tables has no rows")
	}
	if err := units.check(before.Rows, after.Rows); err != nil {
		return nil, err
	}
	list := make([]Drift, len(before.Players))
	rng := rand.New(rand.NewPCG(1, 0))
	former, latter := someRows(before.Rows, rng), someRows(after.Rows, rng)
	all := units.blocks()
	var first, second [][]float64
	for d := range list {
		then, now := before.ofPlayer(output, d), after.ofPlayer(output, d)
		size, sizeError := meanSize(then)
		later, laterError := meanSize(now)
		changeError := math.Hypot(sizeError, laterError)
		if units.known() {
			changeError = all.changeError(then, now, size, later)
		}
		list[d] = Drift{
			Player: before.Players[d], Before: size, After: later, ChangeError: changeError,
			MissingBefore: before.missing(d), MissingAfter: after.missing(d),
		}
		first, second = append(first, pick(then, former)), append(second, pick(now, latter))
	}
	var standings []standing
	if units.known() {
		standings = compare(first, second, units.pick(former, latter).blocks().divider(rng))
	} else {
		standings = relabel(first, second, rng)
	}
	for d, x := range standings {
		list[d].Distance, list[d].Chance, list[d].P = x.distance, x.chance, x.p
	}
	slices.SortStableFunc(list, func(a, b Drift) int { return cmp.Compare(b.Distance, a.Distance) })
	return list, nil
}

// someRows returns all of n rows, or a sample of maxCompared.
func someRows(n int, rng *rand.Rand) []int {
	return rng.Perm(n)[:min(n, maxCompared)]
}

func pick[T any](x []T, rows []int) []T {
	list := make([]T, len(rows))
	for i, row := range rows {
		list[i] = x[row]
	}
	return list
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

// meanSize returns the mean of |x| and its standard error.
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
