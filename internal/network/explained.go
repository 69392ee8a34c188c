package network

import (
	. "github.com/gomlx/gomlx/core/graph"
)

// Explain returns the contents of form.Explained as nodes: f(x_S) [B, 1, C], σ_d [B, C, players], h² [B, 1, C] and f_d
// [B, 1, C, players], for rows with masks [B, 1, D].
func (f *Forward) Explain(mask *Node, nodes int) (value, std, hidden, attributions *Node) {
	return f.Value(mask), playerStd(f.n.Inputs, f.Std(mask)), f.HiddenVariance(mask), f.Attributions(mask, nodes)
}
