package psi

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/psi-shapley/psi/eval"
	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/shapley"
	"github.com/psi-shapley/psi/table"
)

// Audit compares a model's attributions with Shapley values of the same model. The Shapley values are computed from the
// model's values of coalitions alone, without the head that produced the attributions. Measures that do not apply are
// nil.
type Audit struct {
	Schema     string `json:"schema"`
	Head       string `json:"head"`
	Method     string `json:"method"` // "exact": all coalitions; "permutation": sampled coalitions
	Rows       int    `json:"rows"`
	Coalitions int    `json:"coalitions"` // number of evaluated coalitions, over all rows

	RelativeRMSE        *float64 `json:"relative_rmse"`         // RMSE(f_d, φ_d) / RMS(φ_d) over rows and columns
	SubgameRelativeRMSE *float64 `json:"subgame_relative_rmse"` // the same for rows with hidden cells, against all coalitions of the remaining ones
	Correlation         *float64 `json:"correlation"`
	Top1                *float64 `json:"top1"`                 // share of rows that agree on the most important column
	Top3                *float64 `json:"top3"`                 // mean overlap of the three most important columns
	EfficiencyMax       *float64 `json:"efficiency_max"`       // largest |prediction − base − Σ attributions|, in standard deviations of the target, or in units of the score
	MeanAttributionMax  *float64 `json:"mean_attribution_max"` // largest |mean attribution| of a column, in standard deviations of the target
	StandardError       *float64 `json:"standard_error"`       // RMS standard error of φ_d / RMS(φ_d), if sampled
	Within3SE           *float64 `json:"within_3_se"`          // share of attributions within three standard errors, if sampled

	CoalitionsError []CoalitionError `json:"coalitions_error"` // nil if no target is known

	// LossImportance has one entry per player. It is absent if no target is known, and in files of older versions.
	LossImportance []LossImportance `json:"loss_importance,omitempty"`

	Players []PlayerAudit `json:"players"`
	Outputs []OutputAudit `json:"outputs"`

	// Prior is the prior of mode refined: how games, and the errors of the learned head's attributions, vary. Only the
	// audit at the end of training measures it.
	Prior *shapley.Prior `json:"prior,omitempty"`
}

// CoalitionError is the prediction error when only a share of the cells is known: RMSE for a number, LogLoss for
// classes.
type CoalitionError struct {
	Kept    float64  `json:"kept"`           // share of the cells that are known
	RMSE    *float64 `json:"rmse,omitempty"` // in the target's units
	LogLoss *float64 `json:"log_loss,omitempty"`
}

// PlayerAudit is the audit of one column or group of columns.
type PlayerAudit struct {
	Name            string   `json:"name"`
	RelativeRMSE    *float64 `json:"relative_rmse"`
	Correlation     *float64 `json:"correlation"`
	MeanAttribution float64  `json:"mean_attribution"` // in standard deviations of the target
}

// OutputAudit is the audit of one output.
type OutputAudit struct {
	Output       string   `json:"output"`
	RelativeRMSE *float64 `json:"relative_rmse"`
	Correlation  *float64 `json:"correlation"`

	// Importance is the mean |attribution| of each player, in the prediction's units. Servers compare later rows with
	// it to detect drift.
	Importance []float64 `json:"importance,omitempty"`
}

const auditSchema = "psi.audit/v1"

// plan sets the size of an audit.
type plan struct {
	rows     int
	pairs    int // pairs of permutations; 0 means all coalitions
	lossRows int // maximum number of rows for LossImportance
	prior    bool
}

const (
	defaultAuditRows  = 200
	defaultAuditPairs = 200
	minAuditPairs     = 10
	auditSample       = 4096 // rows for measures that need no coalitions
)

