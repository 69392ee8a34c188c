package train

import "slices"

// wholestRows is the minimum number of rows for the initial σ_0.
const wholestRows = 30

// lacking returns the number of missing cells of each row.
func (d Data) lacking() []int {
	list := make([]int, d.Len())
	for i := range list {
		list[i] = d.Rows.Players() - count(d.Rows.Observed[i*d.Rows.Players():][:d.Rows.Players()])
	}
	return list
}

// whole returns the number of complete rows.
func (d Data) whole() (n int) {
	for _, missing := range d.lacking() {
		if missing == 0 {
			n++
		}
	}
	return n
}

// wholest returns the rows with the fewest missing cells, at least wholestRows and all ties, with their values. σ_0 is
// the noise of complete rows, whereas the error of all rows is mostly due to missing cells.
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
