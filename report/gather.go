package report

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/internal/prose"
	"github.com/psi-shapley/psi/table"
)

// Options configure Gather. Only the names are required; other zero values select the measured defaults.
type Options struct {
	Cover
	Name  string  // name of the table for readers
	Model string  // name of the model for readers
	By    string  // column whose values divide rows into groups to compare; "" means none
	Z     float64 // intervals have the coverage of ∓ Z standard deviations of a normal distribution; 0 means 1.96
	Seed  uint64  // of the random sample

	Game      psi.Game     // game of the attributions; "" means the model's own
	Reference *table.Table // reference rows of the game, if it needs them

	Explained int // maximum number of explained rows, drawn at random; 0 means 5,000
	Carried   int // of these, rows that the page shows individually; 0 means 1,000
	Paired    int // of these, rows for interactions; 0 means 300

	Progress func(string) // called with the next step; may be nil
}

// Limits of a report: number of attributions in memory and on the page, and of interactions.
const (
	maxExplained = 40_000_000
	maxCarried   = 93_000
	maxPaired    = 20_000_000
	minPaired    = 20
)

// settle sets the defaults. With very many columns or classes it takes fewer rows, so that memory and page stay small.
func (o Options) settle(outputs, players int) Options {
	size := outputs * players
	setDefault := func(n *int, value, limit, least int) {
		if *n == 0 {
			*n = value
		}
		*n = min(*n, max(limit, least))
	}
	setDefault(&o.Explained, 5000, maxExplained/size, 100)
	setDefault(&o.Carried, 1000, maxCarried/size, 50)
	setDefault(&o.Paired, 300, maxPaired/(size*players), 0)
	o.Carried = min(o.Carried, o.Explained)
	o.Paired = min(o.Paired, o.Carried)
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	return o.limitReferences()
}

// learnedHead is the head that has neither interactions nor games of reference rows.
const learnedHead = "learned"

// gathering is the state of Gather.
type gathering struct {
	Options
	model    *psi.Model
	manifest psi.Manifest
	sample   *sample
	outcomes *outcomes
	profiles []*profile
}

// Gather reads rows once and reports on the model's predictions for them. Memory does not grow with the number of rows.
// It does not close the source.
func Gather(ctx context.Context, model *psi.Model, rows psi.Source, o Options) (*Report, error) {
	outputs := 1
	if m := model.Manifest(); m.Task == psi.Multiclass {
		outputs = len(m.Classes())
	}
	g := &gathering{Options: o.settle(outputs, len(model.Players())), model: model, manifest: model.Manifest()}
	g.sample, g.outcomes, g.profiles = newSample(g.Explained, g.Seed), newOutcomes(model), newProfiles(g.manifest)
	if err := g.checkBy(rows.Schema()); err != nil {
		return nil, err
	}
	if _, err := model.NoRows(psi.ExplainOptions{Game: o.Game, Reference: o.Reference}); err != nil {
		return nil, err // before any work
	}
	g.Progress("predicting all rows")
	for outcome, err := range model.Outcomes(ctx, observedSource{rows, g.see}) {
		if err != nil {
			return nil, err
		}
		g.outcomes.add(outcome)
	}
	if g.outcomes.rows == 0 {
		return nil, &table.Error{Row: -1, Message: "the table has no rows to report on", Remedy: "use a table with rows"}
	}
	return g.report(ctx)
}

// checkBy reports a missing By column before any work.
func (g *gathering) checkBy(schema *table.Schema) error {
	if g.By == "" || schema.Field(g.By) != nil {
		return nil
	}
	return &table.Error{Row: -1, Column: g.By, Message: "the table does not have this column, which should group the rows", Remedy: "check the spelling"}
}

// observedSource passes the rows of a source to an observer.
type observedSource struct {
	table.Source
	see func(*table.Table)
}

func (w observedSource) Next(ctx context.Context) (*table.Table, error) {
	t, err := w.Source.Next(ctx)
	if err == nil {
		w.see(t)
	}
	return t, err
}

func (g *gathering) see(t *table.Table) {
	g.sample.Add(t)
	for _, p := range g.profiles {
		if c := t.Column(p.Name); c != nil {
			p.add(c)
		}
	}
}

