package psi

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/train"
)

// Standard deviations of the priors of log a and b. The priors regularise the fit on few or perfectly separated rows.
const (
	scaleDoubt = 0.5
	slopeDoubt = 1.0
)

const (
	scaleRows   = 10_000 // maximum number of rows that a and b are fitted on
	scaleStream = 0x5CA1E
)

// keptShares lists the shares of its cells that the masked copies of a row keep.
func keptShares() []float64 { return []float64{0.25, 0.5, 0.75, 1} }

// fitScale minimises the log loss of rows and their masked copies over a in score(S) = φ_0 + a·v(S) and b in κ.
func (m *Model) fitScale(ctx context.Context, d train.Data) (a, b float64, err error) {
	d = atMost(d, scaleRows)
	copies, err := m.maskedPasses(ctx, d.Rows, 1)
	if err != nil {
		return 0, 0, err
	}
	a, b = m.bestScale(copies, d)
	return a, b, nil
}

// maskedPass is the model's answer for masked copies of rows, with the share of known columns of each copy.
type maskedPass struct {
	answer *form.Answer
	shares []float64
}

// maskedPasses evaluates several masked copies of the rows for each kept share, and the whole rows once.
func (m *Model) maskedPasses(ctx context.Context, b *encode.Batch, draws int) ([]maskedPass, error) {
	rng := rand.New(rand.NewPCG(1, scaleStream))
	var passes []maskedPass
	for i := range draws*(len(keptShares())-1) + 1 {
		kept := keptShares()[i/draws]
		part := keepCells(rng, b, kept)
		x, err := m.own.Pass(ctx, part, form.Spread)
		if err != nil {
			return nil, err
		}
		x.Std = nil // the largest part, which no probability needs
		passes = append(passes, maskedPass{x, observedShares(part)})
	}
	return passes, nil
}

// keepCells hides each cell of a copy of b with probability 1 − kept. The copy shares everything but the mask with b.
func keepCells(rng *rand.Rand, b *encode.Batch, kept float64) *encode.Batch {
	part := *b
	part.Observed = make([]float32, len(b.Observed))
	for i, seen := range b.Observed {
		if rng.Float64() < kept {
			part.Observed[i] = seen
		}
	}
	return &part
}

// atMost returns d, or n evenly spaced rows of it.
func atMost(d train.Data, n int) train.Data {
	if d.Len() <= n {
		return d
	}
	rows := make([]int, n)
	for k := range rows {
		rows[k] = k * d.Len() / n
	}
	return rowsOf(d, rows)
}

// bestScale minimises (log a)²/(2·½²) + b²/2 − Σ w log p(y) over a and b. The sum is averaged over the copies, so that
// a row counts once.
func (m *Model) bestScale(copies []maskedPass, d train.Data) (a, b float64) {
	c := &m.manifest.Calibration
	logA, b := minimum(func(logA, b float64) float64 {
		c.Scale, c.Slope = math.Exp(logA), b
		sum := 0.0
		for _, x := range copies {
			p := m.probabilities(m.scores(x.answer.Value), x.answer, c.slopes(x.shares))
			for i, y := range d.Target {
				sum -= float64(d.Weight[i]) * math.Log(max(m.probabilityOf(p, i, y), 1e-15))
			}
		}
		return square(logA/scaleDoubt)/2 + square(b/slopeDoubt)/2 + sum/float64(len(copies))
	})
	return math.Exp(logA), b
}

func square(x float64) float64 { return x * x }

// probabilityOf returns the probability of class y of row i.
func (m *Model) probabilityOf(p []float64, i int, y float32) float64 {
	if m.manifest.Task == Multiclass {
		return p[i*m.outputs()+int(y)]
	}
	if y == 1 {
		return p[i]
	}
	return 1 - p[i]
}
