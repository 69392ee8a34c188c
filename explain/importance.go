package explain

import (
	"cmp"
	"math"
	"slices"
)

// Importance summarises the attributions of a player over many rows.
type Importance struct {
	Player    int
	Mean      float64 // mean |mean_d| over all rows; 0 where the cell is missing
	Low, High float64 // 10 % and 90 % quantiles of |mean_d| where the cell is observed
	Spread    float64 // the player's share of Σ_d std_d²
	Observed  int     // number of rows in which the cell is observed
}

// Importances returns the importance of all players for an output over the given rows, or over all rows if rows is nil,
// in descending order of the mean.
func (e *Explanation) Importances(output int, rows []int) []Importance {
	if rows == nil {
		rows = make([]int, e.Rows)
		for row := range rows {
			rows[row] = row
		}
	}
	list, total := make([]Importance, len(e.Players)), 0.0
	for d := range list {
		im := &list[d]
		im.Player = d
		var sizes []float64
		for _, row := range rows {
			if e.observed(row)[d] {
				std := e.stds(row, output)[d]
				sizes, im.Spread = append(sizes, math.Abs(e.means(row, output)[d])), im.Spread+std*std
			}
		}
		total += im.Spread
		if im.Observed = len(sizes); im.Observed == 0 {
			continue
		}
		slices.Sort(sizes)
		for _, size := range sizes {
			im.Mean += size / float64(len(rows))
		}
		im.Low, im.High = Quantile(sizes, .1), Quantile(sizes, .9)
	}
	for d := range list {
		if total > 0 {
			list[d].Spread /= total
		}
	}
	slices.SortStableFunc(list, func(a, b Importance) int { return cmp.Compare(b.Mean, a.Mean) })
	return list
}

// Quantile interpolates a quantile of sorted values.
func Quantile(sorted []float64, share float64) float64 {
	at := share * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}
