package psi

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/psi-shapley/psi/eval"
	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/network"
	"github.com/psi-shapley/psi/shapley"
	"github.com/psi-shapley/psi/table"
)

// Audit compares a model's attributions with the Shapley values of the same model,
// computed without the head that gave the attributions: from the model's values of
// coalitions alone. A measure that does not apply is nil.
type Audit struct {
	Schema     string `json:"schema"`
	Head       string `json:"head"`
	Method     string `json:"method"` // "exact": all coalitions; "permutation": sampled ones
	Rows       int    `json:"rows"`
	Coalitions int    `json:"coalitions"` // evaluated, of all rows

	RelativeRMSE        *float64 `json:"relative_rmse"`         // RMSE(f_d, φ_d) / RMS(φ_d) over rows and columns
	SubgameRelativeRMSE *float64 `json:"subgame_relative_rmse"` // the same of rows with cells taken away, against all coalitions of the rest
	Correlation         *float64 `json:"correlation"`
	Top1                *float64 `json:"top1"`                 // share of rows that agree on the most important column
	Top3                *float64 `json:"top3"`                 // mean overlap of the three most important
	EfficiencyMax       *float64 `json:"efficiency_max"`       // largest |prediction − base − Σ attributions|, in standard deviations of the target
	MeanAttributionMax  *float64 `json:"mean_attribution_max"` // largest |mean attribution| of a column, in standard deviations of the target
	StandardError       *float64 `json:"standard_error"`       // RMS standard error of φ_d / RMS(φ_d), if sampled
	Within3SE           *float64 `json:"within_3_se"`          // share of attributions within three standard errors, if sampled

	CoalitionsError []CoalitionError `json:"coalitions_error"` // nil if no target is known
	Players         []PlayerAudit    `json:"players"`
	Outputs         []OutputAudit    `json:"outputs"`
}

// CoalitionError is the error of predictions from some of the cells.
type CoalitionError struct {
	Kept float64 `json:"kept"` // share of the cells
	RMSE float64 `json:"rmse"` // in the target's units
}

// PlayerAudit is the audit of one column.
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
}

const auditSchema = "psi.audit/v1"

// plan says how much an audit does.
type plan struct {
	rows  int
	pairs int // of permutations; 0 means all coalitions
}

const (
	usualAuditRows  = 200
	usualAuditPairs = 200
	auditSample     = 4096 // rows for what needs no coalitions of its own
)

// Audit audits some rows of a source, 200 if rows is 0.
func (m *Model) Audit(ctx context.Context, source Source, rows int) (*Audit, error) {
	p := plan{rows: rows}
	if rows == 0 {
		p.rows = usualAuditRows
	}
	if len(m.players) > shapley.MaxExact {
		p.pairs = usualAuditPairs
	}
	sample, y, err := m.sample(ctx, source, max(p.rows, auditSample))
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.auditRows(ctx, sample, y, p)
}

// sample draws rows of a source, with their targets if it has them.
func (m *Model) sample(ctx context.Context, source Source, most int) (rows *encode.Batch, y []float64, err error) {
	rng := rand.New(rand.NewPCG(0, auditStream))
	seen := 0
	labelled := true
	for c, err := range m.chunks(ctx, source, span{}, nil) {
		if err != nil {
			return nil, nil, err
		}
		if rows == nil {
			rows = encode.NewBatch(0, c.batch.Numeric, c.batch.Categorical)
		}
		target := c.table.Column(m.manifest.Target)
		labelled = labelled && target != nil && len(target.Numbers) == c.batch.Rows
		for i := range c.batch.Rows {
			// Reservoir sampling: row number s stays with probability most/s.
			at := seen
			if seen++; seen > most {
				if at = rng.IntN(seen); at >= most {
					continue
				}
			} else {
				rows.Append(encode.NewBatch(1, rows.Numeric, rows.Categorical))
				y = append(y, 0)
			}
			rows.Set(at, c.batch, i)
			y[at] = math.NaN()
			if labelled && target.Observed[i] {
				y[at] = target.Numbers[i]
			}
		}
	}
	if seen == 0 {
		return nil, nil, &table.Error{Row: -1, Message: "there are no rows to audit", Remedy: "give a table with rows"}
	}
	return rows, y, nil
}

