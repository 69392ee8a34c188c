package train

import (
	"context"
	"math/rand/v2"

	"github.com/psi-shapley/psi/internal/form"
)

// maskedCopies is the number of masked copies of a validation row in a score.
const maskedCopies = 4

// hideSome evaluates masked copies of some rows with the averaged weights, and returns their targets. The copies are
// the same each time.
func (r *Run) hideSome(ctx context.Context, rows Data) (*form.Explained, Data, error) {
	in, n := r.net.Inputs, rows.Len()*maskedCopies
	b := minibatch{Data: rows, masks: make([]float32, rows.Len()*in.Players()), copies: 1, players: in.Players(), groups: in.Groups}
	masks, part := make([]float32, 0, n*in.Columns()), make([]float32, in.Players())
	copies := Data{Target: make([]float32, 0, n), Weight: make([]float32, 0, n)}
	player := in.PlayerOf()
	rng := rand.New(rand.NewPCG(0, 0))
	for row := range rows.Len() {
		b.observe(row)
		for range maskedCopies {
			r.Sampler.draw(rng, b.mask(row, 0), part)
			for d, p := range player {
				masks = append(masks, part[p]*rows.Rows.Observed[row*len(player)+d])
			}
			copies.Target, copies.Weight = append(copies.Target, rows.Target[row]), append(copies.Weight, rows.Weight[row])
		}
	}
	values, err := r.evaluator.Coalitions(ctx, rows.Rows, masks, maskedCopies)
	return &form.Explained{Value: values}, copies, err
}
