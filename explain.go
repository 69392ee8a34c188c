package psi

import (
	"context"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/shapley"
	"github.com/psi-shapley/psi/table"
)

// ExplainOptions configures explanations. The zero value selects mode Fast with 95 % intervals.
type ExplainOptions struct {
	// Mode is Fast (also ""), Refined or Exact. Refined evaluates some coalitions and reports standard errors. Exact
	// evaluates all coalitions and supports at most 16 columns.
	Mode         explain.Mode
	Tolerance    float64      // mode Refined stops when no standard error exceeds it; in the prediction's units
	Budget       int          // mode Refined: maximum evaluations per row; 0 means 4 per column, 64 with Tolerance
	Z            float64      // intervals have the coverage of ∓ Z standard deviations of a normal distribution; 0 means 1.96
	Top          int          // K of p_top, the probability of being among the K largest attributions; 0 means 3
	Unknown      []string     // columns to treat as missing
	Output       string       // class to explain; "" means all
	Against      string       // requires Output: explain why Output rather than this class
	Groups       []Group      // columns with a joint attribution, in place of the model's own groups
	Interactions bool         // also compute pairwise interactions
	Game         Game         // game whose Shapley values are computed; "" means the model's own
	Reference    *table.Table // games Baseline and Interventional: rows that absent columns have their values from, at most 1,000
	NoDoubt      bool         // skip ModelStd, which is faster
	From, To     int          // half-open range of rows; To = 0 means all rows
}

// Explain is the former name of ExplainOptions.
//
// Deprecated: use ExplainOptions. The next release removes it.
type Explain = ExplainOptions

const (
	defaultZ   = 1.96
	defaultTop = 3
)

// Explanations yields explanations of the rows of a source in chunks, in order. Memory is bounded by the chunks in
// flight, which are computed on all cores. It stops at the first error, which it yields, and does not close the source.
func (m *Model) Explanations(ctx context.Context, rows Source, o ExplainOptions) iter.Seq2[*explain.Explanation, error] {
	return func(yield func(*explain.Explanation, error) bool) {
		o, err := m.settleExplain(o)
		if err != nil {
			yield(nil, err)
			return
		}
		references, err := m.references(o)
		if err != nil {
			yield(nil, err)
			return
		}
		v, done, err := m.viewOf(o.Groups, references)
		if err != nil {
			yield(nil, err)
			return
		}
		defer done()
		eachChunk(ctx, m, rows, span{o.From, o.To}, o.Unknown, func(ctx context.Context, c *chunk) (*explain.Explanation, error) {
			e, err := m.explain(ctx, v, c, o)
			if err != nil {
				return nil, err
			}
			return chosen(e, o)
		})(yield)
	}
}

// Explain explains all rows of a source and returns one Explanation in memory. Use Explanations for large sources.
func (m *Model) Explain(ctx context.Context, rows Source, o ExplainOptions) (*explain.Explanation, error) {
	var parts []*explain.Explanation
	for e, err := range m.Explanations(ctx, rows, o) {
		if err != nil {
			return nil, err
		}
		parts = append(parts, e)
	}
	if len(parts) == 0 {
		return nil, &table.Error{Row: -1, Message: "there are no rows to explain", Remedy: "give a table with rows"}
	}
	return explain.Join(parts)
}

// NoRows returns the explanation of a table without rows. It has the model's columns, outputs and units.
func (m *Model) NoRows(o ExplainOptions) (*explain.Explanation, error) {
	o, err := m.settleExplain(o)
	if err != nil {
		return nil, err
	}
	players, err := m.playersOf(o.Groups)
	if err != nil {
		return nil, err
	}
	e := m.heading(o, players)
	e.Values = make([]*table.Column, len(players))
	if m.classes() {
		e.Probability = []float64{}
	}
	if m.hasSpread() {
		e.Std = []float64{}
	}
	if e.Bags > 0 {
		e.ModelStd = []float64{}
	}
	return chosen(e, o)
}