// Audit audits at most rows rows of a source, drawn at random with a fixed seed; 0 means 200. With at most 16 players
// it enumerates all coalitions, otherwise it samples permutations. The source is read to its end and not closed.
//
// If validation rows were chosen by a column (Provenance.ValidationBy) and the source has it, rows with the same value
// form one unit in the standard errors of LossImportance.
func (m *Model) Audit(ctx context.Context, source Source, rows int) (*Audit, error) {
	p := plan{rows: rows, lossRows: maxLossRows}
	if rows == 0 {
		p.rows = defaultAuditRows
	}
	if len(m.own.players) > shapley.MaxExact {
		p.pairs = defaultAuditPairs
	}
	if !m.config.HasWeights() {
		p = m.planWithin(auditWork, p.rows)
	}
	s, err := m.sample(ctx, source, max(p.rows, auditSample), anyRow)
	if err != nil {
		return nil, err
	}
	if s.rows == nil {
		return nil, &table.Error{Row: -1, Message: "there are no rows to audit", Remedy: "give a table with rows"}
	}
	return m.auditRows(ctx, s.rows, s.y, s.units, p)
}

// auditWork limits the audit of trees, whose values of coalitions cost more than a network's: about half a minute.
const auditWork = 1e10

// work is about the number of tree nodes, or of weights, that the value of a coalition takes.
func (m *Model) work() (sum int) {
	for _, member := range m.mixed {
		sum += member.work()
	}
	switch {
	case m.mixed != nil:
		return sum
	case m.ensemble != nil:
		return m.manifest.Imported.Nodes/2 + 1 // an absent column has two branches to follow
	}
	return m.WeightCount()/10 + 1
}

// planWithin returns the audit of so many rows, or fewer, that keeps within a limit of work. It enumerates coalitions
// if it can, otherwise it samples permutations.
func (m *Model) planWithin(limit float64, rows int) plan {
	players, perValue := len(m.own.players), float64(m.work())
	values := limit / perValue
	p := plan{rows: rows, lossRows: int(max(minLossRows, min(maxLossRows, values/float64(players+1))))}
	whole, subgame := math.Exp2(float64(players)), math.Exp2(float64(subgameOf(players)))
	if players <= shapley.MaxExact && values >= min(float64(rows), 20)*(whole+subgame) {
		p.rows = int(min(float64(rows), values/(whole+subgame)))
		return p
	}
	perPair := float64(2 * players)
	p.rows = int(max(5, min(float64(rows), values/(minAuditPairs*perPair+subgame))))
	p.pairs = int(max(minAuditPairs, min(defaultAuditPairs, (values/float64(p.rows)-subgame)/perPair)))
	return p
}

// auditStream is the second word of the seed of everything random in an audit.
const auditStream = 0x6175646974

// auditPlan limits the audit at the end of training to about a twentieth of the work of that many training steps. It
// counts work instead of time, so that the same training always writes the same file.
func auditPlan(steps, batch, players int) plan {
	const passes = 6 // per row and step: forward and backward, observed and masked
	budget := steps * batch * passes / 20
	subgame := 1 << subgameOf(players)
	lossRows := min(max(budget/(players+1), minLossRows), maxLossRows)
	if players <= shapley.MaxExact {
		if rows := budget / (1<<players + subgame); rows >= 30 {
			return plan{rows: min(rows, defaultAuditRows), lossRows: lossRows, prior: true}
		}
	}
	const pairs = 100
	return plan{rows: min(max(budget/(2*pairs*players+subgame), 5), defaultAuditRows), pairs: pairs, lossRows: lossRows, prior: true}
}

