package form

import (
	"context"
	"math"
	"slices"

	"github.com/psi-shapley/psi/internal/encode"
)

// Member is a network of an ensemble: trained weights and the number of quadrature nodes that its attributions need.
type Member struct {
	Weights map[string][]float32
	Nodes   int
}

// Ensemble is the mean of networks of one shape. The Shapley values of a mean of games are the mean of their Shapley
// values, so an ensemble of exact heads is exact too. σ_d² is the mean over the members. Bags are additional networks
// that do not affect the value: the deviation of their f_d is the epistemic uncertainty.
type Ensemble struct {
	config  Config
	members []Evaluator
	bags    []Evaluator
	noise   []float64 // σ_0² [C]
	mixed   bool      // members are parts of a mixture, whose values do not estimate the same
}

// NewEnsemble combines networks; evaluator prepares a member for evaluation.
func (c Config) NewEnsemble(members []Member, evaluator func(Member) (Evaluator, error)) (*Ensemble, error) {
	e := &Ensemble{config: c, noise: make([]float64, c.Outputs)}
	for _, m := range members {
		prepared, err := evaluator(m)
		if err != nil {
			e.Close()
			return nil, err
		}
		e.members = append(e.members, prepared)
		for o, s := range NoiseStd(m.Weights) {
			e.noise[o] += float64(s) * float64(s) / float64(len(members))
		}
	}
	return e, nil
}

// AddBags adds bags to the ensemble; evaluator prepares a bag for evaluation. There must be at least two.
func (e *Ensemble) AddBags(bags []Member, evaluator func(Member) (Evaluator, error)) error {
	for _, b := range bags {
		prepared, err := evaluator(b)
		if err != nil {
			return err
		}
		e.bags = append(e.bags, prepared)
	}
	return nil
}

// Bags returns the number of bags.
func (e *Ensemble) Bags() int { return len(e.bags) }

// NoiseVariance returns σ_0² [C].
func (e *Ensemble) NoiseVariance() []float64 { return e.noise }

// Close frees memory outside Go's heap.
func (e *Ensemble) Close() {
	for _, m := range slices.Concat(e.members, e.bags) {
		m.Close()
	}
}

// Answer is the answer of an ensemble for rows, in standard deviations of the target or units of scores.
type Answer struct {
	Explained
	Variance     []float64   // [rows, C] variance of the target about Value: σ_0² + Σ_d σ_d² + h², plus the variance of the members' values
	Disagreement []float32   // [rows, C] variance of the members' values, a part of Variance; nil with one member
	ByBag        [][]float32 // [bags] attributions [rows, C, players] of each; nil unless requested, or without bags
}

// Slice returns the answer of rows [from, to), sharing memory.
func (a *Answer) Slice(from, to, all int) *Answer {
	part := &Answer{
		Explained: Explained{
			Value: share(a.Value, from, to, all), Empty: share(a.Empty, from, to, all), Attributions: share(a.Attributions, from, to, all),
			Std: share(a.Std, from, to, all), HiddenVariance: share(a.HiddenVariance, from, to, all),
		},
		Variance: share(a.Variance, from, to, all), Disagreement: share(a.Disagreement, from, to, all),
	}
	for _, bag := range a.ByBag {
		part.ByBag = append(part.ByBag, share(bag, from, to, all))
	}
	return part
}

// share returns the part of a list that belongs to rows [from, to); nil for a nil list.
func share[T any](list []T, from, to, all int) []T {
	width := len(list) / all
	return list[from*width : to*width : to*width]
}

