package network

import (
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/psi-shapley/psi/internal/form"
)

// membership returns [D, players]: 1 where the column belongs to the player.
func membership(in form.Inputs, like *Node) *Node {
	rows := make([][]float32, in.Columns())
	for j := range rows {
		rows[j] = make([]float32, len(in.Groups))
	}
	for player, columns := range in.Groups {
		for _, j := range columns {
			rows[j][player] = 1
		}
	}
	return ConstAs(like, rows)
}

// PerPlayer sums values of columns, on the last axis, to values of players.
func PerPlayer(in form.Inputs, x *Node) *Node {
	if in.Groups == nil {
		return x
	}
	axes := "abc"[:x.Rank()-1]
	return Einsum(axes+"j,jp->"+axes+"p", x, membership(in, x))
}

// ColumnsOf returns masks of columns [B, P, D] for masks of players [B, P, players] and the observed cells [B, D]. A
// present player has all its observed cells.
func ColumnsOf(in form.Inputs, players, observed *Node) *Node {
	if in.Groups == nil {
		return players
	}
	b, p := players.Shape().Dim(0), players.Shape().Dim(1)
	spread := Dot(Reshape(players, b*p, in.Players()), Transpose(membership(in, players), 0, 1)).Product()
	return Mul(Reshape(spread, b, p, in.Columns()), InsertAxes(observed, 1))
}

// playerStd returns σ [B, C, players] from σ [B, C, D]: the columns of a group are independent, so their variances add
// up.
func playerStd(in form.Inputs, std *Node) *Node {
	if in.Groups == nil {
		return std
	}
	return Sqrt(PerPlayer(in, Square(std)))
}