// auditRows audits rows drawn from a sample; y is NaN where the target is not known. Rows of the same unit may depend
// on each other; units is nil if all rows are independent.
func (m *Model) auditRows(ctx context.Context, sample *encode.Batch, y []float64, units []uint64, p plan) (*Audit, error) {
	p.rows = min(p.rows, sample.Rows)
	a := &Audit{Schema: auditSchema, Head: m.Head(), Method: "exact", Rows: p.rows}
	if p.pairs > 0 {
		a.Method = "permutation"
	}
	x, err := m.own.Pass(ctx, sample, form.Attributions)
	if err != nil {
		return nil, err
	}
	m.auditSums(a, x, sample)
	drawn := sample.Like(p.rows)
	for i, row := range rand.New(rand.NewPCG(4, auditStream)).Perm(sample.Rows)[:p.rows] {
		drawn.Set(i, sample, row)
	}
	fit := &priorFit{wanted: p.prior && !m.exact(), sampled: p.pairs > 0}
	if err := m.auditGames(ctx, a, drawn, p, fit); err != nil {
		return nil, err
	}
	if err := m.auditSubgames(ctx, a, drawn, fit); err != nil {
		return nil, err
	}
	if a.Prior, err = fit.prior(ctx, m, drawn); err != nil {
		return nil, err
	}
	if a.CoalitionsError, err = m.coalitionErrors(ctx, sample, y); err != nil {
		return nil, err
	}
	a.LossImportance, err = m.lossImportance(ctx, sample, y, units, p.lossRows)
	return a, err
}

// auditSums checks efficiency and mean attributions, which need no coalitions.
func (m *Model) auditSums(a *Audit, x *form.Answer, sample *encode.Batch) {
	d := len(m.own.players)
	a.Players = make([]PlayerAudit, d)
	worst, largest := 0.0, 0.0
	outputs := m.outputs()
	for _, name := range m.outputNames() {
		a.Outputs = append(a.Outputs, OutputAudit{Output: name, Importance: make([]float64, d)})
	}
	means := make([]float64, outputs*d)
	for line, v := range x.Value {
		rest := float64(v)
		for k, j := range m.own.places {
			phi := float64(x.Attributions[line*d+j])
			rest -= phi
			means[line%outputs*d+k] += phi / float64(sample.Rows)
			a.Outputs[line%outputs].Importance[k] += m.unit() * math.Abs(phi) / float64(sample.Rows)
		}
		worst = max(worst, math.Abs(rest))
	}
	for i, mean := range means {
		p := &a.Players[i%d]
		p.Name = m.own.players[i%d].name
		if mean *= m.auditUnit(); math.Abs(mean) >= math.Abs(p.MeanAttribution) {
			p.MeanAttribution = mean
		}
		largest = max(largest, math.Abs(mean))
	}
	worst *= m.auditUnit()
	a.EfficiencyMax, a.MeanAttributionMax = &worst, &largest
}

// auditUnit converts sums to the audit's units: standard deviations of a numeric target, which are the network's own,
// or the units of scores.
func (m *Model) auditUnit() float64 {
	if m.classes() {
		return m.unit()
	}
	return 1
}

// roundingOfGames is the rounding error of a Shapley value in single precision, relative to the largest of its row. A
// standard error below it is not meaningful.
const roundingOfGames = 1e-5

// agreement compares attributions with Shapley values over several rows.
type agreement struct {
	all          eval.Agreement
	players      []eval.Agreement
	outputs      []eval.Agreement
	first, three eval.TopOverlap

	squaredErrors, squares, within, count float64
}

// add takes in output c of a row; f are the attributions of the players present in the row.
func (g *agreement) add(c int, present []int, f []float64, phi *shapley.Values) {
	exact := phi.Of(c)
	size := 0.0
	for _, want := range exact {
		size = max(size, math.Abs(want))
	}
	for k, j := range present {
		got, want := f[k], exact[k]
		for _, to := range []*eval.Agreement{&g.all, &g.players[j], &g.outputs[c]} {
			to.Add(got, want)
		}
		se := phi.StandardError(c, k)
		g.squaredErrors += se * se
		g.squares += want * want
		if g.count++; math.Abs(got-want) <= 3*se+roundingOfGames*size {
			g.within++
		}
	}
	g.first.Add(f, exact)
	g.three.Add(f, exact)
}

