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
			if n := len(player.Edges); n > 0 {
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
