package explain

import (
	"math"
	"slices"
)

// Tally holds sums over the attributions of many rows, for tables whose rows are too many to keep. Tallies of disjoint
// parts can be merged. It is not safe for concurrent use.
type Tally struct {
	Outputs []string `json:"outputs"`
	Players []string `json:"players"`

	Rows       int       `json:"rows"`
	OutputRows []int     `json:"output_rows"` // [outputs]: number of rows; an explanation may have only some of the outputs
	Size       []float64 `json:"size"`        // [outputs, players]: Σ |f_d|
	Std        []float64 `json:"std"`         // [outputs, players]: Σ σ_d
	ModelStd   []float64 `json:"model_std"`   // [outputs, players]: Σ of ModelStd, over the rows that have it
	DoubtRows  []int     `json:"doubt_rows"`  // [outputs]: number of these rows; absent in tallies of older versions
	Missing    []int     `json:"missing"`     // [players]: rows in which the player is missing
	Residual   float64   `json:"residual"`    // largest |prediction − base − Σ f_d|
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
	t.Rows, t.Residual = 0, 0
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
	t.Residual = max(t.Residual, o.Residual)
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
	for row := range e.Rows {
		sigma := e.stds(row, o)
		for d, v := range e.means(row, o) {
			size[d] += math.Abs(v)
			std[d] += sigma[d]
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
// rows.
func (t *Tally) MeanStd(output int) []float64 { return t.mean(t.Std, output) }

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
