package report

import (
	"cmp"
	"math"
	"slices"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/table"
)

const (
	maxLabels  = 12      // maximum number of listed labels
	maxCounted = 100_000 // maximum number of distinct labels that are counted
	rareRows   = 10      // labels with fewer rows are rare
	bars       = 24      // of a histogram
)

// profile accumulates the description of a column, chunk by chunk.
type profile struct {
	Column
	sum     float64
	seen    int
	counts  map[string]int
	edges   [2]float64 // minimum and maximum of the training rows
	limited bool       // whether edges are known
	levels  []string   // labels that occurred in training, sorted
	labels  bool       // whether the column has labels
}

// newProfiles returns the profiles of a model's columns in its order.
func newProfiles(m psi.Manifest) []*profile {
	list := make([]*profile, len(m.Columns))
	for i, f := range m.Columns {
		p := &profile{Column: Column{Name: f.Name, Kind: f.Kind, Reason: f.Reason}, counts: map[string]int{}}
		p.labels = f.Kind == table.Category || f.Kind == table.Boolean
		for _, player := range m.Encoder.Players {
			if player.Name != f.Name {
				continue
			}
			p.levels, p.GapLevel = player.Levels, player.Gap
			if n := len(player.Edges); n > 0 && (treesOf(&m) == nil || treesOf(&m).Rows > 0) { // else they are thresholds
				p.edges, p.limited = [2]float64{player.Edges[0], player.Edges[n-1]}, true
			}
		}
		list[i] = p
	}
	return list
}

func (p *profile) add(c *table.Column) {
	unknown := p.unknowns(c)
	for row, observed := range c.Observed {
		switch {
		case !observed:
			p.Missing++
		case p.labels:
			if label := c.Text(row); len(p.counts) < maxCounted || p.counts[label] > 0 {
				p.counts[label]++
			}
			if c.Kind == table.Category && unknown(c.Codes[row]) {
				p.Unknown++
			}
		default:
			p.number(c.Numbers[row])
		}
	}
}

// unknowns returns a function that reports whether a code's label did not occur in training. Each label is looked up
// once.
func (p *profile) unknowns(c *table.Column) func(code int32) bool {
	const yes, no = 1, 2
	met := make([]uint8, len(c.Levels))
	return func(code int32) bool {
		if met[code] == 0 {
			met[code] = yes
			if _, found := slices.BinarySearch(p.levels, c.Levels[code]); found {
				met[code] = no
			}
		}
		return met[code] == yes
	}
}

func (p *profile) number(v float64) {
	if p.seen == 0 {
		p.Least, p.Greatest = &[]float64{v}[0], &[]float64{v}[0]
	}
	*p.Least, *p.Greatest = min(*p.Least, v), max(*p.Greatest, v)
	p.seen++
	p.sum += v
	if p.limited && (v < p.edges[0] || v > p.edges[1]) {
		p.Outside++
	}
}

// finish summarises the column. Rows drawn from it give the median and the histogram.
func (p *profile) finish(drawn *table.Column) Column {
	c := p.Column
	if p.labels {
		c.Labels = []Label{}
		for name, rows := range p.counts {
			c.Labels = append(c.Labels, Label{name, rows})
			if rows < rareRows {
				c.Rare++
				c.InRare += rows
			}
		}
		c.Levels = len(c.Labels)
		slices.SortFunc(c.Labels, func(a, b Label) int { return cmp.Or(cmp.Compare(b.Rows, a.Rows), cmp.Compare(a.Name, b.Name)) })
		c.Labels = c.Labels[:min(len(c.Labels), maxLabels)]
		return c
	}
	if p.seen == 0 {
		return c
	}
	c.Mean = known(p.sum / float64(p.seen))
	var sorted []float64
	for row, observed := range drawn.Observed {
		if observed {
			sorted = append(sorted, drawn.Numbers[row])
		}
	}
	if len(sorted) == 0 {
		return c
	}
	slices.Sort(sorted)
	c.Median = known(explain.Quantile(sorted, .5))
	c.Bars = histogram(sorted)
	return c
}

