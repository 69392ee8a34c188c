package train

import "slices"

// wholestRows of a sample are enough to start σ_0 from.
const wholestRows = 30

// lacking is how many cells each row lacks.
func (d Data) lacking() []int {
	list := make([]int, d.Len())
	for i := range list {
		list[i] = d.Rows.Players() - count(d.Rows.Observed[i*d.Rows.Players():][:d.Rows.Players()])
	}
	return list
}

// whole is the number of rows that lack nothing.
func (d Data) whole() (n int) {
	for _, missing := range d.lacking() {
		if missing == 0 {
			n++
		}
	}
	return n
}

// wholest is the rows that lack the fewest cells, all that lack equally few and at least wholestRows of them, with their values. σ_0 is what
// complete rows scatter by, and the error of all rows is mostly that of what they lack.
func wholest(values []float32, d Data) ([]float32, Data) {
	lacking := d.lacking()
	sorted := slices.Sorted(slices.Values(lacking))
	most := sorted[min(wholestRows, len(sorted))-1]
	if most == sorted[len(sorted)-1] {
		return values, d
	}
	var rows []int
	for i, n := range lacking {
		if n <= most {
			rows = append(rows, i)
		}
	}
	some, few := newData(len(rows), d), make([]float32, len(rows))
	for k, i := range rows {
		some.set(k, d, i)
		few[k] = values[i]
	}
	return few, some
}
