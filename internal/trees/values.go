package trees

// Values are the outputs [rows, outputs] of rows of codes [rows, columns] whose columns that are not present are absent: v(S). A nil
// present is all.
func (g *Game) Values(codes []Code, present []bool) []float64 {
	columns, outputs := len(g.ensemble.Columns), len(g.ensemble.Base)
	rows := len(codes) / max(1, columns)
	values := make([]float64, 0, rows*outputs)
	for r := range rows {
		row := codes[r*columns:][:columns]
		var known []bool
		if present != nil {
			known = present[r*columns:][:columns]
		}
		values = append(values, g.ensemble.Base...)
		for i := range g.trees {
			t := &g.trees[i]
			values[r*outputs+t.output] += g.value(t, 0, row, known)
		}
	}
	return values
}

// value is the mean of the leaves below a node that a row can reach, by the shares of the branches of absent columns.
func (g *Game) value(t *compiled, node int, row []Code, known []bool) float64 {
	for {
		n := &t.nodes[node]
		switch {
		case n.Column == Leaf:
			return n.Value
		case len(known) > 0 && !known[n.Column]:
			return t.edges[n.Left].share*g.value(t, n.Left, row, known) + t.edges[n.Right].share*g.value(t, n.Right, row, known)
		case n.left(row[n.Column], g.ensemble.Columns[n.Column].Zero):
			node = n.Left
		default:
			node = n.Right
		}
	}
}
