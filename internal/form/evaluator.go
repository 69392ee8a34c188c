package form

import (
	"context"
	"math"

	"github.com/psi-shapley/psi/internal/encode"
)

// Evaluator evaluates rows with the weights of one network. It is safe for concurrent use, and the answer of a row does
// not depend on the other rows.
type Evaluator interface {
	// Pass evaluates rows: their values, and what else is wanted.
	Pass(ctx context.Context, b *encode.Batch, want Want) (*Explained, error)
	// Coalitions returns f(x_S) [B, P, C] for masks [B, P, D] over the observed cells.
	Coalitions(ctx context.Context, b *encode.Batch, masks []float32, per int) ([]float32, error)
	// Interactions returns the pairwise Shapley interaction indices [B, C, players, players] of the coalitions of
	// observed cells.
	Interactions(ctx context.Context, b *encode.Batch) ([]float32, error)
	// Close frees memory outside Go's heap.
	Close()
}

// Want is a set of results of a pass besides values.
type Want uint8

// Results of a pass.
const (
	Spread       Want = 1 << iota // σ and h²
	Attributions                  // f_d
	Doubt                         // epistemic uncertainty of attributions, over bags

	Everything = Spread | Attributions
)

// Explained is the answer of one network for rows, in standard deviations of the target or units of scores.
type Explained struct {
	Value          []float32 // [B, C] f(x_S) of the coalition S of the observed cells
	Attributions   []float32 // [B, C, players] f_d(x_S)
	Std            []float32 // [B, C, players] σ_d(x_S)
	HiddenVariance []float32 // [B, C] h²(x_S)
}

// Residual returns the root mean square of v − Σ_d f_d relative to that of v.
func (x *Explained) Residual() float64 {
	d := len(x.Attributions) / len(x.Value)
	var gap, size float64
	for i, v := range x.Value {
		sum := float64(v)
		for _, phi := range x.Attributions[i*d : (i+1)*d] {
			sum -= float64(phi)
		}
		gap += sum * sum
		size += float64(v) * float64(v)
	}
	if size == 0 {
		return 0
	}
	return math.Sqrt(gap / size)
}
