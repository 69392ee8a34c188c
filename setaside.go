package psi

import (
	"math/rand/v2"

	"github.com/psi-shapley/psi/internal/train"
)

// Validation rows of a number that are set aside for its intervals: a quarter of them, within these bounds.
const (
	minAside    = 100
	maxAside    = 1000
	asideStream = 0xA51DE
)

// setAside divides the validation rows of a number into rows that choose the weights and rows that set the intervals.
// Rows of the same unit stay together. If there are too few for both, all rows serve both.
func setAside(d train.Data, units []uint64) (choosing, aside train.Data) {
	all := map[uint64][]int{}
	var order []uint64
	for i := range d.Len() {
		unit := uint64(i)
		if units != nil {
			unit = units[i]
		}
		if all[unit] == nil {
			order = append(order, unit)
		}
		all[unit] = append(all[unit], i)
	}
	rng := rand.New(rand.NewPCG(1, asideStream))
	rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	away, n := make([]bool, d.Len()), 0
	for _, unit := range order {
		if rows := all[unit]; n+len(rows) <= min(d.Len()/4, maxAside) {
			for _, i := range rows {
				away[i] = true
			}
			n += len(rows)
		}
	}
	if n < minAside {
		return d, d
	}
	var stay, leave []int
	for i, is := range away {
		if is {
			leave = append(leave, i)
		} else {
			stay = append(stay, i)
		}
	}
	return rowsOf(d, stay), rowsOf(d, leave)
}

// rowsOf returns the given rows of d.
func rowsOf(d train.Data, rows []int) train.Data {
	some := train.Data{Rows: d.Rows.Like(len(rows))}
	for k, i := range rows {
		some.Rows.Set(k, d.Rows, i)
		some.Target, some.Weight = append(some.Target, d.Target[i]), append(some.Weight, d.Weight[i])
	}
	return some
}
