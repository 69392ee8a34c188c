package encode

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/psi-shapley/psi/table"
)

// noRow marks a table.Error that is not about a row.
const noRow = -1

// Fit fits the encoding of the named columns to the rows of t.
func Fit(t *table.Table, columns []string, bins int) (*Encoder, error) {
	schema := &table.Schema{} // not t.Schema(), which examines every cell
	for _, c := range t.Columns {
		schema.Fields = append(schema.Fields, table.Field{Name: c.Name, Kind: c.Kind})
	}
	f, err := NewFitter(schema, columns, bins)
	if err != nil {
		return nil, err
	}
	if err := f.Add(t, nil); err != nil {
		return nil, err
	}
	return f.Finish()
}

// Fitter fits an encoding to chunks of training rows. The result does not depend on the division into chunks, but may
// depend on the order of rows.
//
// A numeric column takes at most 2 MB, a category the memory of its labels, including rare ones: at most a million
// labels with 256 MiB in total. Edges are exact for up to 131,072 observed cells; beyond, ranks are within 0.068 % for
// up to 10^10 (ADR 0009).
type Fitter struct {
	players  []Player  // initial players, in order
	learners []learner // of the players
	levels   []bool    // players whose missing cells should be a level
	gaps     []bool    // of these, players with missing cells
	bins     int
	kept     []bool
}

// learner accumulates what a player needs to know about its column.
type learner interface {
	add(c *table.Column, keep func(row int) bool) error
	finish(p *Player)
}

// NewFitter returns a Fitter for the named columns of the schema. They become players in that order, but numbers first,
// then times, then categories.
func NewFitter(schema *table.Schema, columns []string, bins int) (*Fitter, error) {
	if bins < 1 || bins > maxBins {
		return nil, fmt.Errorf("encode: bins must be between 1 and %d, not %d", maxBins, bins)
	}
	if len(columns) == 0 || len(columns) > maxPlayers {
		return nil, fmt.Errorf("encode: a model takes between 1 and %d columns, not %d", maxPlayers, len(columns))
	}
	kinds := make(map[string]table.Kind, len(schema.Fields))
	for _, field := range schema.Fields {
		kinds[field.Name] = field.Kind
	}
	f := &Fitter{bins: bins}
	named := make(map[string]bool, len(columns))
	for _, name := range columns {
		kind, known := kinds[name]
		switch {
		case !known:
			return nil, &table.Error{Row: noRow, Column: name, Message: "the table has no such column", Remedy: "check the spelling"}
		case named[name]:
			return nil, &table.Error{Row: noRow, Column: name, Message: "the column is named twice", Remedy: "name it once"}
		case name == "" || !utf8.ValidString(name):
			return nil, &table.Error{Row: noRow, Column: name, Message: "a column's name must be UTF-8 text and not empty", Remedy: "rename the column"}
		}
		named[name] = true
		f.players = append(f.players, Player{Name: name, Kind: kind})
	}
	slices.SortStableFunc(f.players, func(a, b Player) int { return cmp.Compare(a.rank(), b.rank()) })
	for i := range f.players {
		f.learners = append(f.learners, newLearner(f.players[i].Kind, bins))
	}
	f.levels, f.gaps = make([]bool, len(columns)), make([]bool, len(columns))
	return f, nil
}

func newLearner(kind table.Kind, bins int) learner {
	numbers := seenNumbers{sketch: newSketch(bins)}
	switch kind {
	case table.Category:
		return newSeenLevels()
	case table.Time:
		return &seenTimes{seenNumbers: numbers}
	}
	return &numbers
}

// MissingAsLevel makes missing cells of the named columns a level of their own. Call it before Add. Columns without
// missing cells in the training rows get no such level, because it could not be trained.
func (f *Fitter) MissingAsLevel(columns []string) error {
	for _, name := range columns {
		d := slices.IndexFunc(f.players, func(p Player) bool { return p.Name == name })
		if d < 0 {
			return &table.Error{
				Row: noRow, Column: name,
				Message: "missing cells of this column are to be a level, but it is not a feature", Remedy: "check the spelling, or leave it out of Config.MissingAsLevel",
			}
		}
		f.levels[d] = true
	}
	return nil
}

