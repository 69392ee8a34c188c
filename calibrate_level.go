package psi

import (
	"context"
	"math"

	"github.com/psi-shapley/psi/internal/train"
)

// Maximum number of rows that a level is fitted on, in blocks spread over the table.
const (
	levelRows  = 1 << 16
	levelBlock = 1 << 10
)

// fitLevel returns log(Σ w y / Σ w μ(x)) of training rows. Gamma deviance keeps the mean of y/μ at 1 during training.
// The weights that validation selects may be off by a few per cent, and with them every sum of predictions.
func (m *Model) fitLevel(ctx context.Context, rows train.Store) (float64, error) {
	blocks := (rows.Len() + levelBlock - 1) / levelBlock
	step := max(1, (blocks*levelBlock+levelRows-1)/levelRows)
	actual, predicted := 0.0, 0.0
	for b := 0; b < blocks; b += step {
		d, err := rows.Read(b*levelBlock, min((b+1)*levelBlock, rows.Len()))
		if err != nil {
			return 0, err
		}
		x, err := m.own.Pass(ctx, d.Rows, 0)
		if err != nil {
			return 0, err
		}
		means := m.link().Responses(m.scores(x.Value))
		for i, y := range labels(d, m.manifest.Scale) {
			actual += float64(d.Weight[i]) * y
			predicted += float64(d.Weight[i]) * means[i]
		}
	}
	return math.Log(actual / predicted), nil
}
