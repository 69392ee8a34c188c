package trees

import "slices"

// Arrange puts the columns into an order, given by their indices, and sorts their labels.
func (e *Ensemble) Arrange(order []int) {
	place := make([]int, len(order)) // of each column before
	columns := make([]Column, len(order))
	recoded := make([][]Code, len(order)) // by column before: the new code of each label
	for to, from := range order {
		place[from], columns[to] = to, e.Columns[from]
		if columns[to].Labels != nil {
			recoded[from] = columns[to].sortLabels()
		}
	}
	e.Columns = columns
	for i := range e.Trees {
		for k := range e.Trees[i].Nodes {
			n := &e.Trees[i].Nodes[k]
			if n.Column == Leaf {
				continue
			}
			if codes := recoded[n.Column]; codes != nil {
				n.Set = slices.Clone(n.Set) // nodes may share it
				for s, code := range n.Set {
					if int(code) < len(codes) { // the last code is that of all other labels
						n.Set[s] = codes[code]
					}
				}
				slices.Sort(n.Set)
			}
			n.Column = place[n.Column]
		}
	}
}

// Reorder puts the outputs into an order, given by their indices.
func (e *Ensemble) Reorder(order []int) {
	place, base := make([]int, len(order)), make([]float64, len(order))
	for to, from := range order {
		place[from], base[to] = to, e.Base[from]
	}
	e.Base = base
	for i := range e.Trees {
		e.Trees[i].Output = place[e.Trees[i].Output]
	}
}

// sortLabels sorts the labels and returns the new code of each.
func (c *Column) sortLabels() []Code {
	before := c.Labels
	c.Labels = slices.Sorted(slices.Values(before))
	codes := make([]Code, len(before))
	for k, label := range before {
		codes[k] = c.Label(label)
	}
	return codes
}

// Multiply multiplies the outputs.
func (e *Ensemble) Multiply(factor float64) {
	for c := range e.Base {
		e.Base[c] *= factor
	}
	for i := range e.Trees {
		for k := range e.Trees[i].Nodes {
			e.Trees[i].Nodes[k].Value *= factor
		}
	}
}

// Depth returns the number of splits on the longest path.
func (e *Ensemble) Depth() (deepest int) {
	for i := range e.Trees {
		nodes := e.Trees[i].Nodes
		depth := make([]int, len(nodes))
		for k := range nodes { // children come after their parents
			if n := &nodes[k]; n.Column != Leaf {
				depth[n.Left], depth[n.Right] = depth[k]+1, depth[k]+1
				deepest = max(deepest, depth[k]+1)
			}
		}
	}
	return deepest
}

// Split reports which columns the trees split.
func (e *Ensemble) Split() []bool {
	split := make([]bool, len(e.Columns))
	for i := range e.Trees {
		for k := range e.Trees[i].Nodes {
			if column := e.Trees[i].Nodes[k].Column; column != Leaf {
				split[column] = true
			}
		}
	}
	return split
}
