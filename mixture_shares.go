package psi

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"

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
	weight float64     // of the copy
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

// fitShares minimises the loss of rows and their masked copies over shares ≥ 0 that add up to 1. Whole rows count as much
// as all other copies together. The loss of each copy is in units of what the best member explains there.
//
// A mixture must not predict whole rows worse than its best member, otherwise whole rows alone decide. It must be better
// than that member by more than a standard error of the difference; otherwise the member has the share 1.
func (m *Model) fitShares(ctx context.Context, s *sampled) ([]float64, error) {
	f := &shareFit{task: m.manifest.Task, scale: m.mixed[0].scale(), y: s.y, weight: s.weight, width: m.mixed[0].outputs()}
	if m.manifest.Scale.Link == encode.Log {
		f.y = m.manifest.Scale.Link.OfAll(s.y)
	}
	rng := rand.New(rand.NewPCG(1, scaleStream))
	for _, kept := range keptShares() {
		part := keepCells(rng, s.rows, kept)
		c := mixedCopy{unit: math.Inf(1), weight: 0.5 / float64(len(keptShares())-1)}
		if kept == 1 {
			c.weight = 0.5
		}
		for k, member := range m.mixed {
			x, err := member.own.Pass(ctx, part.Part(k), 0)
			if err != nil {
				return nil, err
			}
			c.scores = append(c.scores, member.scores(x.Value))
			c.unit = min(c.unit, stat.Mean(f.losses(c.scores[k]), nil))
		}
		nothing := stat.Mean(f.losses(slices.Repeat(m.mixed[0].bases(), len(s.y))), nil)
		c.unit = max(nothing-c.unit, 1e-3*math.Abs(nothing), math.SmallestNonzeroFloat32)
		f.copies = append(f.copies, c)
	}
	if shares, helps := f.fit(len(m.mixed)); helps {
		return shares, nil
	}
	whole := *f
	whole.copies = f.copies[len(f.copies)-1:]
	if shares, helps := whole.fit(len(m.mixed)); helps {
		return shares, nil
	}
	return f.alone(f.clearlyBest(len(m.mixed)), len(m.mixed)), nil
}

// clearlyBest returns the first member that no other one beats by more than a standard error.
func (f *shareFit) clearlyBest(members int) (best int) {
	for k := range members {
		if gain := f.gain(f.alone(best, members), f.alone(k, members)); exceeds(gain) {
			best = k
		}
	}
	return best
}

// gain returns how much lower the loss of each row is with other shares.
func (f *shareFit) gain(before, after []float64) []float64 {
	list := f.combined(before)
	for i, loss := range f.combined(after) {
		list[i] -= loss
	}
	return list
}

// alone returns the shares of one member without the others.
func (f *shareFit) alone(member, members int) []float64 {
	shares := make([]float64, members)
	shares[member] = 1
	return shares
}

// best returns the member with the lowest loss.
func (f *shareFit) best(members int) (best int) {
	least := math.Inf(1)
	for k := range members {
		if loss := stat.Mean(f.combined(f.alone(k, members)), nil); loss < least {
			best, least = k, loss
		}
	}
	return best
}

// fit minimises by exponentiated gradient, and again without the models whose share is small. helps reports whether the
// mixture is better than its best member.
func (f *shareFit) fit(members int) (shares []float64, helps bool) {
	shares = slices.Repeat([]float64{1 / float64(members)}, members)
	for {
		f.descend(shares)
		small, sum := false, 0.0
		for k, w := range shares {
			if small = small || w > 0 && w < minShare; w < minShare {
				shares[k] = 0
			}
			sum += shares[k]
		}
		if !small {
			break
		}
		for k := range shares {
			shares[k] /= sum
		}
	}
	gain := f.gain(f.alone(f.best(members), members), shares)
	whole := &f.copies[len(f.copies)-1]
	better := stat.Mean(f.losses(whole.mix(shares)), nil) < slices.Min(f.ofMembers(whole))
	return shares, better && exceeds(gain)
}

// ofMembers returns the mean loss of each member on a copy.
func (f *shareFit) ofMembers(c *mixedCopy) []float64 {
	list := make([]float64, len(c.scores))
	for k, scores := range c.scores {
		list[k] = stat.Mean(f.losses(scores), nil)
	}
	return list
}

// mix returns the weighted mean of the members' scores.
func (c *mixedCopy) mix(shares []float64) []float64 {
	list := make([]float64, len(c.scores[0]))
	for k, w := range shares {
		for i, s := range c.scores[k] {
			list[i] += w * s
		}
	}
	return list
}

// combined returns the loss of each row over all copies.
func (f *shareFit) combined(shares []float64) []float64 {
	list := make([]float64, len(f.y))
	for k := range f.copies {
		c := &f.copies[k]
		for i, loss := range f.losses(c.mix(shares)) {
			list[i] += c.weight / c.unit * loss
		}
	}
	return list
}

// exceeds reports whether the mean of values is above 0 by more than its standard error.
func exceeds(values []float64) bool {
	mean, deviation := stat.MeanStdDev(values, nil)
	return mean > stat.StdErr(deviation, float64(len(values)))
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

// value returns the loss of the copies and its gradient.
func (f *shareFit) value(shares []float64) (loss float64, gradient []float64) {
	gradient = make([]float64, len(shares))
	for k := range f.copies {
		c := &f.copies[k]
		slopes := f.slopes(c.mix(shares))
		for k := range shares {
			sum := 0.0
			for i, s := range c.scores[k] {
				sum += slopes[i] * s
			}
			gradient[k] += c.weight / c.unit * sum
		}
	}
	return stat.Mean(f.combined(shares), nil), gradient
}

// losses returns the weighted loss of each row, given scores [rows, C].
func (f *shareFit) losses(scores []float64) []float64 {
	list := make([]float64, len(f.y))
	for i, y := range f.y {
		row := scores[i*f.width : (i+1)*f.width]
		switch {
		case f.task == Regression && f.scale == explain.LogMean:
			list[i] = row[0] + y*math.Exp(-row[0])
		case f.task == Regression:
			list[i] = square(y - row[0])
		default:
			for c, p := range f.probabilities(row) {
				if f.is(i, c) {
					p = 1 - p
				}
				if f.scale == explain.Share {
					list[i] += p * p
				} else if f.width == 1 || f.is(i, c) {
					list[i] -= math.Log(max(1-p, 1e-15))
				}
			}
		}
		list[i] *= f.weight[i]
	}
	return list
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
