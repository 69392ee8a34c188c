package psi

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/train"
)

// minShare is the share below which a model is left out of a mixture: its gain is within the noise of the rows.
const minShare = 0.03

// mixedCopy holds the members' scores for a masked copy of rows.
type mixedCopy struct {
	scores [][]float64 // [members] scores [rows, C]
	unit   float64     // of the loss: how much the best member explains
}

// shareFit fits the shares of a mixture to rows.
type shareFit struct {
	task   Task
	scale  explain.Scale
	y      []float64 // on the scale of scores, but for log-mean; or indices of classes
	weight []float64
	width  int // C
	copies []mixedCopy
}

// fitShares minimises the mean loss of rows and their masked copies over shares ≥ 0 that add up to 1. The loss of each
// copy is in units of what the best member explains there, so that rows with few cells do not outweigh the others.
func (m *Model) fitShares(ctx context.Context, s *sampled) ([]float64, error) {
	f := &shareFit{task: m.manifest.Task, scale: m.mixed[0].scale(), y: s.y, weight: s.weight, width: m.mixed[0].outputs()}
	if m.manifest.Scale.Link == encode.Log {
		f.y = m.manifest.Scale.Link.OfAll(s.y)
	}
	rng := rand.New(rand.NewPCG(1, scaleStream))
	for _, kept := range keptShares() {
		part := keepCells(rng, s.rows, kept)
		c := mixedCopy{unit: math.Inf(1)}
		for k, member := range m.mixed {
			x, err := member.own.Pass(ctx, part.Part(k), 0)
			if err != nil {
				return nil, err
			}
			c.scores = append(c.scores, member.scores(x.Value))
			c.unit = min(c.unit, f.loss(c.scores[k]))
		}
		nothing := f.loss(slices.Repeat(m.mixed[0].bases(), len(s.y)))
		c.unit = max(nothing-c.unit, 1e-3*math.Abs(nothing), math.SmallestNonzeroFloat32)
		f.copies = append(f.copies, c)
	}
	return f.fit(len(m.mixed)), nil
}

// fit minimises by exponentiated gradient, and again without the models whose share is small.
func (f *shareFit) fit(members int) []float64 {
	shares := slices.Repeat([]float64{1 / float64(members)}, members)
	for {
		f.descend(shares)
		small := slices.ContainsFunc(shares, func(w float64) bool { return w > 0 && w < minShare })
		if !small {
			return shares
		}
		sum := 0.0
		for k, w := range shares {
			if w < minShare {
				shares[k] = 0
			}
			sum += shares[k]
		}
		for k := range shares {
			shares[k] /= sum
		}
	}
}

// descend takes steps w_k ∝ w_k·exp(−η g_k) that lower the loss, until they hardly do.
func (f *shareFit) descend(shares []float64) {
	const rounds, enough = 300, 1e-7
	step := 1.0
	now, gradient := f.value(shares)
	for range rounds {
		next := make([]float64, len(shares))
		sum := 0.0
		for k, w := range shares {
			next[k] = w * math.Exp(-step*(gradient[k]-slices.Min(gradient)))
			sum += next[k]
		}
		for k := range next {
			next[k] /= sum
		}
		loss, slope := f.value(next)
		if loss > now {
			if step /= 2; step < 1e-6 {
				return
			}
			continue
		}
		copy(shares, next)
		if now-loss < enough && step <= 1 {
			return
		}
		now, gradient, step = loss, slope, min(64, 2*step)
	}
}

// value returns the mean loss of the copies and its gradient.
func (f *shareFit) value(shares []float64) (loss float64, gradient []float64) {
	gradient = make([]float64, len(shares))
	n := float64(len(f.copies))
	for _, c := range f.copies {
		mean := make([]float64, len(c.scores[0]))
		for k, w := range shares {
			for i, s := range c.scores[k] {
				mean[i] += w * s
			}
		}
		loss += f.loss(mean) / c.unit / n
		slopes := f.slopes(mean)
		for k := range shares {
			sum := 0.0
			for i, s := range c.scores[k] {
				sum += slopes[i] * s
			}
			gradient[k] += sum / c.unit / n
		}
	}
	return loss, gradient
}

// loss returns the weighted mean loss of scores [rows, C].
func (f *shareFit) loss(scores []float64) (sum float64) {
	for i, y := range f.y {
		row := scores[i*f.width : (i+1)*f.width]
		switch {
		case f.task == Regression && f.scale == explain.LogMean:
			sum += f.weight[i] * (row[0] + y*math.Exp(-row[0]))
		case f.task == Regression:
			sum += f.weight[i] * square(y-row[0])
		default:
			for c, p := range f.probabilities(row) {
				if f.is(i, c) {
					p = 1 - p
				}
				if f.scale == explain.Share {
					sum += f.weight[i] * p * p
				} else if f.width == 1 || f.is(i, c) {
					sum -= f.weight[i] * math.Log(max(1-p, 1e-15))
				}
			}
		}
	}
	return sum / float64(len(f.y))
}

// slopes returns the derivatives of loss by the scores.
func (f *shareFit) slopes(scores []float64) []float64 {
	list := make([]float64, len(scores))
	for i, y := range f.y {
		row, at := scores[i*f.width:(i+1)*f.width], i*f.width
		weight := f.weight[i] / float64(len(f.y))
		switch {
		case f.task == Regression && f.scale == explain.LogMean:
			list[at] = weight * (1 - y*math.Exp(-row[0]))
		case f.task == Regression:
			list[at] = 2 * weight * (row[0] - y)
		default:
			for c, p := range f.probabilities(row) {
				if f.is(i, c) {
					p--
				}
				if list[at+c] = weight * p; f.scale == explain.Share {
					list[at+c] *= 2
				}
			}
		}
	}
	return list
}

// is reports whether output c of row i is that of its class.
func (f *shareFit) is(i, c int) bool {
	if f.width == 1 {
		return f.y[i] == 1
	}
	return int(f.y[i]) == c
}

// probabilities returns those of the outputs of a row.
func (f *shareFit) probabilities(row []float64) []float64 {
	p := slices.Clone(row)
	switch {
	case f.scale == explain.Share:
	case f.width == 1:
		p[0] = 1 / (1 + math.Exp(-row[0]))
	default:
		top, sum := slices.Max(row), 0.0
		for c, s := range row {
			p[c] = math.Exp(s - top)
			sum += p[c]
		}
		for c := range p {
			p[c] /= sum
		}
	}
	return p
}

// dataOf returns sampled rows of classes as training data.
func (m *Model) dataOf(s *sampled) train.Data {
	d := train.Data{Rows: s.rows}
	for i, y := range s.y {
		d.Target, d.Weight = append(d.Target, float32(y)), append(d.Weight, float32(s.weight[i]))
	}
	return d
}