// Add fits the rows of a chunk for which keep is true, or all rows if keep is nil. After an error the Fitter must not
// be used.
func (f *Fitter) Add(t *table.Table, keep func(row int) bool) error {
	columns := byName(t)
	for _, p := range f.players {
		c := columns[p.Name]
		if c == nil {
			return &table.Error{
				Row: noRow, Column: p.Name,
				Message: "some of the training rows come without this column", Remedy: "give all files the same columns",
			}
		}
		if err := p.checkKind(c); err != nil {
			return err
		}
	}
	keep = f.once(keep, t.Rows())
	for d, p := range f.players {
		c := columns[p.Name]
		if err := f.learners[d].add(c, keep); err != nil {
			return err
		}
		f.gaps[d] = f.gaps[d] || f.levels[d] && hasGap(c, keep)
	}
	return nil
}

func hasGap(c *table.Column, keep func(row int) bool) bool {
	for row, observed := range c.Observed {
		if !observed && keep(row) {
			return true
		}
	}
	return false
}

// once evaluates keep for every row in advance, instead of for every column.
func (f *Fitter) once(keep func(row int) bool, rows int) func(row int) bool {
	if keep == nil {
		return keepAll
	}
	f.kept = slices.Grow(f.kept[:0], rows)[:rows]
	for row := range f.kept {
		f.kept[row] = keep(row)
	}
	return func(row int) bool { return f.kept[row] }
}

func keepAll(int) bool { return true }

// Finish returns the encoding fitted to the rows so far; more may be added afterwards.
func (f *Fitter) Finish() (*Encoder, error) {
	e := &Encoder{Players: slices.Clone(f.players), Bins: f.bins}
	levels := 0
	for d := range e.Players {
		p := &e.Players[d]
		f.learners[d].finish(p)
		p.Gap = f.gaps[d]
		if levels += len(p.Levels); levels > maxLevels {
			return nil, &table.Error{
				Row: noRow, Column: p.Name,
				Message: fmt.Sprintf("the categories up to this one have more than %d labels together", maxLevels),
				Remedy:  "drop the columns that identify rows rather than describe them",
			}
		}
	}
	return e, nil
}

// seenNumbers accumulates the numbers of a column.
type seenNumbers struct {
	sketch  *sketch
	moments moments
}

func (s *seenNumbers) add(c *table.Column, keep func(row int) bool) error {
	for row, v := range observedNumbers(c, keep) {
		if !finite(v) {
			return notFinite(c, row)
		}
		s.sketch.add(v)
		s.moments.add(v)
	}
	return nil
}

func (s *seenNumbers) finish(p *Player) {
	p.Edges = s.sketch.edges()
	p.Centre, p.Scale = s.moments.meanAndStd()
}

// observedNumbers iterates over the kept and observed rows of c with their numbers.
func observedNumbers(c *table.Column, keep func(row int) bool) iter.Seq2[int, float64] {
	return func(yield func(int, float64) bool) {
		for row, v := range c.Numbers {
			if c.Observed[row] && keep(row) && !yield(row, v) {
				return
			}
		}
	}
}

func notFinite(c *table.Column, row int) error {
	return &table.Error{
		Row: row, Column: c.Name,
		Message: fmt.Sprintf("%v is not a finite number", c.Numbers[row]), Remedy: "write a number, or leave the cell empty",
	}
}

// moments computes the mean and the standard deviation of a stream of numbers by Welford's update: with δ = v − mean
// and w the weight of v, weight += w, mean += w·δ/weight and squares += w·δ·(v − mean).
//
// It uses the largest power of two among the numbers as unit, which is exact: the square of 1e308 does not overflow,
// and that of 1e-308 does not vanish.
type moments struct {
	weight     float64 // Σ w; without weights, the number of numbers
	min, max   float64
	unit       float64
	mean, lost float64 // in units; lost is the rounding error of the last step (Kahan)
	squares    float64 // Σ w·(v − mean)², in squared units
}

