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

// Range is the width of 90 % intervals for rows with at least the share From of their columns known. The interval is
// prediction ∓ q·prediction_std.
type Range struct {
	From  float64 `json:"from"`  // minimum share of known columns
	Width float64 `json:"width"` // q
}

const (
	rangeLevel  = 0.9
	rangeNormal = 1.6448536269514722 // q of a normal distribution: Φ⁻¹(.95)
	maxWidth    = 1e6
)

// minScores is the minimum number of scores in a bin of shares. A bin also has at least as many scores as there are
// rows, because q is too noisy with fewer.
const minScores = 100

// rangeDraws is the number of masked copies of a row for each share of its cells.
const rangeDraws = 4

// rangeScore is |y − μ(x_S)|/σ(x_S) of a masked copy of a row.
type rangeScore struct{ share, score, weight float64 }

// fitRanges fits interval widths by split conformal prediction. Its rows did not choose the weights. It takes them as
// observed and with cells hidden at random, and finds how many σ contain 90 % of the targets.
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

// rangesOf divides scores into bins by share, the largest share first, and fits q for each bin. It merges neighbouring
// bins that the same q covers.
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

// binned divides scores by share, the largest first, into bins of at least the given size. Equal shares stay together.
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

// oneServes reports whether a common q covers two bins: its coverage in each is within two standard errors of 90 %.
func oneServes(a, b []rangeScore) bool {
	q := conformal(slices.Concat(a, b))
	return math.Abs(held(a, q)-rangeLevel) <= 2*math.Sqrt(rangeLevel*(1-rangeLevel)/float64(len(a))) &&
		math.Abs(held(b, q)-rangeLevel) <= 2*math.Sqrt(rangeLevel*(1-rangeLevel)/float64(len(b)))
}

// held returns the weighted share of scores that do not exceed q.
func held(scores []rangeScore, q float64) float64 {
	inside, all := 0.0, 0.0
	for _, s := range scores {
		if all += s.weight; s.score <= q {
			inside += s.weight
		}
	}
	return inside / all
}

// conformal returns the ⌈.9 (n + 1)⌉-th smallest of n scores. With weights it returns the smallest score whose
// cumulated weight reaches .9 of the total, where a new row has the mean weight. With fewer than nine scores it returns
// the largest.
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

// validateRanges rejects values that fitRanges cannot produce.
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

// widen returns the factor that turns σ into RangeStd, given the share of known columns.
func (c *Calibration) widen(share float64) float64 {
	factor := 1.0
	for _, r := range c.Ranges {
		if share >= r.From {
			factor = r.Width / rangeNormal
		}
	}
	return factor
}

// rangeStds returns RangeStd of rows from the scores of a number and their standard deviations.
func (m *Model) rangeStds(scores, std []float64, b *encode.Batch) []float64 {
	list := make([]float64, len(std))
	for i, share := range observedShares(b) {
		_, spread := m.link().Normal(scores[i], std[i])
		list[i] = m.manifest.Calibration.widen(share) * spread
	}
	return list
}
