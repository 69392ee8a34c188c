package trees

// HasCovers reports whether the nodes say how many rows reached them.
func (e *Ensemble) HasCovers() bool {
	for i := range e.Trees {
		if e.Trees[i].Nodes[0].Cover > 0 {
			return true
		}
	}
	return len(e.Trees) == 0
}

// CountCovers sets the covers of all nodes to the numbers of rows [rows, columns] of codes that reach them. It is for ensembles of files without covers,
// such as ONNX, and makes the game of [Cover] that of these rows.
func (e *Ensemble) CountCovers(codes []Code) {
	columns := len(e.Columns)
	rows := len(codes) / max(1, columns)
	for i := range e.Trees {
		nodes := e.Trees[i].Nodes
		for k := range nodes {
			nodes[k].Cover = 0
		}
		for r := range rows {
			row := codes[r*columns:][:columns]
			for at := 0; ; {
				n := &nodes[at]
				n.Cover++
				if n.Column == Leaf {
					break
				}
				if at = n.Right; n.left(row[n.Column], e.Columns[n.Column].Zero) {
					at = n.Left
				}
			}
		}
	}
}