// Pass evaluates rows: their values, and what else is wanted. It returns a NotFiniteError if an answer is not finite.
func (e *Ensemble) Pass(ctx context.Context, b *encode.Batch, want Want) (*Answer, error) {
	all := make([]*Explained, len(e.members))
	for i, m := range e.members {
		var err error
		if all[i], err = m.Pass(ctx, b, want&^Doubt); err != nil {
			return nil, err
		}
	}
	a := &Answer{}
	if a.Value, a.Disagreement = moments(all, func(x *Explained) []float32 { return x.Value }); e.mixed {
		a.Disagreement = nil
	}
	if all[0].Empty != nil {
		a.Empty, _ = moments(all, func(x *Explained) []float32 { return x.Empty })
	}
	if want&Attributions != 0 {
		a.Attributions, _ = moments(all, func(x *Explained) []float32 { return x.Attributions })
	}
	if want&Doubt != 0 {
		for _, bag := range e.bags {
			x, err := bag.Pass(ctx, b, Attributions)
			if err != nil {
				return nil, err
			}
			a.ByBag = append(a.ByBag, x.Attributions)
		}
	}
	if want&Spread != 0 {
		e.spread(a, all)
	}
	if err := finite(b.Rows, a.Variance); err != nil {
		return nil, err
	}
	return a, finite(b.Rows, append(slices.Clip(a.ByBag), a.Value, a.Empty, a.Attributions, a.Std, a.HiddenVariance)...)
}

// spread combines σ and h² of the members.
func (e *Ensemble) spread(a *Answer, all []*Explained) {
	for _, x := range all {
		for i, s := range x.Std {
			x.Std[i] = s * s
		}
	}
	a.Std, _ = moments(all, func(x *Explained) []float32 { return x.Std })
	a.HiddenVariance, _ = moments(all, func(x *Explained) []float32 { return x.HiddenVariance })
	a.Variance = make([]float64, len(a.Value))
	d := len(a.Std) / max(1, len(a.Value))
	for i := range a.Value {
		v := e.noise[i%len(e.noise)] + float64(a.HiddenVariance[i])
		for _, s := range a.Std[i*d : (i+1)*d] {
			v += float64(s)
		}
		if a.Disagreement != nil {
			v += float64(a.Disagreement[i])
		}
		a.Variance[i] = v
	}
	roots(a.Std)
}

// Coalitions returns f(x_S) [rows, per, C] for masks [rows, per, D].
func (e *Ensemble) Coalitions(ctx context.Context, b *encode.Batch, masks []float32, per int) ([]float32, error) {
	return e.mean(b.Rows, func(m Evaluator) ([]float32, error) { return m.Coalitions(ctx, b, masks, per) })
}

// Interactions returns the pairwise Shapley interaction indices [rows, C, D, D].
func (e *Ensemble) Interactions(ctx context.Context, b *encode.Batch) ([]float32, error) {
	return e.mean(b.Rows, func(m Evaluator) ([]float32, error) { return m.Interactions(ctx, b) })
}

// mean averages the members' answers. It returns a NotFiniteError if an answer is not finite.
func (e *Ensemble) mean(rows int, of func(Evaluator) ([]float32, error)) ([]float32, error) {
	all := make([][]float32, len(e.members))
	for i, m := range e.members {
		var err error
		if all[i], err = of(m); err != nil {
			return nil, err
		}
	}
	mean, _ := moments(all, func(list []float32) []float32 { return list })
	return mean, finite(rows, mean)
}

// RowGame returns the game of row i of b.
func (e *Ensemble) RowGame(b *encode.Batch, i int) *RowGame {
	return e.config.RowGame(e, b, i)
}

// roots takes the square root of each element.
func roots(v []float32) {
	for i := range v {
		v[i] = root(float64(v[i]))
	}
}

func root(v float64) float32 { return float32(math.Sqrt(v)) }

// moments returns the mean and the variance of lists, element by element. The variance of a single list is nil.
func moments[T any](all []T, list func(T) []float32) (mean, variance []float32) {
	if len(all) == 1 {
		return list(all[0]), nil
	}
	n := float64(len(all))
	mean, variance = make([]float32, len(list(all[0]))), make([]float32, len(list(all[0])))
	for i := range mean {
		var sum, squares float64
		for _, x := range all {
			sum += float64(list(x)[i])
		}
		m := sum / n
		for _, x := range all {
			squares += (float64(list(x)[i]) - m) * (float64(list(x)[i]) - m)
		}
		mean[i], variance[i] = float32(m), float32(squares/(n-1))
	}
	return mean, variance
}
