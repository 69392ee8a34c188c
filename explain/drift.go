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

const (
	relabellings = 199 // random divisions of the rows, each for all columns at once
	alarm        = .05 // P(an alarm for any column) if nothing has changed
)

// standing is the distance of a column, with its critical value and its adjusted p-value.
type standing struct{ distance, chance, p float64 }

// relabel compares two tables of n1 and n2 rows column by column with a permutation test. If both have the same
// distribution, rows are exchangeable between them, whatever the dependence between columns. Each relabelling therefore
// divides the rows of both tables at random, for all columns at once.
func relabel(first, second [][]float64, rng *rand.Rand) []standing {
	return compare(first, second, func(former []bool) {
		rng.Shuffle(len(former), func(i, j int) { former[i], former[j] = former[j], former[i] })
	})
}

// compare ranks the distances of two tables among those of random divisions of their rows. divide draws which rows
// belong to the former table; rows of the first table precede those of the second.
func compare(first, second [][]float64, divide func(former []bool)) []standing {
	columns := make([]sortedColumn, len(first))
	for d := range columns {
		columns[d] = sortColumn(slices.Concat(first[d], second[d]))
	}
	former := slices.Concat(slices.Repeat([]bool{true}, len(first[0])), make([]bool, len(second[0])))
	labels := make([]float64, len(former))
	distances := func() []float64 {
		scale := label(labels, former)
		list := make([]float64, len(columns))
		for d, c := range columns {
			list[d] = c.area(labels) * scale
		}
		return list
	}
	observed := distances()
	random := make([][]float64, relabellings)
	for b := range random {
		divide(former)
		random[b] = distances()
	}
	return maxT(observed, random)
}

// label labels the rows of the former table n2 and those of the latter −n1, and returns 1/(n1 n2). Sums of these
// integers have no rounding errors that would make equal distances differ.
func label(labels []float64, former []bool) (scale float64) {
	n1 := 0.0
	for _, is := range former {
		if is {
			n1++
		}
	}
	n2 := float64(len(former)) - n1
	for i, is := range former {
		labels[i] = -n1
		if is {
			labels[i] = n2
		}
	}
	return 1 / (n1 * n2)
}

// sortedColumn is a column of the rows of both tables in ascending order. Step i is the difference of the values of
// rows order[i+1] and order[i].
type sortedColumn struct {
	order []int32
	steps []float64
}

func sortColumn(values []float64) sortedColumn {
	c := sortedColumn{make([]int32, len(values)), make([]float64, len(values)-1)}
	for i := range c.order {
		c.order[i] = int32(i)
	}
	slices.SortFunc(c.order, func(a, b int32) int { return cmp.Compare(values[a], values[b]) })
	for i := range c.steps {
		c.steps[i] = values[c.order[i+1]] - values[c.order[i]]
	}
	return c
}

// area returns n1 n2 ∫ |F1(x) − F2(x)| dx for rows labelled n2 in the first table and −n1 in the second.
func (c sortedColumn) area(labels []float64) float64 {
	sum, gap := 0.0, 0.0
	for i, step := range c.steps {
		gap += labels[c.order[i]]
		sum += math.Abs(gap) * step
	}
	return sum
}

// maxT adjusts for the number of columns by Westfall and Young's single-step max-T:
//
//	p_d = (1 + #{b : max_j T_j^b ≥ T_d}) / (B + 1).
//
// T_j^b is the distance of relabelling b less the mean over the B relabellings, in units of their standard deviation.
// T_d also includes the observed distance in mean and deviation, as b is included in its own. Otherwise it would be
// larger by chance, and much larger in the maximum over many columns. A column whose distance does not vary has T = 0
// and p = 1.
func maxT(observed []float64, random [][]float64) []standing {
	list, t := make([]standing, len(observed)), make([]float64, len(observed))
	means, deviations := make([]float64, len(observed)), make([]float64, len(observed))
	n := float64(len(random))
	largest := slices.Repeat([]float64{math.Inf(-1)}, len(random))
	for d := range observed {
		means[d], deviations[d] = moments(random, d)
		for b := range random {
			largest[b] = max(largest[b], standardised(random[b][d], means[d], deviations[d]))
		}
		// With u = (x − mean)/deviation, including x moves the mean by (x − mean)/(n + 1) and increases the deviation.
		u := standardised(observed[d], means[d], deviations[d])
		t[d] = u * math.Sqrt(n/(n+1+u*u))
	}
	slices.Sort(largest)
	// p ≤ alarm if fewer than this many of the largest reach T.
	reach := int(alarm * (n + 1))
	limit := largest[len(largest)-reach]
	for d := range list {
		below, _ := slices.BinarySearch(largest, t[d])
		chance := means[d] + deviations[d]*limit*math.Sqrt((n+1)/(n-limit*limit)) // where T = limit; |limit| < √n
		if deviations[d] == 0 {
			chance = max(means[d], observed[d])
		}
		list[d] = standing{observed[d], chance, float64(1+len(largest)-below) / (n + 1)}
	}
	return list
}