// auditGames compares attributions with Shapley values.
func (m *Model) auditGames(ctx context.Context, a *Audit, rows *encode.Batch, p plan, fit *priorFit) error {
	x, err := m.own.Pass(ctx, rows, form.Attributions)
	if err != nil {
		return err
	}
	d, outputs := len(m.own.players), m.outputs()
	g := agreement{
		players: make([]eval.Agreement, d), outputs: make([]eval.Agreement, outputs),
		first: eval.TopOverlap{K: 1}, three: eval.TopOverlap{K: 3},
	}
	rng := rand.New(rand.NewPCG(1, auditStream))
	for i := range rows.Rows {
		present := m.own.RowGame(rows, i).Present()
		phi, err := m.shapleyValues(ctx, rows, i, p.pairs, rng, fit)
		if err != nil {
			return err
		}
		a.Coalitions += phi.Coalitions
		for c := range outputs {
			g.add(c, present, attributionsOf(x, i*outputs+c, d, present), phi)
		}
	}
	a.RelativeRMSE, a.Correlation = known(g.all.RelativeRMSE()), known(g.all.Correlation())
	a.Top1, a.Top3 = known(g.first.Share()), known(g.three.Share())
	if p.pairs > 0 {
		a.StandardError, a.Within3SE = known(math.Sqrt(g.squaredErrors/g.squares)), known(g.within/g.count)
	}
	for k, j := range m.own.places {
		a.Players[k].RelativeRMSE, a.Players[k].Correlation = known(g.players[j].RelativeRMSE()), known(g.players[j].Correlation())
	}
	for c := range a.Outputs {
		a.Outputs[c].RelativeRMSE, a.Outputs[c].Correlation = known(g.outputs[c].RelativeRMSE()), known(g.outputs[c].Correlation())
	}
	return nil
}

// attributionsOf returns the attributions of the present players from line i of [rows, C].
func attributionsOf(x *form.Answer, line, players int, present []int) []float64 {
	f := make([]float64, len(present))
	for k, j := range present {
		f[k] = float64(x.Attributions[line*players+j])
	}
	return f
}

// shapleyValues computes the Shapley values of row i among the players present in the row.
func (m *Model) shapleyValues(ctx context.Context, b *encode.Batch, i, pairs int, rng *rand.Rand, fit *priorFit) (*shapley.Values, error) {
	game := m.own.restricted(b, i)
	switch {
	case pairs > 0:
		phi, err := shapley.Permutation(ctx, game, pairs, rng)
		fit.reference(phi)
		return phi, err
	case fit.wanted:
		return fit.enumerate(ctx, m, b, i)
	}
	return shapley.Exact(ctx, game)
}

// subgameOf is the number of cells that a row keeps for the audit of its sub-game.
func subgameOf(cells int) int { return min(10, max(1, cells*2/3)) }

// auditSubgames hides players of rows and compares the attributions of the others with the Shapley values of the game
// among them.
func (m *Model) auditSubgames(ctx context.Context, a *Audit, whole *encode.Batch, fit *priorFit) error {
	rng := rand.New(rand.NewPCG(2, auditStream))
	rows := whole.Like(0)
	rows.Append(whole) // a copy, because cells will be hidden
	for i := range rows.Rows {
		players := m.own.RowGame(rows, i).Present()
		left := min(subgameOf(len(players)), len(players))
		for k, place := range rng.Perm(len(players)) {
			if k >= left {
				m.hidePlayer(rows, i, players[place])
			}
		}
	}
	x, err := m.own.Pass(ctx, rows, form.Attributions)
	if err != nil {
		return err
	}
	d, outputs := len(m.own.players), m.outputs()
	var all eval.Agreement
	if !fit.sampled {
		fit = &priorFit{} // the whole games gave the better estimate
	}
	for i := range rows.Rows {
		present := m.own.RowGame(rows, i).Present()
		phi, err := m.shapleyValues(ctx, rows, i, 0, nil, fit)
		if err != nil {
			return err
		}
		a.Coalitions += phi.Coalitions
		for c := range outputs {
			for k, f := range attributionsOf(x, i*outputs+c, d, present) {
				all.Add(f, phi.At(c, k))
			}
		}
	}
	a.SubgameRelativeRMSE = known(all.RelativeRMSE())
	return nil
}