// histogram counts sorted values: individually if there are at most bars distinct ones, else in ranges of equal width.
// The outermost ranges include the extreme hundredth on each side, so that a single outlier does not squeeze all others
// into one bar.
func histogram(sorted []float64) []Bar {
	if values := slices.Compact(slices.Clone(sorted)); len(values) <= bars {
		list := make([]Bar, len(values))
		for i, v := range values {
			list[i].Low, list[i].High = v, v
		}
		for _, v := range sorted {
			at, _ := slices.BinarySearch(values, v)
			list[at].Rows++
		}
		return list
	}
	low, high := explain.Quantile(sorted, .01), explain.Quantile(sorted, .99)
	if low == high {
		low, high = sorted[0], sorted[len(sorted)-1]
	}
	width := (high - low) / bars
	if whole(sorted) {
		low, high = math.Floor(low), math.Ceil(high)
		width = math.Ceil((high - low + 1) / bars) // otherwise some bars would contain one more integer than their neighbours
	}
	list := make([]Bar, int(min(bars, math.Floor((high-low)/width)+1)))
	for i := range list {
		list[i].Low, list[i].High = low+width*float64(i), low+width*float64(i+1)
	}
	for _, v := range sorted {
		list[int(max(0, min(float64(len(list)-1), math.Floor((v-low)/width))))].Rows++
	}
	return list
}

func whole(list []float64) bool {
	return !slices.ContainsFunc(list, func(v float64) bool { return v != math.Trunc(v) })
}

// Measures of association.
const (
	spearman = "rank correlation"
	cramer   = "Cramér's V"
	ratio    = "correlation ratio"
)

const (
	minJoint = 30 // minimum number of rows in which both columns are observed
	minLabel = 5  // minimum number of these rows for a label to be distinct from other rare ones
)

// facet is a column prepared for comparison.
type facet struct {
	observed []bool
	ranks    []float64 // for a number
	codes    []int     // for labels
	levels   int       // 0 for a number
}

func facetOf(c *table.Column) facet {
	f := facet{observed: c.Observed}
	switch c.Kind {
	case table.Category:
		f.codes, f.levels = make([]int, c.Len()), len(c.Levels)
		for i, code := range c.Codes {
			f.codes[i] = int(code)
		}
	case table.Boolean:
		f.codes, f.levels = make([]int, c.Len()), 2
		for i, v := range c.Numbers {
			f.codes[i] = int(v)
		}
	default:
		f.ranks = ranksOf(c)
	}
	return f
}

// ranksOf returns the ranks of the observed cells; equal cells share the mean of their ranks.
func ranksOf(c *table.Column) []float64 {
	var order []int
	for row, observed := range c.Observed {
		if observed {
			order = append(order, row)
		}
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(c.Numbers[a], c.Numbers[b]) })
	ranks := make([]float64, c.Len())
	for from := 0; from < len(order); {
		to := from
		for to < len(order) && c.Numbers[order[to]] == c.Numbers[order[from]] {
			to++
		}
		for _, row := range order[from:to] {
			ranks[row] = float64(from+to-1) / 2
		}
		from = to
	}
	return ranks
}

// associate measures the association of two columns over the rows that have both. It returns NaN if these are few, or
// if one of the columns does not vary in them.
func associate(a, b facet) (value float64, measure string) {
	var rows []int
	for row := range a.observed {
		if a.observed[row] && b.observed[row] {
			rows = append(rows, row)
		}
	}
	a, b = a.common(rows), b.common(rows)
	switch {
	case a.levels == 0 && b.levels == 0:
		value, measure = correlation(a, b, rows), spearman
	case a.levels == 0:
		value, measure = correlationRatio(a, b, rows), ratio
	case b.levels == 0:
		value, measure = correlationRatio(b, a, rows), ratio
	default:
		value, measure = cramersV(a, b, rows), cramer
	}
	if len(rows) < minJoint {
		value = math.NaN()
	}
	return value, measure
}

// common combines labels with fewer than minLabel rows. A label that hardly any other row has would predict that row
// perfectly, although the column is not informative. Nearly unique labels thus do not vary.
func (f facet) common(rows []int) facet {
	if f.levels == 0 {
		return f
	}
	count := make([]int, f.levels)
	for _, r := range rows {
		count[f.codes[r]]++
	}
	joined := facet{observed: f.observed, codes: make([]int, len(f.codes)), levels: f.levels + 1}
	for _, r := range rows {
		joined.codes[r] = f.codes[r]
		if count[f.codes[r]] < minLabel {
			joined.codes[r] = f.levels
		}
	}
	return joined
}