// heading returns an explanation with the fields that do not depend on rows.
func (m *Model) heading(o ExplainOptions, players []player) *explain.Explanation {
	return &explain.Explanation{
		Model: m.Digest(), Head: m.Head(), Game: o.Game, Mode: o.Mode, Exact: m.exact() || o.Mode == explain.Exact, Z: o.Z, Top: o.Top,
		Outputs: m.outputNames(), Scale: m.scale(), NonNegative: m.manifest.Scale.NonNegative, Players: names(players), Bags: m.bagCount(o),
	}
}

// bagCount returns the number of bags that ModelStd is computed from.
func (m *Model) bagCount(o ExplainOptions) int {
	if o.NoDoubt {
		return 0
	}
	return m.own.Bags()
}

// chosen restricts an explanation to the requested output.
func chosen(e *explain.Explanation, o ExplainOptions) (*explain.Explanation, error) {
	switch {
	case o.Against != "":
		return e.Contrast(o.Output, o.Against)
	case o.Output != "":
		return e.Only(o.Output)
	}
	return e, nil
}

// settleExplain sets defaults and rejects invalid combinations.
func (m *Model) settleExplain(o ExplainOptions) (ExplainOptions, error) {
	if o.Z == 0 {
		o.Z = defaultZ
	}
	if o.Top == 0 {
		o.Top = defaultTop
	}
	if o.Mode == "" {
		o.Mode = explain.Fast
	}
	if err := m.checkGame(o); err != nil {
		return o, err
	}
	if o.Game == "" {
		o.Game = m.Game()
	}
	if o.Mode == explain.Refined && m.exact() {
		o.Mode = explain.Fast // the exact head needs no refinement
	}
	if slices.EqualFunc(o.Groups, m.manifest.Groups, equalGroups) {
		o.Groups = nil // these are the model's own
	}
	players, err := m.playersOf(o.Groups)
	if err != nil {
		return o, err
	}
	d := len(players)
	switch {
	case !(o.Z > 0) || math.IsInf(o.Z, 0):
		return o, wrongSetting(fmt.Sprintf("z is %g", o.Z), "give a positive number")
	case o.Top < 1:
		return o, wrongSetting(fmt.Sprintf("top is %d", o.Top), "give at least 1")
	case o.From < 0 || o.To != 0 && o.To <= o.From:
		return o, wrongSetting(fmt.Sprintf("the row range %d:%d is empty", o.From, o.To), "give FROM:TO with TO greater than FROM")
	case o.Mode != explain.Fast && o.Mode != explain.Refined && o.Mode != explain.Exact:
		return o, wrongSetting(fmt.Sprintf("unknown mode %q", o.Mode), fmt.Sprintf("choose %s, %s or %s", explain.Fast, explain.Refined, explain.Exact))
	case o.Mode == explain.Exact && d > shapley.MaxExact:
		return o, &table.Error{
			Row:     -1,
			Message: fmt.Sprintf("mode exact needs all 2^%d ≈ 10^%.0f coalitions of the model's %d columns: it is for at most %d columns", d, float64(d)*math.Log10(2), d, shapley.MaxExact),
			Remedy:  m.exactModeRemedy(),
		}
	case o.Interactions && o.Mode == explain.Fast && !m.exact():
		return o, &table.Error{Row: -1, Message: "the learned head has no interactions of its own", Remedy: "use ExplainOptions.Mode=exact or ExplainOptions.Mode=refined"}
	case len(o.Groups) > 0 && o.Mode == explain.Fast && !m.exact():
		return o, &table.Error{Row: -1, Message: "the learned head knows only the players it was trained with", Remedy: "use ExplainOptions.Mode=exact, or train with these groups"}
	}
	if o.Mode == explain.Refined {
		if err := m.checkRefined(o); err != nil {
			return o, err
		}
	}
	return o, m.checkOutputs(o)
}

// playersOf returns the players of groups, or the model's own if there are no groups.
func (m *Model) playersOf(groups []Group) ([]player, error) {
	if len(groups) == 0 {
		return m.own.players, nil
	}
	return grouped(m.Columns(), groups)
}

