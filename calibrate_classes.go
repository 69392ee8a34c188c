package psi

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/train"
)

// Standard deviations of the priors of log a and b: few rows, or perfectly separated ones, must not decide them alone.
const (
	scaleDoubt = 0.5
	slopeDoubt = 1.0
)

const (
	scaleRows   = 10_000 // maximum of the rows that a and b are fitted on
	scaleStream = 0x5CA1E
)

// keptShares are the shares of its cells that the copies of a row keep.
func keptShares() []float64 { return []float64{0.25, 0.5, 0.75, 1} }

// fitScale is the a of score(S) = φ_0 + a·v(S), and the b of κ, that make the log loss of the rows and of their masked
// copies least.
func (m *Model) fitScale(ctx context.Context, d train.Data) (a, b float64, err error) {
	d = atMost(d, scaleRows)
	copies, err := m.maskedPasses(ctx, d.Rows, 1)
	if err != nil {
		return 0, 0, err
	}
	a, b = m.bestScale(copies, d)
	return a, b, nil
}

// maskedPass is what the model says of copies of rows, and how many of their cells they keep.
type maskedPass struct {
	answer *form.Answer
	shares []float64
}

// maskedPasses evaluates copies of rows, some passes for each of the kept shares and one of whole rows.
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

// keepCells hides each cell of a copy of b unless a draw keeps it. All but the mask shares b's memory.
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

// atMost is d, or n of its rows, evenly taken.
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

// bestScale is the a and b that make (log a)²/(2·½²) + b²/2 − Σ w log p(y) least, where the sum is the mean of those of the
// copies: a row counts once, however many copies it has.
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

// probabilityOf is that of class y among the probabilities of row i.
func (m *Model) probabilityOf(p []float64, i int, y float32) float64 {
	if m.manifest.Task == Multiclass {
		return p[i*m.outputs()+int(y)]
	}
	if y == 1 {
		return p[i]
	}
	return 1 - p[i]
}
