package onnx

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/link"
	"github.com/psi-shapley/psi/internal/network"
)

// Units convert a network's outputs to the units of its model.
type Units struct {
	Unit        float64     // factor from the network's units to the model's
	Base        []float64   // φ_0 [C]
	Noise       []float64   // σ_0² [C], in the network's units, as calibrated
	Probability bool        // outputs are scores of classes
	Link        encode.Link // of a number
	NonNegative bool        // a prediction below 0 is 0
	Slope       float64     // b of κ = exp(b(1 − s)), the factor of the score in a probability, for a row with the share s of its columns known
}

// answer holds the combined answers of the members, in the network's units and float64.
type answer struct {
	value, variance, hidden *Node // [n, C]; variance includes σ_0², Σ_d σ_d², h² and that of the members' values
	disagreement            *Node // [n, C]: variance of the members' values; nil with one member
	mean, std               *Node // [n, C, players]
	share                   *Node // [n, 1]: share of a row's columns that are known
}

// ask combines the members' answers for rows as form.Ensemble does.
func (m *Model) ask(members []*network.Forward, observed *Node) answer {
	mask := InsertAxes(observed, 1)
	n := len(members)
	values, squares, hidden, means := make([]*Node, n), make([]*Node, n), make([]*Node, n), make([]*Node, n)
	for i, f := range members {
		value, std, h, mean := f.Explain(mask, m.Members[i].Nodes)
		values[i], hidden[i] = double(Squeeze(value, 1)), double(Squeeze(h, 1))
		squares[i], means[i] = Square(double(std)), double(Squeeze(mean, 1))
	}
	square := meanOf(squares)
	a := answer{value: meanOf(values), hidden: meanOf(hidden), mean: meanOf(means), std: Sqrt(square), share: shareOf(observed)}
	a.variance = Add(Add(ReduceSum(square, -1), a.hidden), Const(square.Graph(), [][]float64{m.Units.Noise}))
	if n > 1 {
		apart := make([]*Node, n)
		for i, v := range values {
			apart[i] = Square(Sub(v, a.value))
		}
		a.disagreement = MulScalar(meanOf(apart), float64(n)/float64(n-1))
		a.variance = Add(a.variance, a.disagreement)
	}
	return a
}

// shareOf returns the share [n, 1] of known columns for a mask [n, D].
func shareOf(observed *Node) *Node { return ReduceAndKeep(double(observed), ReduceMean, -1) }

func meanOf(list []*Node) *Node {
	sum := list[0]
	for _, x := range list[1:] {
		sum = Add(sum, x)
	}
	return DivScalar(sum, float64(len(list)))
}

// output is an output of a graph.
type output struct {
	name      string
	perPlayer bool // [n, C, players], else [n, C]
}

// outputs have the names of a server's, in the order of results.
func (u *Units) outputs() []output {
	all := []output{{"prediction", false}, {"prediction_std", false}, {"base", false}, {"attribution_mean", true}, {"attribution_std", true}}
	if u.Probability {
		all = append(all, output{"probability", false})
	}
	return all
}

// results returns the outputs in float32. Players are in the order of places.
func (u *Units) results(a answer, places []int) []*Node {
	bases := BroadcastLike(Const(a.value.Graph(), [][]float64{u.Base}), a.value)
	score := Add(bases, MulScalar(a.value, u.Unit))
	variance := MulScalar(MaxScalar(a.variance, 0), u.Unit*u.Unit)
	prediction, std := u.predicted(score, variance)
	all := []*Node{prediction, std, bases, ordered(MulScalar(a.mean, u.Unit), places), ordered(MulScalar(a.std, u.Unit), places)}
	if u.Probability {
		score, variance = u.sloped(a, score, bases, MulScalar(a.doubt(), u.Unit*u.Unit))
		all = append(all, probabilities(score, MaxScalar(variance, 0)))
	}
	for i, x := range all {
		all[i] = float(x)
	}
	return all
}

// predicted returns the predictions of scores, as explain.Link does, and their standard deviations.
func (u *Units) predicted(score, variance *Node) (prediction, std *Node) {
	switch {
	case u.Link == encode.LogMean:
		variance = MulScalar(AddScalar(Sqrt(AddScalar(variance, 1)), -1), 2)
		prediction = Exp(score)
		return prediction, Mul(prediction, Sqrt(AddScalar(Exp(variance), -1)))
	case u.Link == encode.Log:
		return Exp(score), Mul(Exp(Add(score, MulScalar(variance, 0.5))), Sqrt(AddScalar(Exp(variance), -1)))
	case u.NonNegative:
		score = MaxScalar(score, 0)
	}
	return score, Sqrt(variance)
}

// doubt returns the variance of scores over which probabilities are means. Missing cells are already marginalised in the
// scores. For more than two classes the members' disagreement is left out, as psi.Model leaves it out.
func (a *answer) doubt() *Node {
	doubt := Sub(a.variance, a.hidden)
	if classes := a.value.Shape().Dim(-1); classes > 1 && a.disagreement != nil {
		doubt = Sub(doubt, a.disagreement)
	}
	return doubt
}

// sloped returns base + κ(score − base) and κ²·variance.
func (u *Units) sloped(a answer, score, bases, variance *Node) (*Node, *Node) {
	if u.Slope == 0 {
		return score, variance
	}
	kappa := Exp(MulScalar(AddScalar(Neg(a.share), 1), u.Slope))
	return Add(bases, Mul(kappa, Sub(score, bases))), Mul(Square(kappa), variance)
}

// ordered permutes players, on the last axis of x [n, C, players], to the order of places.
func ordered(x *Node, places []int) *Node {
	same := true
	index := make([][]int32, len(places))
	for k, j := range places {
		index[k] = []int32{int32(j)}
		same = same && k == j
	}
	if same {
		return x
	}
	first := TransposeAllAxes(x, 2, 0, 1)
	return TransposeAllAxes(Gather(first, Const(x.Graph(), index)), 1, 2, 0)
}

// probabilities returns those of package link: LogisticNormal of one score, SoftmaxNormal of more.
func probabilities(score, variance *Node) *Node {
	if score.Shape().Dim(-1) == 1 {
		z, w := link.Nodes()
		u := Add(score, Mul(Sqrt(variance), Const(score.Graph(), [][]float64{z}))) // [n, nodes]
		return MinScalar(ReduceAndKeep(Mul(Sigmoid(u), Const(score.Graph(), [][]float64{w})), ReduceSum, -1), 1)
	}
	shrunk := Div(score, Sqrt(AddScalar(MulScalar(ReduceAndKeep(variance, ReduceMean, -1), math.Pi/8), 1)))
	e := Exp(Sub(shrunk, ReduceAndKeep(shrunk, ReduceMax, -1)))
	return Div(e, ReduceAndKeep(e, ReduceSum, -1))
}