// checkOutputs rejects classes that the model does not have.
func (m *Model) checkOutputs(o ExplainOptions) error {
	if o.Against != "" && o.Output == "" {
		return wrongSetting("a class to compare with is given, but not the class to explain", "name both")
	}
	names := m.outputNames()
	for _, name := range []string{o.Output, o.Against} {
		if name != "" && !slices.Contains(names, name) {
			return wrongSetting(fmt.Sprintf("the model has no output %q", name), "choose one of "+listNames(names))
		}
	}
	if o.Against != "" && o.Against == o.Output {
		return wrongSetting(fmt.Sprintf("%q is to be explained against itself", o.Output), "name two classes")
	}
	return nil
}

// exact reports whether attributions are the model's Shapley values by construction.
func (m *Model) exact() bool { return m.Head() != string(form.Learned) }

func (m *Model) exactModeRemedy() string {
	if m.exact() {
		return "use mode fast, which is exact with this model's head"
	}
	return "use mode refined, which says how far it may be off"
}

func (m *Model) explain(ctx context.Context, v *view, c *chunk, o ExplainOptions) (*explain.Explanation, error) {
	want := form.Everything
	if !o.NoDoubt {
		want |= form.Doubt
	}
	x, err := v.Pass(ctx, c.batch, want)
	if err != nil {
		return nil, err
	}
	if o.Mode == explain.Exact {
		if err := v.enumerate(ctx, c, x); err != nil {
			return nil, err
		}
	}
	if o.Mode == explain.Refined {
		r, err := m.refine(ctx, v, c, x, o)
		if err != nil {
			return nil, err
		}
		e := m.result(v, c, x, o)
		r.put(e, v, m.unit())
		return e, nil
	}
	e := m.result(v, c, x, o)
	if o.Interactions {
		e.Interactions, err = m.interactions(ctx, v, c, o)
	}
	return e, err
}

// restricted returns the game of row i among the players present in the row.
func (v *view) restricted(b *encode.Batch, i int) *shapley.Subgame {
	game := v.RowGame(b, i)
	return shapley.Restrict(game, game.Present())
}

// enumerate replaces the attributions with Shapley values computed from all coalitions of the observed columns.
func (v *view) enumerate(ctx context.Context, c *chunk, x *form.Answer) error {
	outputs, d := len(x.Value)/c.batch.Rows, len(v.players)
	for i := range c.batch.Rows {
		game := v.restricted(c.batch, i)
		values, err := shapley.Exact(ctx, game)
		if err != nil {
			return err
		}
		all := values.Extend(game)
		for k := range outputs {
			for j, phi := range all.Of(k) {
				x.Attributions[(i*outputs+k)*d+j] = float32(phi)
			}
		}
	}
	return nil
}

// result converts a pass to the model's units and the order of its players.
func (m *Model) result(v *view, c *chunk, x *form.Answer, o ExplainOptions) *explain.Explanation {
	n, d, outputs, unit := c.batch.Rows, len(v.players), m.outputs(), m.unit()
	lines := n * outputs
	e := m.heading(o, v.players)
	e.FirstRow, e.Rows, e.Bags = c.first, n, len(x.ByBag)
	e.Base, e.Prediction, e.Residual = make([]float64, lines), m.scores(x.Value), make([]float64, lines)
	e.Mean, e.Observed = make([]float64, lines*d), make([]bool, n*d)
	e.Values, e.Other = v.values(c), m.others(v, c)
	if len(x.ByBag) > 0 {
		e.ByBag = make([]float64, lines*d*len(x.ByBag))
	}
	base := m.bases()
	e.Slope = m.slopes(c.batch)
	e.Probability = m.probabilities(e.Prediction, x, e.Slope)
	m.setSpread(e, v, x)
	for line := range lines {
		e.Base[line] = base[line%outputs]
		rest := float64(x.Value[line])
		if x.Empty != nil {
			e.Base[line] += unit * float64(x.Empty[line])
			rest -= float64(x.Empty[line])
		}
		for k, j := range v.places {
			phi := float64(x.Attributions[line*d+j])
			rest -= phi
			e.Mean[line*d+k] = unit * phi
			for b, bag := range x.ByBag {
				e.ByBag[(line*d+k)*len(x.ByBag)+b] = unit * float64(bag[line*d+j])
			}
		}
		e.Residual[line] = unit * rest
	}
	if m.manifest.Calibration.Ranges != nil {
		e.RangeStd = m.rangeStds(e.Prediction, e.PredictionStd, c.batch)
	}
	e.Doubt()
	for i := range n {
		for k, p := range v.players {
			e.Observed[i*d+k] = slices.ContainsFunc(p.columns, func(j int) bool { return c.observed(i, m.places[j]) })
		}
	}
	return e
}

