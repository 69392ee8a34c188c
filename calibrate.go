package psi

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/train"
)

// Calibration holds the parameters fitted on the validation rows after training, so that uncertainties are calibrated
// on rows that the weights were not trained on.
//
// For a number, it is the width of the 90 % interval in standard deviations.
//
// For classes, it is a factor of the game: score(S) = φ_0 + a·v(S) for every coalition S of known cells. Attributions
// and their standard deviations scale with a. φ_0 does not, so that a row without known cells has the base rate.
//
// Scores that rest on few cells are too cautious. The probability of a row with missing cells is therefore computed
// from φ_0 + κ(s)·a·v(S). Here κ(s) = exp(b(1 − s)), and s is the share of the row's columns that are known.
type Calibration struct {
	// Noise is σ_0², in units of a numeric target's variance. In older files it was chosen so that 1.645 standard
	// deviations contain 90 % of the rows.
	Noise     float64 `json:"noise"`
	Ranges    []Range `json:"ranges,omitempty"`     // interval widths of a number, by the share of known columns; absent in older files
	RangeRows int     `json:"range_rows,omitempty"` // rows used only for the intervals; 0 if the same rows chose the weights
	// Level is added to φ_0 of a number. On the scale log-mean it makes the predictions of training rows add up to their
	// targets. With the likelihood joint, training found it.
	Level       float64            `json:"level,omitempty"`
	Scale       float64            `json:"scale,omitempty"`       // a, for classes; 0 (absent) for a number
	Slope       float64            `json:"slope,omitempty"`       // b, for classes
	Temperature float64            `json:"temperature,omitempty"` // 1 for a number; for classes only in older files, in place of Scale: it divides φ_0 too
	Before      map[string]float64 `json:"before"`                // metrics of the validation rows
	After       map[string]float64 `json:"after"`
}

// uncalibrated returns the calibration before fitting: what training found.
func (m *Model) uncalibrated() Calibration {
	if m.classes() {
		return Calibration{Scale: 1}
	}
	return Calibration{Noise: m.own.NoiseVariance()[0], Temperature: 1, Level: m.trainedLevel()}
}

// trainedLevel returns how far training moved φ_0 of a number, in its units: the mean over members. Only the likelihood
// joint does.
func (m *Model) trainedLevel() float64 {
	sum := 0.0
	for _, member := range m.members {
		for _, base := range form.Base(member.Weights) {
			sum += float64(base) / float64(len(m.members))
		}
	}
	return sum * m.manifest.Scale.Std
}

// validate rejects values that calibration cannot produce.
func (c *Calibration) validate(task Task, unit float64) error {
	const maxFactor, maxSlope, maxNoise, maxLevel = 1e3, 7.0, 4e12, 10.0 // the priors keep log a and b far below these bounds
	between := func(x float64) bool { return x >= 1/maxFactor && x <= maxFactor }
	valid := c.Noise >= 0 && c.Noise <= maxNoise && math.Abs(c.Level) <= maxLevel*max(1, unit) && (c.Level == 0 || task == Regression)
	if task == Regression || c.Scale == 0 {
		valid = valid && between(c.Temperature) && c.Scale == 0 && c.Slope == 0
	} else {
		valid = valid && between(c.Scale) && math.Abs(c.Slope) <= maxSlope && c.Temperature == 0
	}
	if !valid {
		return fmt.Errorf("invalid calibration of a %s: scale %g, slope %g, temperature %g, noise %g, level %g", task, c.Scale, c.Slope, c.Temperature, c.Noise, c.Level)
	}
	return c.validateRanges(task)
}

// ofGame returns the factor of v in the scores of classes.
func (c *Calibration) ofGame() float64 {
	if c.Scale != 0 {
		return c.Scale
	}
	return 1 / c.Temperature
}

// ofBase returns the factor of φ_0 in the scores of classes: 1, except in older files with a temperature.
func (c *Calibration) ofBase() float64 {
	if c.Scale != 0 {
		return 1
	}
	return 1 / c.Temperature
}