// auditStream is the second word of the seed of all that is random in an audit.
const auditStream = 0x6175646974

// auditPlan keeps the audit at the end of a training to about a twentieth of the work of
// the training, of that many steps. It counts work, not time, so that one training gives one file.
func auditPlan(steps, batch, players int) plan {
	const passes = 6 // of a row in a step: forward and backward, as observed and masked
	budget := steps * batch * passes / 20
	subgame := 1 << subgameOf(players)
	if players <= shapley.MaxExact {
		if rows := budget / (1<<players + subgame); rows >= 30 {
			return plan{rows: min(rows, usualAuditRows)}
		}
	}
	const pairs = 100
	return plan{rows: min(max(budget/(2*pairs*players+subgame), 5), usualAuditRows), pairs: pairs}
}

// auditRows audits some rows of a sample, drawn from it; y may hold NaN for targets that are not
// known.
func (m *Model) auditRows(ctx context.Context, sample *encode.Batch, y []float64, p plan) (*Audit, error) {
	p.rows = min(p.rows, sample.Rows)
	a := &Audit{Schema: auditSchema, Head: m.Head(), Method: "exact", Rows: p.rows}
	if p.pairs > 0 {
		a.Method = "permutation"
	}
	x, err := m.ensemble.Explain(ctx, sample)
	if err != nil {
		return nil, err
	}
	m.auditSums(a, x, sample)
	drawn := encode.NewBatch(p.rows, sample.Numeric, sample.Categorical)
	for i, row := range rand.New(rand.NewPCG(4, auditStream)).Perm(sample.Rows)[:p.rows] {
		drawn.Set(i, sample, row)
	}
	if err := m.auditGames(ctx, a, drawn, p); err != nil {
		return nil, err
	}
	if err := m.auditSubgames(ctx, a, drawn); err != nil {
		return nil, err
	}
	a.CoalitionsError, err = m.coalitionErrors(ctx, sample, y)
	return a, err
}

// auditSums checks what needs the attributions alone.
func (m *Model) auditSums(a *Audit, x *network.Answer, sample *encode.Batch) {
	d := sample.Players()
	a.Players = make([]PlayerAudit, d)
	worst, largest := 0.0, 0.0
	for i, v := range x.Value {
		rest := float64(v)
		for k, j := range m.players {
			phi := float64(x.Attributions[i*d+j])
			rest -= phi
			a.Players[k].MeanAttribution += phi / float64(sample.Rows)
		}
		worst = max(worst, math.Abs(rest))
	}
	for k := range a.Players {
		a.Players[k].Name = m.manifest.Columns[k].Name
		largest = max(largest, math.Abs(a.Players[k].MeanAttribution))
	}
	a.EfficiencyMax, a.MeanAttributionMax = &worst, &largest
}

// roundingOfGames is what single precision may add to a Shapley value, beside the largest
// of its row: a standard error below it says nothing.
const roundingOfGames = 1e-5

// auditGames compares attributions with Shapley values.
func (m *Model) auditGames(ctx context.Context, a *Audit, rows *encode.Batch, p plan) error {
	x, err := m.ensemble.Explain(ctx, rows)
	if err != nil {
		return err
	}
	d := rows.Players()
	var all eval.Agreement
	byPlayer := make([]eval.Agreement, d)
	first, three := eval.TopOverlap{K: 1}, eval.TopOverlap{K: 3}
	var squaredErrors, squares, within, count float64
	rng := rand.New(rand.NewPCG(1, auditStream))
	for i := range rows.Rows {
		players := present(rows, i)
		phi, err := m.shapleyValues(ctx, rows, i, players, p.pairs, rng)
		if err != nil {
			return err
		}
		a.Coalitions += phi.Coalitions
		size := 0.0
		for k := range players {
			size = max(size, math.Abs(phi.At(0, k)))
		}
		var f, exact []float64
		for k, j := range players {
			got, want := float64(x.Attributions[i*d+j]), phi.At(0, k)
			f, exact = append(f, got), append(exact, want)
			all.Add(got, want)
			byPlayer[j].Add(got, want)
			se := phi.StandardError(0, k)
			squaredErrors += se * se
			squares += want * want
			if count++; math.Abs(got-want) <= 3*se+roundingOfGames*size {
				within++
			}
		}
		first.Add(f, exact)
		three.Add(f, exact)
	}
	a.RelativeRMSE, a.Correlation = known(all.RelativeRMSE()), known(all.Correlation())
	a.Top1, a.Top3 = known(first.Share()), known(three.Share())
	if p.pairs > 0 {
		a.StandardError, a.Within3SE = known(math.Sqrt(squaredErrors/squares)), known(within/count)
	}
	for k, j := range m.players {
		a.Players[k].RelativeRMSE, a.Players[k].Correlation = known(byPlayer[j].RelativeRMSE()), known(byPlayer[j].Correlation())
	}
	a.Outputs = []OutputAudit{{m.manifest.Target, a.RelativeRMSE, a.Correlation}}
	return nil
}

