package explain

import (
	"fmt"
	"math"
	"math/rand/v2"
)

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
