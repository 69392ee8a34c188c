package explain

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/psi-shapley/psi/table"
)

// Importance summarises the attributions of a player over many rows.
type Importance struct {
	Player    int
	Mean      float64 // mean |mean_d| over all rows; 0 where the cell is missing
	Low, High float64 // 10 % and 90 % quantiles of |mean_d| where the cell is observed
	Spread    float64 // the player's share of Σ_d std_d²; 0 if unknown
	Observed  int     // number of rows in which the cell is observed
}

// Importances returns the importance of all players for an output over the given rows, or over all rows if rows is nil,
// in descending order of the mean.
func (e *Explanation) Importances(output int, rows []int) []Importance {
	if rows == nil {
		rows = make([]int, e.Rows)
		for row := range rows {
			rows[row] = row
		}
	}
	list, total := make([]Importance, len(e.Players)), 0.0
	for d := range list {
		im := &list[d]
		im.Player = d
		var sizes []float64
		for _, row := range rows {
			if e.observed(row)[d] {
				sizes = append(sizes, math.Abs(e.means(row, output)[d]))
				if e.Std != nil {
					std := e.stds(row, output)[d]
					im.Spread += std * std
				}
			}
		}
		total += im.Spread
		if im.Observed = len(sizes); im.Observed == 0 {
			continue
		}
		slices.Sort(sizes)
		for _, size := range sizes {
			im.Mean += size / float64(len(rows))
		}
		im.Low, im.High = Quantile(sizes, .1), Quantile(sizes, .9)
	}
	for d := range list {
		if total > 0 {
			list[d].Spread /= total
		}
	}
	slices.SortStableFunc(list, func(a, b Importance) int { return cmp.Compare(b.Mean, a.Mean) })
	return list
}

