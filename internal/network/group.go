package network

import (
	. "github.com/gomlx/gomlx/core/graph"
)

// membership is [D, players]: 1 where the column belongs to the player.
func (in Inputs) membership(like *Node) *Node {
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

// PerPlayer adds what is said of columns, on the last axis, up to what is said of players.
func (in Inputs) PerPlayer(x *Node) *Node {
	if in.Groups == nil {
		return x
	}
	axes := "abc"[:x.Rank()-1]
	return Einsum(axes+"j,jp->"+axes+"p", x, in.membership(x))
}

// ColumnsOf are masks of columns [B, P, D] for masks of players [B, P, players] and
// the cells that rows have [B, D]. A player is present with all the cells it has.
func (in Inputs) ColumnsOf(players, observed *Node) *Node {
	if in.Groups == nil {
		return players
	}
	b, p := players.Shape().Dim(0), players.Shape().Dim(1)
	spread := Dot(Reshape(players, b*p, in.Players()), Transpose(in.membership(players), 0, 1)).Product()
	return Mul(Reshape(spread, b, p, in.Columns()), InsertAxes(observed, 1))
}

// playerStd is σ [B, C, players] of σ [B, C, D]: the columns of a group are independent, so
// their variances add up.
func (in Inputs) playerStd(std *Node) *Node {
	if in.Groups == nil {
		return std
	}
	return Sqrt(in.PerPlayer(Square(std)))
}
