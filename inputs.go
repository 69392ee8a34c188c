package psi

import (
	"fmt"
	"math"
	"slices"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/kernel"
	"github.com/psi-shapley/psi/table"
)

// Input describes one column of the model.
type Input struct {
	Name   string
	Kind   table.Kind
	Player int      // index among the model's players
	Gap    bool     // a missing cell is a level of its own, distinct from an unknown label
	Labels []string // labels of a category that occurred in training; read-only

	Reading *table.Reading // how its text is parsed; nil for plain values

	// Low and High are the minimum and maximum in the training rows: of a number, a boolean (0 or 1) or a time (seconds
	// since 1970). Both are NaN if training had no values.
	Low, High float64
	Whole     bool // whether the numbers appear to be integers

	// Typical is a typical value, TypicalLabel a typical label. They are the median and the most frequent label of the
	// reference rows. Without reference rows they are an estimate from the bin edges and the first label.
	Typical      float64
	TypicalLabel string
}

// Inputs returns the model's columns in their order.
func (m *Model) Inputs() []Input {
	inputs := make([]Input, len(m.manifest.Columns))
	for k, p := range m.own.players {
		for _, j := range p.columns {
			inputs[j] = m.input(j)
			inputs[j].Player = k
		}
	}
	return inputs
}

func (m *Model) input(column int) Input {
	d := m.places[column]
	p := &m.manifest.Encoder.Players[d]
	in := Input{Name: p.Name, Kind: p.Kind, Gap: p.Gap, Labels: p.Levels, Low: math.NaN(), High: math.NaN(), Typical: math.NaN(), Reading: m.manifest.Columns[column].Reading}
	if n := len(p.Edges); n > 0 {
		in.Low, in.High = p.Edges[0], p.Edges[n-1]
		in.Whole = mostlyIntegers(p.Edges)
		in.Typical = m.typicalNumber(d)
	}
	if len(p.Levels) > 0 {
		in.TypicalLabel = p.Levels[m.mostFrequentLevel(d)]
	}
	return in
}

// mostlyIntegers reports whether most bin edges are integers. Quantiles of integers may lie between two of them.
func mostlyIntegers(edges []float64) bool {
	whole := 0
	for _, v := range edges {
		if v == math.Trunc(v) {
			whole++
		}
	}
	return 2*whole > len(edges)
}