// hasSpread reports whether the model knows how far its contributions vary among rows: networks do, trees do not.
func (m *Model) hasSpread() bool {
	return m.ensemble == nil && (m.mixed == nil || slices.ContainsFunc(m.mixed, (*Model).hasSpread))
}

// hasNoise reports whether the model knows how far targets are from its predictions. Imported trees do if rows with
// targets measured it.
func (m *Model) hasNoise() bool { return m.hasSpread() || m.manifest.Calibration.Noise > 0 }

// setSpread sets the standard deviations that the model knows.
func (m *Model) setSpread(e *explain.Explanation, v *view, x *form.Answer) {
	unit, d := m.unit(), len(v.players)
	if m.hasNoise() {
		e.PredictionStd = m.variances(x)
		for line, variance := range e.PredictionStd {
			e.PredictionStd[line] = math.Sqrt(variance)
		}
	}
	if !m.hasSpread() {
		return
	}
	e.Std, e.HiddenStd = make([]float64, len(e.Mean)), make([]float64, len(e.Prediction))
	for line := range e.Prediction {
		e.HiddenStd[line] = unit * math.Sqrt(float64(x.HiddenVariance[line]))
		for k, j := range v.places {
			e.Std[line*d+k] = unit * float64(x.Std[line*d+j])
		}
	}
}

func (m *Model) scale() explain.Scale {
	if m.manifest.Scale.Link == encode.Probability {
		return explain.Share
	}
	switch m.manifest.Task {
	case Binary:
		return explain.Logit
	case Multiclass:
		return explain.Score
	}
	switch m.manifest.Scale.Link {
	case encode.LogMean:
		return explain.LogMean
	case encode.Log:
		return explain.Log
	}
	return explain.Identity
}

// values returns the columns of the players; a group has none.
func (v *view) values(c *chunk) []*table.Column {
	values := make([]*table.Column, len(v.players))
	for k, p := range v.players {
		if len(p.columns) == 1 {
			values[k] = c.values[p.columns[0]]
		}
	}
	return values
}

// others marks cells [rows, players] whose labels did not occur in training; nil if there are none.
func (m *Model) others(v *view, c *chunk) []bool {
	var marks []bool
	for row, place := range m.manifest.Encoder.Others(c.batch) {
		if marks == nil {
			marks = make([]bool, c.batch.Rows*len(v.players))
		}
		column := slices.Index(m.places, place)
		player := slices.IndexFunc(v.players, func(p player) bool { return slices.Contains(p.columns, column) })
		marks[row*len(v.players)+player] = true
	}
	return marks
}

// interactions returns the pairwise interactions [rows, C, players, players] in the model's units.
func (m *Model) interactions(ctx context.Context, v *view, c *chunk, o ExplainOptions) ([]float64, error) {
	n, d, outputs := c.batch.Rows, len(v.players), m.outputs()
	var fast []float32
	if o.Mode == explain.Fast {
		var err error
		if fast, err = v.Interactions(ctx, c.batch); err != nil {
			return nil, err
		}
	}
	all := make([]float64, n*outputs*d*d)
	for i := range n {
		at := func(k, a, b int) float64 { return float64(fast[((i*outputs+k)*d+a)*d+b]) }
		if o.Mode == explain.Exact {
			game := v.restricted(c.batch, i)
			x, err := shapley.Interactions(ctx, game)
			if err != nil {
				return nil, err
			}
			at = x.Extend(game).At
		}
		for k := range outputs {
			for a, ja := range v.places {
				for b, jb := range v.places {
					all[((i*outputs+k)*d+a)*d+b] = m.unit() * at(k, ja, jb)
				}
			}
		}
	}
	return all, nil
}
