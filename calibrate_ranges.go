package psi

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/train"
)

// Range is how wide the ranges of rows are that have at least a share of their columns: the range that holds 90 % is
// prediction ∓ q·prediction_std.
type Range struct {
	From  float64 `json:"from"`  // the least share of the columns
	Width float64 `json:"width"` // q
}

const (
	rangeLevel  = 0.9
	rangeNormal = 1.6448536269514722 // q of a normal distribution: Φ⁻¹(.95)
	maxWidth    = 1e6
)

// minScores of a bin of shares, which also has as many as there are rows: few would make q a matter of luck.
const minScores = 100

// rangeDraws is the number of masked copies of a row for each share of its cells.
const rangeDraws = 4

// rangeScore is |y − μ(x_S)|/σ(x_S) of a copy of a row.
type rangeScore struct{ share, score, weight float64 }

// fitRanges is split conformal prediction: rows that the model was not chosen by, as observed and with cells hidden at random, tell
// how many σ hold 90 %.
func (m *Model) fitRanges(ctx context.Context, d train.Data) ([]Range, error) {
	copies, err := m.maskedPasses(ctx, d.Rows, rangeDraws)
	if err != nil {
		return nil, err
	}
	var scores []rangeScore
	unit, level, link := m.unit(), m.manifest.Calibration.Level, m.link()
	for _, x := range copies {
		for i, y := range d.Target {
			centre, spread := link.Normal(level+unit*float64(x.answer.Value[i]), unit*math.Sqrt(x.answer.Variance[i]))
			score := min(maxWidth, math.Abs(unit*float64(y)-centre)/max(spread, math.SmallestNonzeroFloat64))
			scores = append(scores, rangeScore{x.shares[i], score, float64(d.Weight[i])})
		}
	}
	return rangesOf(scores, max(minScores, d.Len())), nil
}

// rangesOf divides scores into bins of neighbouring shares, from whole rows down, each with q of its own. Bins that one q serves are one.
func rangesOf(scores []rangeScore, least int) []Range {
	var ranges []Range
	bins := binned(scores, least)
	for len(bins) > 0 {
		bin, n := bins[0], 1
		for ; n < len(bins) && oneServes(bin, bins[n]); n++ {
			bin = slices.Concat(bin, bins[n])
		}
		ranges = append(ranges, Range{bin[len(bin)-1].share, conformal(bin)})
		bins = bins[n:]
	}
	slices.Reverse(ranges)
	ranges[0].From = 0
	return ranges
}

// binned divides scores by share, the largest first, into bins of the least size or a little more. Equal shares stay together.
func binned(scores []rangeScore, least int) (bins [][]rangeScore) {
	slices.SortFunc(scores, func(a, b rangeScore) int { return cmp.Compare(b.share, a.share) })
	start := 0
	for end := 1; end <= len(scores); end++ {
		rest := len(scores) - end
		if rest > 0 && (scores[end].share == scores[end-1].share || end-start < least || rest < least) {
			continue
		}
		bins = append(bins, scores[start:end])
		start = end
	}
	return bins
}

// oneServes says whether one q serves two bins: the share of each that it holds is within two standard errors of 90 %.
func oneServes(a, b []rangeScore) bool {
	q := conformal(slices.Concat(a, b))
	return math.Abs(held(a, q)-rangeLevel) <= 2*math.Sqrt(rangeLevel*(1-rangeLevel)/float64(len(a))) &&
		math.Abs(held(b, q)-rangeLevel) <= 2*math.Sqrt(rangeLevel*(1-rangeLevel)/float64(len(b)))
}

// held is the share of scores, by their weights, that q holds.
func held(scores []rangeScore, q float64) float64 {
	inside, all := 0.0, 0.0
	for _, s := range scores {
		if all += s.weight; s.score <= q {
			inside += s.weight
		}
	}
	return inside / all
}

// conformal is the ⌈.9 (n + 1)⌉-th smallest of n scores. Where they weigh, it is the smallest that .9 of all weights do not exceed, the
// weight of a new row being their mean. Of fewer than nine it is the largest.
func conformal(scores []rangeScore) float64 {
	scores = slices.SortedFunc(slices.Values(scores), func(a, b rangeScore) int { return cmp.Compare(a.score, b.score) })
	all := 0.0
	for _, s := range scores {
		all += s.weight
	}
	need := rangeLevel * (all + all/float64(len(scores))) * (1 - 1e-12)
	below := 0.0
	for _, s := range scores {
		if below += s.weight; below >= need {
			return s.score
		}
	}
	return scores[len(scores)-1].score
}

// validateRanges refuses what fitRanges cannot have given.
func (c *Calibration) validateRanges(task Task) error {
	for i, r := range c.Ranges {
		ordered := r.From == 0
		if i > 0 {
			ordered = r.From > c.Ranges[i-1].From && r.From <= 1
		}
		if !ordered || !(r.Width >= 0 && r.Width <= maxWidth) {
			return fmt.Errorf("invalid range %d of the calibration: from %g, width %g", i, r.From, r.Width)
		}
	}
	if len(c.Ranges) > 0 && task != Regression || c.RangeRows < 0 {
		return fmt.Errorf("invalid calibration of a %s: %d ranges by %d rows", task, len(c.Ranges), c.RangeRows)
	}
	return nil
}

// widen is the factor of σ that makes it what ranges of a row are by, for the share of its columns that are known.
func (c *Calibration) widen(share float64) float64 {
	factor := 1.0
	for _, r := range c.Ranges {
		if share >= r.From {
			factor = r.Width / rangeNormal
		}
	}
	return factor
}

// rangeStds are what ranges of rows are by, from the scores of a number and their standard deviations.
func (m *Model) rangeStds(scores, std []float64, b *encode.Batch) []float64 {
	list := make([]float64, len(std))
	for i, share := range observedShares(b) {
		_, spread := m.link().Normal(scores[i], std[i])
		list[i] = m.manifest.Calibration.widen(share) * spread
	}
	return list
}
