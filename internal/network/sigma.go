package network

import (
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/psi-shapley/psi/internal/form"
)

// std returns σ_d = R_d softplus(FFNN_d([z_d, MENN₂(context_d)])) as [B, C, D] for z [D, B, Z], masks [B, D] and
// context [D or 1, B, C]. Every player has its own weights. Classes with a shared σ_d get the same value.
func std(w Lookup, z, mask, context *Node) *Node {
	d, b, c := z.Shape().Dim(0), context.Shape().Dim(1), context.Shape().Dim(2)
	lifted := relu(playerLayer(w, "sigma_context", BroadcastToDims(context, d, b, c)))
	h := Add(playerLayer(w, "sigma_in", z), Einsum("dbi,dij->dbj", lifted, w("sigma_lifted")))
	s := Mul(positive(playerLayer(w, "sigma_out", relu(h))), InsertAxes(w(form.NoiseScale), 0, 0)) // [D, B, C or 1]
	return Mul(TransposeAllAxes(BroadcastToDims(s, d, b, c), 1, 2, 0), InsertAxes(mask, 1))
}

// hiddenVariance returns h²(x_S) [B, P, C] for z [D, B, Z] and masks [B, P, D]: the variance due to absent columns,
// exactly 0 if there are none. The input of its network is a linear mix of [z', R], as in the learned head.
func hiddenVariance(c form.Config, w Lookup, z, mask *Node) *Node {
	absent := w("hidden_absent")                                    // [D, 1, H]
	gain := Sub(Einsum("dbi,dij->dbj", z, w("hidden_mix")), absent) // [D, B, H]
	rest := Add(ReduceAndKeep(absent, ReduceSum, 0), w("hidden_mix_bias"))
	h := silu(Add(Einsum("bpd,dbh->bph", mask, gain), rest))
	b, p := mask.Shape().Dim(0), mask.Shape().Dim(1)
	h = silu(dense(w, "hidden_layer", Reshape(h, b*p, c.HiddenWidth)))
	variance := Reshape(positive(dense(w, "hidden_out", h)), b, p, c.Outputs)
	anyAbsent := OneMinus(ReduceAndKeep(mask, ReduceMin, -1)) // [B, P, 1]
	return Mul(variance, anyAbsent)
}