// hidePlayer hides the cells of a player of the network.
func (m *Model) hidePlayer(b *encode.Batch, row, networkPlayer int) {
	p := m.own.players[slices.Index(m.own.places, networkPlayer)]
	for _, j := range p.columns {
		b.Observed[row*b.Players()+m.places[j]] = 0
	}
}

// coalitionErrors measures predictions that know only a share of the cells of each row.
func (m *Model) coalitionErrors(ctx context.Context, sample *encode.Batch, y []float64) ([]CoalitionError, error) {
	if !slices.ContainsFunc(y, func(v float64) bool { return !math.IsNaN(v) }) {
		return nil, nil
	}
	rng := rand.New(rand.NewPCG(3, auditStream))
	var list []CoalitionError
	for _, kept := range keptShares() {
		p, err := m.predict(ctx, keepCells(rng, sample, kept), 0)
		if err != nil {
			return nil, err
		}
		all := m.NewEvaluator()
		for i, v := range y {
			if !math.IsNaN(v) {
				all.add(p, i, v, 1)
			}
		}
		e := CoalitionError{Kept: kept}
		switch m.manifest.Task {
		case Binary:
			e.LogLoss = known(all.binary.LogLoss())
		case Multiclass:
			e.LogLoss = known(all.multiclass.LogLoss())
		default:
			e.RMSE = known(all.regression.RMSE())
		}
		list = append(list, e)
	}
	return list, nil
}

// known returns x, or nil if x is NaN.
func known(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

// Text writes the audit as plain text for people.
func (a *Audit) Text(w io.Writer) error {
	var text strings.Builder
	how := "all coalitions of the columns"
	if a.Method != "exact" {
		how = "sampled orders of the columns"
	}
	fmt.Fprintf(&text, "audit of %d rows against %s (%d model values)\n\n", a.Rows, how, a.Coalitions)
	line := func(name string, value *float64, format, meaning string) {
		if value != nil {
			fmt.Fprintf(&text, "  %-24s %-9s %s\n", name, fmt.Sprintf(format, *value), meaning)
		}
	}
	line("relative_rmse", a.RelativeRMSE, "%.2g", "error of attributions, beside their size (0: exact for the model)")
	line("subgame_relative_rmse", a.SubgameRelativeRMSE, "%.2g", "the same with cells taken away from the rows")
	line("correlation", a.Correlation, "%.6f", "of attributions and Shapley values")
	line("top1", a.Top1, "%.3f", "share of rows that agree on the most important column")
	line("top3", a.Top3, "%.3f", "overlap of the three most important columns")
	line("efficiency_max", a.EfficiencyMax, "%.2g", "largest gap between prediction and base + attributions, in the target's std or the score's units")
	line("mean_attribution_max", a.MeanAttributionMax, "%.2g", "largest mean attribution of a column, in the same")
	line("standard_error", a.StandardError, "%.2g", "of the sampled Shapley values, beside their size")
	line("within_3_se", a.Within3SE, "%.4f", "share of attributions within three standard errors")
	for _, c := range a.CoalitionsError {
		meaning := "error of predictions when the other cells are missing"
		if c.Kept == 1 {
			meaning = "error of predictions from all cells there are"
		}
		line(fmt.Sprintf("rmse, %.0f %% of cells", 100*c.Kept), c.RMSE, "%.4g", meaning)
		line(fmt.Sprintf("log_loss, %.0f %% of cells", 100*c.Kept), c.LogLoss, "%.4g", meaning)
	}
	if err := a.writeLossImportance(&text); err != nil {
		return err
	}
	_, err := io.WriteString(w, text.String())
	return err
}