// report explains the drawn rows and assembles the report.
func (g *gathering) report(ctx context.Context) (*Report, error) {
	drawn, numbers := g.sample.Rows()
	g.Progress(fmt.Sprintf("explaining %s", prose.Count(drawn.Rows(), "row")))
	e, err := g.model.Explain(ctx, drawn.Source(), psi.ExplainOptions{Z: g.Z, Game: g.Game, Reference: g.Reference})
	if err != nil {
		return nil, err
	}
	columns := make([]*table.Column, len(g.manifest.Columns))
	for i, f := range g.manifest.Columns {
		columns[i] = drawn.Column(f.Name)
	}
	chosen := g.sample.draw(drawn.Rows(), g.Carried)
	paired := slices.Clone(chosen[:min(len(chosen), g.Paired)])
	slices.Sort(chosen)
	slices.Sort(paired)
	truth, err := g.truth(ctx, drawn.Select(chosen))
	if err != nil {
		return nil, err
	}
	r := &Report{
		Schema: Schema, Cover: g.titled("Report on " + g.manifest.Target), Model: modelOf(g.model, g.Model, e.Exact), Intervals: intervalsOf(e), Scale: e.Scale, NonNegative: e.NonNegative, Output: e.Outputs, Base: e.Base[:len(e.Outputs)],
		Data: Data{
			Name: g.Name, Rows: g.outcomes.rows, Labelled: g.outcomes.labelled, Explained: e.Rows, Carried: len(chosen), Paired: len(paired), Seed: g.Seed,
		},
		Players: playersOf(g.model), Performance: g.outcomes.performance(),
		Game: gameOf(g.model, e.Game, g.references()), Trust: g.trust(e), Calibration: g.outcomes.calibration(),
		Rows: rowsOfPage(e, columns, numbers, truth, chosen),
	}
	for k := range e.Outputs {
		r.Importances = append(r.Importances, importances(e, k))
	}
	r.By = g.by(e, drawn)
	order := overall(r.Importances)
	if r.Pairs, err = g.pairs(ctx, drawn, paired, chosen, order); err != nil {
		return nil, err
	}
	if r.Games, err = g.games(ctx, e, drawn, chosen); err != nil {
		return nil, err
	}
	if r.Pairs.Absent != "" {
		r.Data.Paired = 0
	}
	for i, p := range g.profiles {
		r.Columns = append(r.Columns, p.finish(columns[i]))
	}
	r.Associations = associations(columns, columnsOf(r.Players, order))
	r.Warnings = r.warnings(g.model.Warnings())
	r.Performance.Aside = r.showsValidation()
	r.Verdict = r.verdict(g.manifest.Suspects)
	return r, nil
}

// references returns the number of reference rows of the report's game.
func (g *gathering) references() int {
	if g.Reference == nil {
		return 0
	}
	return g.Reference.Rows()
}

// modelOf describes a model for readers; name is that of its file.
func modelOf(model *psi.Model, name string, exact bool) Model {
	m := model.Manifest()
	return Model{
		Name: name, Digest: model.Digest(), Task: m.Task, Target: m.Target, Classes: m.Classes(), Head: model.Head(), Exact: exact,
		Weights: model.WeightCount(), Weight: m.Weight, Members: m.Settings.Members, Settings: m.Settings, Calibrated: m.Calibration, Recalibrations: m.Recalibrations, Provenance: m.Provenance,
		Imported: m.Imported, Mixed: mixedOf(m.Mixture), made: madeOf(&m), trees: treesOf(&m) != nil,
	}
}

// truth returns the targets of some rows, or nil if the table has none.
func (g *gathering) truth(ctx context.Context, rows *table.Table) (Floats, error) {
	if g.outcomes.labelled == 0 {
		return nil, nil
	}
	truth := Floats{}
	for o, err := range g.model.Outcomes(ctx, rows.Source()) {
		if err != nil {
			return nil, err
		}
		truth = append(truth, o.Truth...)
	}
	return truth, nil
}

// playersOf returns the model's players with their columns.
func playersOf(m *psi.Model) []Player {
	manifest, columns := m.Manifest(), m.Columns()
	list := make([]Player, 0, len(m.Players()))
	for _, name := range m.Players() {
		p := Player{Name: name}
		for _, group := range manifest.Groups {
			if group.Name == name {
				for _, member := range group.Columns {
					p.Columns = append(p.Columns, slices.Index(columns, member))
				}
			}
		}
		if p.Columns == nil {
			p.Columns = []int{slices.Index(columns, name)}
		}
		list = append(list, p)
	}
	return list
}

// columnsOf returns the columns of players in their order.
func columnsOf(players []Player, order []int) []int {
	var list []int
	for _, d := range order {
		list = append(list, players[d].Columns...)
	}
	return list
}