// slopes returns κ for rows with these shares of known columns; nil if κ is 1 for all rows.
func (c *Calibration) slopes(shares []float64) []float64 {
	if c.Slope == 0 {
		return nil
	}
	list := make([]float64, len(shares))
	for i, s := range shares {
		list[i] = math.Exp(c.Slope * (1 - s))
	}
	return list
}

// observedShares returns each row's share of known columns.
func observedShares(b *encode.Batch) []float64 {
	d := b.Players()
	shares := make([]float64, b.Rows)
	for i := range shares {
		known := 0.0
		for _, seen := range b.Observed[i*d : (i+1)*d] {
			known += float64(seen)
		}
		shares[i] = known / float64(d)
	}
	return shares
}

// calibrate fits the model's calibration. Validation rows d set the scale of classes, rows set aside the intervals of a
// number, and training rows its level.
func (m *Model) calibrate(ctx context.Context, d, aside train.Data, training train.Store) error {
	m.manifest.Calibration = m.uncalibrated()
	before, err := m.measure(ctx, d)
	if err != nil {
		return err
	}
	c := &m.manifest.Calibration
	switch {
	case m.classes():
		c.Scale, c.Slope, err = m.fitScale(ctx, d)
	case m.scale() == explain.LogMean:
		level, err := m.fitLevel(ctx, training)
		if err != nil {
			return err
		}
		c.Level += level
		fallthrough
	default:
		c.Ranges, err = m.fitRanges(ctx, aside)
	}
	if err != nil {
		return err
	}
	if c.Ranges != nil && aside.Len() < d.Len() {
		c.RangeRows = aside.Len()
	}
	after, err := m.measure(ctx, d)
	c.Before, c.After = before, after
	return err
}

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

// minimum minimises a smooth function of two numbers, starting from (0, 0). It uses Newton's method with finite
// differences and steps that never increase the function.
func minimum(f func(x, y float64) float64) (x, y float64) {
	const h, rounds, least = 1e-3, 50, 1e-7
	now := f(x, y)
	for range rounds {
		east, west, north, south := f(x+h, y), f(x-h, y), f(x, y+h), f(x, y-h)
		gx, gy := (east-west)/(2*h), (north-south)/(2*h)
		xx, yy := (east-2*now+west)/(h*h), (north-2*now+south)/(h*h)
		xy := (f(x+h, y+h) - east - north + now) / (h * h)
		dx, dy := -gx, -gy
		if det := xx*yy - xy*xy; xx > 0 && det > 0 {
			dx, dy = (xy*gy-yy*gx)/det, (xy*gx-xx*gy)/det
		}
		length := math.Hypot(dx, dy)
		step := min(1, 1/length)
		next := f(x+step*dx, y+step*dy)
		for !(next < now) {
			if step /= 2; !(step*length > least) {
				return x, y
			}
			next = f(x+step*dx, y+step*dy)
		}
		x, y, now = x+step*dx, y+step*dy, next
	}
	return x, y
}

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
		variances := m.variances(x.answer)
		for i, y := range d.Target {
			centre, spread := link.Normal(level+unit*float64(x.answer.Value[i]), math.Sqrt(variances[i]))
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
		for ; n < len(bins) && commonQuantileCovers(bin, bins[n]); n++ {
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

// commonQuantileCovers reports whether a common q covers two bins: its coverage in each is within two standard errors of
// 90 %.
func commonQuantileCovers(a, b []rangeScore) bool {
	q := conformal(slices.Concat(a, b))
	return math.Abs(coverage(a, q)-rangeLevel) <= 2*math.Sqrt(rangeLevel*(1-rangeLevel)/float64(len(a))) &&
		math.Abs(coverage(b, q)-rangeLevel) <= 2*math.Sqrt(rangeLevel*(1-rangeLevel)/float64(len(b)))
}

// coverage returns the weighted share of scores that do not exceed q.
func coverage(scores []rangeScore, q float64) float64 {
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