func (m *moments) add(v float64) { m.addWeighted(v, 1) }

// addWeighted adds a number with weight w, which must be positive and far from the limits of float64.
func (m *moments) addWeighted(v, w float64) {
	if m.weight == 0 {
		m.min, m.max = v, v
	}
	if size := math.Abs(v); size >= 2*m.unit {
		m.setUnit(size)
	}
	m.weight += w
	m.min, m.max = min(m.min, v), max(m.max, v)
	v /= m.unit
	from := v - m.mean
	step := from*w/m.weight + m.lost
	mean := m.mean + step
	m.lost = step - (mean - m.mean)
	m.mean = mean
	m.squares += w * from * (v - mean)
}

// setUnit changes the unit to the power of two below size.
func (m *moments) setUnit(size float64) {
	_, exponent := math.Frexp(max(size, math.SmallestNonzeroFloat64))
	unit := math.Ldexp(1, exponent-1)
	shrink := m.unit / unit
	m.mean *= shrink
	m.lost *= shrink
	m.squares *= shrink * shrink
	m.unit = unit
}

// meanAndStd returns 0 and 1 without numbers. A constant has a standard deviation of 1, so that it can be a divisor.
func (m *moments) meanAndStd() (mean, std float64) {
	if m.min == m.max {
		return m.min, 1
	}
	// Rounding may lead beyond the largest float64, or to 0.
	std = min(math.MaxFloat64, math.Sqrt(m.squares/m.weight)*m.unit)
	if std == 0 {
		std = 1
	}
	return m.mean * m.unit, std
}

// finite reports whether v is neither infinite nor NaN.
func finite(v float64) bool { return math.Abs(v) <= math.MaxFloat64 }

// Alike reports whether an encoder would encode all cells of a column identically, so that the column carries no
// information. A column with both missing and observed cells may carry some: the gap itself may be informative.
//
// It takes a byte for each label of a category until it finds cells that differ.
type Alike struct {
	missing, observed bool
	number            float64 // value of the observed cells, unless the column is a category
	counts            []uint8 // rows of each label, up to rareLevel
	labels            int     // number of labels seen
	known             bool    // whether a label occurs in rareLevel rows
	differ            bool
}

// Add examines the cells of a chunk for which keep is true. Codes must have the same meaning in all chunks.
func (a *Alike) Add(c *table.Column, keep func(row int) bool) {
	if more := len(c.Levels) - len(a.counts); c.Kind == table.Category && more > 0 && !a.differ {
		a.counts = append(a.counts, make([]uint8, more)...)
	}
	for row, observed := range c.Observed {
		if a.differ {
			a.counts = nil
			return
		}
		switch {
		case !keep(row):
		case !observed:
			a.missing = true
			a.differ = a.observed
		case c.Kind == table.Category:
			a.addLabel(c.Codes[row])
		default:
			a.differ = a.missing || a.observed && c.Numbers[row] != a.number
			a.observed, a.number = true, c.Numbers[row]
		}
	}
}

// addLabel examines a label. If one of two labels has its own row of the embedding, the other has a different one.
func (a *Alike) addLabel(code int32) {
	a.observed = true
	if a.counts[code] == 0 {
		a.labels++
	}
	if a.counts[code] < rareLevel {
		a.counts[code]++
	}
	a.known = a.known || a.counts[code] == rareLevel
	a.differ = a.missing || a.known && a.labels > 1
}

// Differ reports whether some cells are encoded differently.
func (a *Alike) Differ() bool { return a.differ }

// Why explains to users why all cells are encoded identically; "" if they are not.
func (a *Alike) Why() string {
	switch {
	case a.differ:
		return ""
	case !a.observed:
		return "every cell is missing"
	case a.labels > 1:
		return "no label is in three rows or more"
	}
	return "every cell is the same"
}