// correlation returns Spearman's ρ, Pearson's correlation of ranks.
func correlation(a, b facet, rows []int) float64 {
	n, ma, mb := float64(len(rows)), 0.0, 0.0
	for _, r := range rows {
		ma, mb = ma+a.ranks[r]/n, mb+b.ranks[r]/n
	}
	aa, bb, ab := 0.0, 0.0, 0.0
	for _, r := range rows {
		x, y := a.ranks[r]-ma, b.ranks[r]-mb
		aa, bb, ab = aa+x*x, bb+y*y, ab+x*y
	}
	const least = 1e-6 // ranks that differ at all vary by more than rounding errors
	if aa < least || bb < least {
		return math.NaN()
	}
	return ab / math.Sqrt(aa*bb)
}

// correlationRatio returns η of ranks by labels, corrected for the expectation under independence: η² = 1 − (1 −
// SSB/SST)(n − 1)/(n − k).
func correlationRatio(number, label facet, rows []int) float64 {
	count, sum := make([]float64, label.levels), make([]float64, label.levels)
	n, mean := float64(len(rows)), 0.0
	for _, r := range rows {
		count[label.codes[r]]++
		sum[label.codes[r]] += number.ranks[r]
		mean += number.ranks[r] / n
	}
	total, between, k := 0.0, 0.0, 0.0
	for _, r := range rows {
		total += (number.ranks[r] - mean) * (number.ranks[r] - mean)
	}
	for i, c := range count {
		if c > 0 {
			k++
			between += c * (sum[i]/c - mean) * (sum[i]/c - mean)
		}
	}
	if k < 2 || n <= k {
		return math.NaN()
	}
	return math.Sqrt(max(0, 1-(1-between/total)*(n-1)/(n-k)))
}

// cramersV returns Cramér's V, corrected for the expectation under independence (Bergsma 2013): φ̃² = max(0, χ²/n −
// (k−1)(l−1)/(n−1)), k̃ = k − (k−1)²/(n−1), l̃ likewise, V = √(φ̃² / min(k̃−1, l̃−1)).
func cramersV(a, b facet, rows []int) float64 {
	n := float64(len(rows))
	joint := map[[2]int]float64{}
	ofA, ofB := map[int]float64{}, map[int]float64{}
	for _, r := range rows {
		joint[[2]int{a.codes[r], b.codes[r]}]++
		ofA[a.codes[r]]++
		ofB[b.codes[r]]++
	}
	square := -1.0 // χ²/n = Σ n_ab²/(n_a n_b) − 1
	for pair, c := range joint {
		square += c * c / (ofA[pair[0]] * ofB[pair[1]])
	}
	k, l := float64(len(ofA)), float64(len(ofB))
	less := min(k-(k-1)*(k-1)/(n-1), l-(l-1)*(l-1)/(n-1)) - 1
	if k < 2 || l < 2 || less <= 0 {
		return math.NaN()
	}
	return math.Sqrt(max(0, square-(k-1)*(l-1)/(n-1)) / less)
}

// Associations of at least minListed are listed, for the most important columns.
const (
	minListed     = .5
	maxAssociated = 40
	maxListed     = 30
)

// associations returns the strong associations among columns of a table, identified by index.
func associations(columns []*table.Column, among []int) []Association {
	among = among[:min(len(among), maxAssociated)]
	facets := make([]facet, len(among))
	for i, at := range among {
		facets[i] = facetOf(columns[at])
	}
	list := []Association{}
	for i := range facets {
		for j := i + 1; j < len(facets); j++ {
			value, measure := associate(facets[i], facets[j])
			if math.Abs(value) >= minListed {
				list = append(list, Association{min(among[i], among[j]), max(among[i], among[j]), value, measure})
			}
		}
	}
	slices.SortStableFunc(list, func(x, y Association) int { return cmp.Compare(math.Abs(y.Value), math.Abs(x.Value)) })
	return list[:min(len(list), maxListed)]
}