func importances(e *explain.Explanation, output int) []Importance {
	list := make([]Importance, 0, len(e.Players))
	for _, im := range e.Importances(output, nil) {
		list = append(list, Importance{Player: im.Player, Mean: im.Mean, Low: im.Low, High: im.High, Spread: im.Spread, Observed: im.Observed})
	}
	return list
}

// overall sorts the players by importance, summed over outputs.
func overall(importances [][]Importance) []int {
	sum := make([]float64, len(importances[0]))
	order := make([]int, len(sum))
	for i := range order {
		order[i] = i
	}
	for _, list := range importances {
		for _, im := range list {
			sum[im.Player] += im.Mean
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case sum[a] > sum[b]:
			return -1
		case sum[a] < sum[b]:
			return 1
		}
		return 0
	})
	return order
}

// by compares importances between the values of a column.
func (g *gathering) by(e *explain.Explanation, drawn *table.Table) *By {
	if g.By == "" {
		return nil
	}
	by := &By{Column: g.By, Left: e.Rows, Cohorts: []Cohort{}}
	for _, c := range explain.Cohorts(drawn.Column(g.By)) {
		cohort := Cohort{Name: shorten(c.Name), Rows: len(c.Rows)}
		by.Left -= len(c.Rows)
		for k := range e.Outputs {
			means := make([]float64, len(e.Players))
			for _, im := range e.Importances(k, c.Rows) {
				means[im.Player] = im.Mean
			}
			cohort.Mean = append(cohort.Mean, means)
		}
		by.Cohorts = append(by.Cohorts, cohort)
	}
	return by
}

const (
	maxPairPlayers = 15 // players that fit into a picture of all pairs
	maxPairValues  = 6  // pairs that are shown row by row
)

// pairs explains some rows with interactions. rows and carried, the rows of the page, are indices among the drawn rows.
func (g *gathering) pairs(ctx context.Context, drawn *table.Table, rows, carried, order []int) (Pairs, error) {
	switch {
	case len(order) < 2:
		return Pairs{Absent: "The model has only one column, so there are no interactions."}, nil
	case g.model.Head() == learnedHead:
		return Pairs{Absent: "This model has the learned head, which does not compute interactions. Train with the exact head (Config.Head=exact)."}, nil
	case g.Paired < minPaired && len(rows) < len(carried):
		return Pairs{Absent: fmt.Sprintf("The model has %d columns: they have too many pairs to compute for a report.", len(order))}, nil
	}
	g.Progress(fmt.Sprintf("pairs of columns in %s", prose.Count(len(rows), "row")))
	e, err := g.model.Explain(ctx, drawn.Select(rows).Source(), psi.ExplainOptions{Interactions: true, NoDoubt: true, Game: g.Game, Reference: g.Reference})
	if err != nil {
		return Pairs{}, err
	}
	p := Pairs{Players: order[:min(len(order), maxPairPlayers)]}
	for _, row := range rows {
		p.Rows = append(p.Rows, slices.Index(carried, row))
	}
	n, outputs := len(e.Players), len(e.Outputs)
	for k := range e.Outputs {
		of := func(row, a, b int) float64 { return e.Interactions[((row*outputs+k)*n+a)*n+b] }
		var list []Pair
		for i, x := range p.Players {
			for _, y := range p.Players[i+1:] {
				pair := Pair{A: min(x, y), B: max(x, y)}
				for row := range e.Rows {
					v := of(row, x, y)
					pair.Size, pair.Mean = pair.Size+math.Abs(v)/float64(e.Rows), pair.Mean+v/float64(e.Rows)
				}
				list = append(list, pair)
			}
		}
		slices.SortStableFunc(list, func(a, b Pair) int { return cmp.Compare(b.Size, a.Size) })
		for i := range list[:min(len(list), maxPairValues)] {
			for row := range e.Rows {
				list[i].Values = append(list[i].Values, of(row, list[i].A, list[i].B))
			}
		}
		p.Outputs = append(p.Outputs, list)
	}
	return p, nil
}

// sampleStream is the second word of the seed of everything random.
const sampleStream = 0x7265706f7274

// sample holds rows drawn at random from all that were read.
type sample struct {
	*table.Sample
	rng *rand.Rand
}

func newSample(limit int, seed uint64) *sample {
	rng := rand.New(rand.NewPCG(seed, sampleStream))
	return &sample{table.NewSample(limit, rng), rng}
}

// draw draws some of n rows in random order.
func (s *sample) draw(n, some int) []int { return s.rng.Perm(n)[:min(n, some)] }