// moments returns the mean and the standard deviation of a column's distances over the relabellings. A deviation within
// the rounding error is 0.
func moments(random [][]float64, d int) (mean, deviation float64) {
	n := float64(len(random))
	for _, distances := range random {
		mean += distances[d] / n
	}
	for _, distances := range random {
		deviation += (distances[d] - mean) * (distances[d] - mean) / n
	}
	if deviation = math.Sqrt(deviation); deviation <= 1e-12*mean {
		return mean, 0
	}
	return mean, deviation
}

func standardised(x, mean, deviation float64) float64 {
	if deviation == 0 {
		return 0
	}
	return (x - mean) / deviation
}

// Units assigns each row of two tables to a unit, such as its patient. Rows of one unit may depend on each other. A row
// with the unit "" is a unit of its own. In the zero value, all rows are.
type Units struct{ Before, After []string }

func (u Units) known() bool { return u.Before != nil || u.After != nil }

func (u Units) check(before, after int) error {
	if u.known() && (len(u.Before) != before || len(u.After) != after) {
		return fmt.Errorf("explain: units of %d and %d rows, but the tables have %d and %d", len(u.Before), len(u.After), before, after)
	}
	return nil
}

func (u Units) pick(former, latter []int) Units {
	return Units{pick(u.Before, former), pick(u.After, latter)}
}

// Count returns the number of units.
func (u Units) Count() int {
	b := u.blocks()
	return len(b.alone) + len(b.both)
}

// Enough reports whether the units can be divided between two tables in enough ways for a significance level of 5 %.
// With fewer units, no player can be drifted.
func (u Units) Enough() bool {
	b := u.blocks()
	former := 0
	for _, is := range b.former {
		if is {
			former++
		}
	}
	ways := math.Pow(2, float64(len(b.both)))
	for i := range former { // times the number of ways to choose them
		ways *= float64(len(b.alone)-i) / float64(i+1)
	}
	if 2*former == len(b.alone) {
		ways /= 2 // divisions that exchange the tables have the same distance
	}
	return ways >= 1/alarm+3 // 199 relabellings draw each division at random, some more often
}

// blocks holds the rows of units; rows of the first table precede those of the second.
type blocks struct {
	alone  [][]int    // rows of units that occur in one table only
	former []bool     // whether that is the first table
	both   [][2][]int // rows of units that occur in both: in the first, and in the second
}

func (u Units) blocks() blocks {
	rows, order := map[string]*[2][]int{}, []string{}
	for side, names := range [2][]string{u.Before, u.After} {
		for i, name := range names {
			row := i + side*len(u.Before)
			if name == "" {
				name = fmt.Sprintf("\x00%d", row)
			}
			if rows[name] == nil {
				rows[name], order = &[2][]int{}, append(order, name)
			}
			rows[name][side] = append(rows[name][side], row)
		}
	}
	var b blocks
	for _, name := range order {
		switch of := rows[name]; {
		case of[0] != nil && of[1] != nil:
			b.both = append(b.both, *of)
		case of[0] != nil:
			b.alone, b.former = append(b.alone, of[0]), append(b.former, true)
		default:
			b.alone, b.former = append(b.alone, of[1]), append(b.former, false)
		}
	}
	return b
}

// divider returns a function that divides units between the tables at random. Units of a single table are assigned as a
// whole. For units in both tables, it exchanges the rows of the tables or keeps them. If nothing has changed,
// all such divisions are equally likely.
func (b blocks) divider(rng *rand.Rand) func(former []bool) {
	set := func(former []bool, rows []int, is bool) {
		for _, row := range rows {
			former[row] = is
		}
	}
	return func(former []bool) {
		rng.Shuffle(len(b.former), func(i, j int) { b.former[i], b.former[j] = b.former[j], b.former[i] })
		for i, rows := range b.alone {
			set(former, rows, b.former[i])
		}
		for _, rows := range b.both {
			first := rng.IntN(2) == 0
			set(former, rows[0], first)
			set(former, rows[1], !first)
		}
	}
}

// changeError returns the standard error of mean |now| − mean |then|, cluster-robust over the G units:
//
//	√(G/(G − 1) · Σ_g (Σ_{i∈g} ±(|x_i| − mean)/n)²)
//
// with the mean and the number n of rows of x_i's table, + for the second table and − for the first.
func (b blocks) changeError(then, now []float64, before, after float64) float64 {
	of := func(rows []int) (sum float64) {
		for _, row := range rows {
			if row < len(then) {
				sum -= (math.Abs(then[row]) - before) / float64(len(then))
			} else {
				sum += (math.Abs(now[row-len(then)]) - after) / float64(len(now))
			}
		}
		return sum
	}
	squares := 0.0
	for _, rows := range b.alone {
		squares += math.Pow(of(rows), 2)
	}
	for _, rows := range b.both {
		squares += math.Pow(of(rows[0])+of(rows[1]), 2)
	}
	g := float64(len(b.alone) + len(b.both))
	return math.Sqrt(squares * g / max(1, g-1))
}