// closest returns the edge nearest to v.
func closest(edges []float64, v float64) float64 {
	return slices.MinFunc(edges, func(a, b float64) int {
		switch x, y := math.Abs(a-v), math.Abs(b-v); {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
}

// typicalNumber returns a typical value of a numeric player: the median of the reference rows. Without reference rows, it
// is the value nearest to the mean if the column has few values. For many values it is the middle of the bins, which is the
// median unless many equal cells make quantiles coincide. In that case it is the end of the bins that is nearer to the
// mean.
func (m *Model) typicalNumber(d int) float64 {
	p := &m.manifest.Encoder.Players[d]
	n := len(p.Edges)
	switch seen := m.kept(d); {
	case len(seen) > 0:
		slices.Sort(seen)
		return closest(p.Edges, seen[len(seen)/2])
	case n <= m.manifest.Encoder.Bins:
		return closest(p.Edges, p.Centre)
	}
	return closest([]float64{p.Edges[0], p.Edges[n/2], p.Edges[n-1]}, p.Centre)
}

// kept returns the values of a numeric player in the reference rows.
func (m *Model) kept(d int) []float64 {
	p := &m.manifest.Encoder.Players[d]
	var seen []float64
	for i, b := 0, m.reference; b != nil && i < b.Rows; i++ {
		cell := b.Numbers[(i*b.Numeric+d)*2:]
		if b.Observed[i*b.Players()+d] != 0 && cell[0] != encode.GapPosition {
			seen = append(seen, p.Centre+p.Scale*float64(cell[1]))
		}
	}
	return seen
}

// mostFrequentLevel returns the most frequent level in the reference rows, or the first level without them.
func (m *Model) mostFrequentLevel(d int) int {
	e := m.manifest.Encoder
	k := d - e.Numeric()
	first := int32(1) // embedding row of the first level, after those of earlier players and the row of other levels
	for _, rows := range e.EmbeddingRows()[:k] {
		first += int32(rows)
	}
	counts := make([]int, len(e.Players[d].Levels))
	for i, b := 0, m.reference; b != nil && i < b.Rows; i++ {
		level := int(b.Codes[i*b.Categorical+k] - first)
		if b.Observed[i*b.Players()+d] != 0 && level >= 0 && level < len(counts) {
			counts[level]++
		}
	}
	return slices.Index(counts, slices.Max(counts))
}

// Base returns φ_0 of each output: the prediction before any cell is known. Base and attributions add up to the
// prediction.
func (m *Model) Base() []float64 { return m.bases() }

// Group is a set of columns that form a player: they are present or missing together and have a joint attribution. It
// is the Shapley value of the group, not the sum of its columns' attributions.
type Group struct {
	Name    string   `json:"name"`
	Columns []string `json:"columns"`
}

// player is a column or a group of columns.
type player struct {
	name    string
	columns []int // indices among the model's columns
}

// grouped returns the players of a table's columns. A group takes the place of its first column.
func grouped(columns []string, groups []Group) ([]player, error) {
	wrong := func(name, message, remedy string) error {
		return &table.Error{Row: -1, Column: name, Message: message, Remedy: remedy}
	}
	of := map[string]int{} // index of each column's group
	names := map[string]bool{}
	for g, group := range groups {
		if group.Name == "" || len(group.Columns) == 0 {
			return nil, wrongSetting("a group lacks a name or columns", "give both")
		}
		if names[group.Name] || slices.Contains(columns, group.Name) && !slices.Contains(group.Columns, group.Name) {
			return nil, wrongSetting(fmt.Sprintf("two players would be called %q", group.Name), "give the group another name")
		}
		names[group.Name] = true
		for _, name := range group.Columns {
			if !slices.Contains(columns, name) {
				return nil, wrong(name, fmt.Sprintf("group %q names a column that is not a feature", group.Name), "check the spelling")
			}
			if _, twice := of[name]; twice {
				return nil, wrong(name, "the column is in two groups, or twice in one", "put it into one of them")
			}
			of[name] = g
		}
	}
	var players []player
	at := map[int]int{} // index of each group's player
	for j, name := range columns {
		g, is := of[name]
		if !is {
			players = append(players, player{name, []int{j}})
			continue
		}
		if _, met := at[g]; !met {
			at[g] = len(players)
			players = append(players, player{name: groups[g].Name})
		}
		p := &players[at[g]]
		p.columns = append(p.columns, j)
	}
	return players, nil
}

// view is a model with its columns grouped into players; all views share the model's weights.
type view struct {
	*form.Ensemble
	players []player
	places  []int // the network's index of each player
}

// names returns the names of players.
func names(players []player) []string {
	list := make([]string, len(players))
	for k, p := range players {
		list[k] = p.name
	}
	return list
}

// networkGroups returns the groups as indices of the encoder; nil if every column is a player.
func networkGroups(players []player, places []int) [][]int {
	if len(players) == len(places) {
		return nil
	}
	groups := make([][]int, len(players))
	for k, p := range players {
		for _, j := range p.columns {
			groups[k] = append(groups[k], places[j])
		}
	}
	return groups
}

// newView prepares the model's weights for players. The model's own players have a view already.
func (m *Model) newView(groups []Group) (*view, error) {
	players, err := grouped(m.Columns(), groups)
	if err != nil {
		return nil, err
	}
	v := &view{players: players, places: m.places}
	config := m.config
	if config.Inputs.Groups = networkGroups(players, m.places); config.Inputs.Groups != nil {
		v.places = make([]int, len(players))
		for k := range v.places {
			v.places[k] = k
		}
	}
	if m.mixed != nil {
		if err := m.mixtureView(groups, v, config); err != nil {
			return nil, err
		}
		return v, nil
	}
	members := m.members
	if m.ensemble != nil {
		members = []form.Member{{}} // trees have no weights
	}
	v.Ensemble, err = config.NewEnsemble(members, func(member form.Member) (form.Evaluator, error) { return m.evaluator(config, member) })
	if err != nil || len(m.bags) == 0 {
		return v, err
	}
	bag := config.Bag()
	if err := v.AddBags(m.bags, func(b form.Member) (form.Evaluator, error) { return kernel.New(bag, b.Weights, b.Nodes) }); err != nil {
		v.Close()
		return nil, err
	}
	return v, nil
}

// viewOf returns the model's own view, or a new one if there are groups or reference rows. The caller must call done
// when it no longer needs the view.
func (m *Model) viewOf(groups []Group, references *encode.Batch) (v *view, done func(), err error) {
	v, done = m.own, func() {}
	if len(groups) > 0 {
		if v, err = m.newView(groups); err != nil {
			return nil, nil, err
		}
		done = v.Close
	}
	if references == nil {
		return v, done, nil
	}
	inGame := *v
	if inGame.Ensemble, err = v.Against(references); err != nil {
		done()
		return nil, nil, err
	}
	return &inGame, done, nil
}

func equalGroups(a, b Group) bool { return a.Name == b.Name && slices.Equal(a.Columns, b.Columns) }