// Quantile interpolates a quantile of sorted values.
func Quantile(sorted []float64, share float64) float64 {
	at := share * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

// Tally holds sums over the attributions of many rows, for tables whose rows are too many to keep. Tallies of disjoint
// parts can be merged. It is not safe for concurrent use.
type Tally struct {
	Outputs []string `json:"outputs"`
	Players []string `json:"players"`

	Rows       int       `json:"rows"`
	OutputRows []int     `json:"output_rows"`         // [outputs]: number of rows; an explanation may have only some of the outputs
	Size       []float64 `json:"size"`                // [outputs, players]: Σ |f_d|
	Std        []float64 `json:"std"`                 // [outputs, players]: Σ σ_d
	ModelStd   []float64 `json:"model_std"`           // [outputs, players]: Σ of ModelStd, over the rows that have it
	DoubtRows  []int     `json:"doubt_rows"`          // [outputs]: number of these rows; absent in tallies of older versions
	NoSpread   bool      `json:"no_spread,omitempty"` // some rows have no σ_d
	Missing    []int     `json:"missing"`             // [players]: rows in which the player is missing
	Residual   float64   `json:"residual"`            // largest |prediction − base − Σ f_d|
}

// NewTally returns an empty tally.
func NewTally(outputs, players []string) *Tally {
	lines := len(outputs) * len(players)
	return &Tally{
		Outputs: outputs, Players: players,
		OutputRows: make([]int, len(outputs)), Size: make([]float64, lines), Std: make([]float64, lines),
		ModelStd: make([]float64, lines), DoubtRows: make([]int, len(outputs)), Missing: make([]int, len(players)),
	}
}

// Clear removes all rows.
func (t *Tally) Clear() {
	t.Rows, t.Residual, t.NoSpread = 0, 0, false
	clear(t.OutputRows)
	clear(t.Size)
	clear(t.Std)
	clear(t.ModelStd)
	clear(t.DoubtRows)
	clear(t.Missing)
}

// Merge adds the rows of another tally with the same outputs and players.
func (t *Tally) Merge(o *Tally) {
	t.Rows += o.Rows
	addTo(t.OutputRows, o.OutputRows)
	addTo(t.Size, o.Size)
	addTo(t.Std, o.Std)
	addTo(t.ModelStd, o.ModelStd)
	addTo(t.DoubtRows, o.DoubtRows)
	addTo(t.Missing, o.Missing)
	t.Residual, t.NoSpread = max(t.Residual, o.Residual), t.NoSpread || o.NoSpread
}

func addTo[T int | float64](to, from []T) {
	for i, v := range from {
		to[i] += v
	}
}

// Add adds the rows of an explanation and reports whether all sums are finite. It ignores everything but attributions
// of the tally's players: contrasts, differences from a row, groups made by a caller, and unknown outputs.
func (t *Tally) Add(e *Explanation) bool {
	if e.Against != "" || e.Rows == 0 || !slices.Equal(e.Players, t.Players) {
		return true
	}
	sound, known := true, false
	for o, output := range e.Outputs {
		if c := slices.Index(t.Outputs, output); c >= 0 {
			known = true
			sound = t.addOutput(c, e, o) && sound
		}
	}
	if !known {
		return true
	}
	t.Rows += e.Rows
	for row := range e.Rows {
		for d, observed := range e.observed(row) {
			if !observed {
				t.Missing[d]++
			}
		}
	}
	return sound
}

func (t *Tally) addOutput(c int, e *Explanation, o int) (sound bool) {
	players := len(t.Players)
	size, std := t.Size[c*players:(c+1)*players], t.Std[c*players:(c+1)*players]
	t.OutputRows[c] += e.Rows
	t.NoSpread = t.NoSpread || e.Std == nil
	for row := range e.Rows {
		for d, v := range e.means(row, o) {
			size[d] += math.Abs(v)
		}
		if e.Std != nil {
			addTo(std, e.stds(row, o))
		}
		t.Residual = max(t.Residual, math.Abs(e.Residual[e.at(row, o)]))
	}
	doubt := t.ModelStd[c*players : (c+1)*players]
	if e.ModelStd != nil {
		t.DoubtRows[c] += e.Rows
		for row := range e.Rows {
			addTo(doubt, e.ModelStd[e.at(row, o)*players:][:players])
		}
	}
	sound = finite(t.Residual)
	for d := range players {
		sound = sound && finite(size[d]+std[d]+doubt[d])
	}
	return sound
}

// MeanSize returns the mean |f_d| of each player for an output, where missing cells count as 0. It returns nil without
// rows.
func (t *Tally) MeanSize(output int) []float64 { return t.mean(t.Size, output) }

// MeanStd returns the mean σ_d of each player for an output, where missing cells count as 0. It returns nil without
// rows, or if some rows have no σ_d.
func (t *Tally) MeanStd(output int) []float64 {
	if t.NoSpread {
		return nil
	}
	return t.mean(t.Std, output)
}

// MeanModelStd returns the mean ModelStd of each player for an output, where missing cells count as 0. It returns nil
// without rows, or if some rows have no ModelStd.
func (t *Tally) MeanModelStd(output int) []float64 {
	if output >= len(t.DoubtRows) || t.DoubtRows[output] != t.OutputRows[output] {
		return nil
	}
	return t.mean(t.ModelStd, output)
}

func (t *Tally) mean(sums []float64, output int) []float64 {
	rows := t.OutputRows[output]
	if rows == 0 {
		return nil
	}
	means := slices.Clone(sums[output*len(t.Players) : (output+1)*len(t.Players)])
	for d := range means {
		means[d] /= float64(rows)
	}
	return means
}

// Cohort is a set of rows with a common property.
type Cohort struct {
	Name string
	Rows []int
}

// Limits of a picture: bars for so many cohorts side by side, or a matrix of so many. The days of a month and the hours
// of a day fit. In a matrix, most values need several rows, otherwise it would show single rows.
const (
	maxBars   = 6
	maxValues = 31
	minRows   = 3
)

// Cohorts divides the rows by the values of a column: numbers and times in order, labels by descending frequency. Each
// value is a cohort if there are at most six values, or at most 31 of which half or more have three rows. Otherwise the
// six most frequent labels remain, and numbers are divided at the median. Rows without a value belong to no cohort, so
// the result may be empty.
func Cohorts(c *table.Column) []Cohort {
	list := byValue(c)
	common := 0
	for _, cohort := range list {
		if len(cohort.Rows) >= minRows {
			common++
		}
	}
	switch {
	case len(list) <= maxBars || len(list) <= maxValues && 2*common >= len(list):
		return list
	case ordered(c):
		return halves(c)
	}
	return list[:maxBars]
}

func ordered(c *table.Column) bool { return c.Kind == table.Number || c.Kind == table.Time }

// byValue returns the rows of each value.
func byValue(c *table.Column) []Cohort {
	of := map[string][]int{}
	for row, observed := range c.Observed {
		if observed {
			of[c.Text(row)] = append(of[c.Text(row)], row)
		}
	}
	list := make([]Cohort, 0, len(of))
	for name, rows := range of {
		list = append(list, Cohort{name, rows})
	}
	slices.SortFunc(list, func(a, b Cohort) int {
		if ordered(c) {
			return cmp.Compare(c.Numbers[a.Rows[0]], c.Numbers[b.Rows[0]])
		}
		return cmp.Or(cmp.Compare(len(b.Rows), len(a.Rows)), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// halves returns the rows up to the median and the rows above it.
func halves(c *table.Column) []Cohort {
	var sorted []float64
	for row, observed := range c.Observed {
		if observed {
			sorted = append(sorted, c.Numbers[row])
		}
	}
	slices.Sort(sorted)
	middle := Quantile(sorted, .5)
	words := fmt.Sprintf("%.4g", middle)
	if c.Kind == table.Time {
		at := *c
		at.Observed, at.Numbers = []bool{true}, []float64{middle}
		words = at.Text(0)
	}
	list := []Cohort{{Name: "up to " + words}, {Name: "above " + words}}
	for row, observed := range c.Observed {
		if observed {
			half := 0
			if c.Numbers[row] > middle {
				half = 1
			}
			list[half].Rows = append(list[half].Rows, row)
		}
	}
	return list
}