// shapleyValues are those of the game of row i among the given players.
func (m *Model) shapleyValues(ctx context.Context, b *encode.Batch, i int, among []int, pairs int, rng *rand.Rand) (*shapley.Values, error) {
	game := shapley.Restrict(m.ensemble.RowGame(b, i), among)
	if pairs > 0 {
		return shapley.Permutation(ctx, game, pairs, rng)
	}
	return shapley.Exact(ctx, game)
}

// subgameOf is how many of a row's cells are left for the audit of its sub-game.
func subgameOf(cells int) int { return min(10, max(1, cells*2/3)) }

// auditSubgames takes cells away from rows and compares their attributions with the
// Shapley values of the game among the rest.
func (m *Model) auditSubgames(ctx context.Context, a *Audit, whole *encode.Batch) error {
	rng := rand.New(rand.NewPCG(2, auditStream))
	rows := encode.NewBatch(0, whole.Numeric, whole.Categorical)
	rows.Append(whole) // a copy: cells will be taken away
	d := rows.Players()
	for i := range rows.Rows {
		players := present(rows, i)
		left := min(subgameOf(len(players)), len(players))
		for k, place := range rng.Perm(len(players)) {
			if k >= left {
				rows.Observed[i*d+players[place]] = 0
			}
		}
	}
	x, err := m.ensemble.Explain(ctx, rows)
	if err != nil {
		return err
	}
	var all eval.Agreement
	for i := range rows.Rows {
		players := present(rows, i)
		phi, err := m.shapleyValues(ctx, rows, i, players, 0, nil)
		if err != nil {
			return err
		}
		a.Coalitions += phi.Coalitions
		for k, j := range players {
			all.Add(float64(x.Attributions[i*d+j]), phi.At(0, k))
		}
	}
	a.SubgameRelativeRMSE = known(all.RelativeRMSE())
	return nil
}

// coalitionErrors are the errors of predictions from a share of the cells of each row.
func (m *Model) coalitionErrors(ctx context.Context, sample *encode.Batch, y []float64) ([]CoalitionError, error) {
	rng := rand.New(rand.NewPCG(3, auditStream))
	var list []CoalitionError
	for _, kept := range []float64{0.25, 0.5, 0.75, 1} {
		masks := make([]float32, len(sample.Observed))
		for i, seen := range sample.Observed {
			if rng.Float64() < kept {
				masks[i] = seen
			}
		}
		v, err := m.ensemble.Coalitions(ctx, sample, masks, 1)
		if err != nil {
			return nil, err
		}
		sum, n := 0.0, 0
		for i, value := range v {
			if gap := m.manifest.Scale.Decode(value) - y[i]; !math.IsNaN(gap) {
				sum += gap * gap
				n++
			}
		}
		if n == 0 {
			return nil, nil
		}
		list = append(list, CoalitionError{kept, math.Sqrt(sum / float64(n))})
	}
	return list, nil
}

// present lists the players that row i has a cell of.
func present(b *encode.Batch, i int) []int {
	var players []int
	d := b.Players()
	for j, seen := range b.Observed[i*d : (i+1)*d] {
		if seen != 0 {
			players = append(players, j)
		}
	}
	return players
}

// known is x, or nil if it is not a number.
func known(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}
