package psi

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/psi-shapley/psi/eval"
	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/prose"
)

// LossImportance is the mean decrease of the loss of a row when a column (or group) becomes known: the mean of
//
//	δ_id = loss(x_S) − loss(x_{S∪d})
//
// over the rows i that have the column d. S is the set of columns that precede d in a random order of the row's known
// columns (SAGE: Covert, Lundberg and Lee, 2020). The loss of a number is the squared error, in squared units of the
// target. The loss of classes is the log loss of calibrated probabilities. For each row, Σ_d δ_id = loss(nothing known)
// − loss(row). Rows are not weighted. Measures that do not apply are nil.
type LossImportance struct {
	Player        string   `json:"player"`
	Mean          *float64 `json:"mean"`
	StandardError *float64 `json:"standard_error"`  // over rows, or over units if a column chose the validation rows
	P             *float64 `json:"p"`               // p-value of the one-sided test that the mean is above 0
	Found         bool     `json:"found"`           // above 0 at a false discovery rate of 5 % over all players (Benjamini and Hochberg)
	Rows          int      `json:"rows"`            // rows in which the player is known
	Units         int      `json:"units,omitempty"` // groups of dependent rows among them, if a column identifies these
}

const (
	falseDiscoveries = 0.05 // expected share of false discoveries

	maxLossRows = 2000
	minLossRows = 100 // during training, whatever the budget of the audit
)

// lossImportance measures LossImportance on at most the given number of rows with a known target, drawn from a sample.
// It returns nil if there are no such rows.
func (m *Model) lossImportance(ctx context.Context, sample *encode.Batch, y []float64, units []uint64, limit int) ([]LossImportance, error) {
	var chosen []int
	for _, i := range rand.New(rand.NewPCG(5, auditStream)).Perm(sample.Rows) {
		if !math.IsNaN(y[i]) && len(chosen) < limit {
			chosen = append(chosen, i)
		}
	}
	if len(chosen) == 0 {
		return nil, nil
	}
	rows, targets := sample.Like(len(chosen)), make([]float64, len(chosen))
	for k, i := range chosen {
		rows.Set(k, sample, i)
		targets[k] = y[i]
	}
	drops, err := m.lossDrops(ctx, rows, targets)
	if err != nil {
		return nil, err
	}
	d := len(m.own.players)
	list, p := make([]LossImportance, d), make([]float64, d)
	for j := range list {
		var delta []float64
		var of []uint64 // unit of each row of delta
		for k, i := range chosen {
			if v := drops[k*d+j]; !math.IsNaN(v) {
				delta = append(delta, v)
				if units != nil {
					of = append(of, units[i])
				}
			}
		}
		e := eval.EstimateMean(delta, of)
		p[j] = e.PositiveP()
		if units == nil {
			e.Units = 0
		}
		list[j] = LossImportance{Player: m.own.players[j].name, Mean: known(e.Mean), StandardError: known(e.StandardError), P: known(p[j]), Rows: e.Rows, Units: e.Units}
	}
	for j, found := range eval.Discoveries(p, falseDiscoveries) {
		list[j].Found = found
	}
	return list, nil
}

// lossDrops returns δ [rows, players], NaN where a player is missing. It evaluates the rows once per player and once
// more.
func (m *Model) lossDrops(ctx context.Context, b *encode.Batch, y []float64) ([]float64, error) {
	rng := rand.New(rand.NewPCG(6, auditStream))
	d := len(m.own.players)
	orders := make([][]int, b.Rows)
	for i := range orders {
		orders[i] = slices.DeleteFunc(rng.Perm(d), func(j int) bool { return !m.has(b, i, j) })
	}
	part := *b
	part.Observed = make([]float32, len(b.Observed))
	before, err := m.losses(ctx, &part, y)
	if err != nil {
		return nil, err
	}
	drops := slices.Repeat([]float64{math.NaN()}, b.Rows*d)
	for k := range d {
		for i, order := range orders {
			if k < len(order) {
				m.reveal(&part, b, i, order[k])
			}
		}
		after, err := m.losses(ctx, &part, y)
		if err != nil {
			return nil, err
		}
		for i, order := range orders {
			if k < len(order) {
				drops[i*d+order[k]] = before[i] - after[i]
			}
		}
		before = after
	}
	return drops, nil
}

// has reports whether a row has a cell of a player.
func (m *Model) has(b *encode.Batch, row, player int) bool {
	return slices.ContainsFunc(m.own.players[player].columns, func(j int) bool { return b.Observed[row*b.Players()+m.places[j]] != 0 })
}

// reveal copies the observed cells of a player from whole to part.
func (m *Model) reveal(part, whole *encode.Batch, row, player int) {
	for _, j := range m.own.players[player].columns {
		at := row*whole.Players() + m.places[j]
		part.Observed[at] = whole.Observed[at]
	}
}

// losses returns the loss of each row: its squared error in squared units of the target, or its log loss.
func (m *Model) losses(ctx context.Context, b *encode.Batch, y []float64) ([]float64, error) {
	depth := Values
	if m.classes() {
		depth = Spread
	}
	x, err := m.pass(ctx, depth, b)
	if err != nil {
		return nil, err
	}
	p := m.prediction(x, b, 0)
	losses := make([]float64, b.Rows)
	for i, v := range y {
		if m.classes() {
			losses[i] = -math.Log(max(m.probabilityOf(p.Probability, i, float32(v)), 1e-15))
		} else {
			losses[i] = square(p.Mean[i] - v)
		}
	}
	return losses, nil
}

// Loss returns the name of the loss behind LossImportance: "squared error" or "log loss".
func (a *Audit) Loss() string {
	if len(a.CoalitionsError) > 0 && a.CoalitionsError[0].LogLoss != nil {
		return "log loss"
	}
	return "squared error"
}

// SortedLossImportance returns LossImportance in descending order of the mean.
func (a *Audit) SortedLossImportance() []LossImportance {
	size := func(x LossImportance) float64 {
		if x.Mean == nil {
			return math.Inf(-1)
		}
		return *x.Mean
	}
	list := slices.Clone(a.LossImportance)
	slices.SortStableFunc(list, func(x, y LossImportance) int { return cmp.Compare(size(y), size(x)) })
	return list
}

// writeLossImportance lists at most 15 players.
func (a *Audit) writeLossImportance(text *strings.Builder) error {
	const limit = 15
	list := a.SortedLossImportance()
	if len(list) == 0 {
		return nil
	}
	over := ""
	if list[0].Units > 0 {
		over = " over groups of rows"
	}
	fmt.Fprintf(text, "\nimportance in loss: how much a column lowers the %s of a row, ± one standard error%s\n", a.Loss(), over)
	var lines strings.Builder
	for _, x := range list[:min(limit, len(list))] {
		fmt.Fprintf(&lines, "  %s\t", prose.Printable(x.Player))
		switch {
		case x.Mean == nil:
			lines.WriteString("not measured\n")
		case x.P == nil || x.StandardError == nil:
			fmt.Fprintf(&lines, "%.3g\ttoo few rows for a standard error\n", *x.Mean)
		case x.Found:
			fmt.Fprintf(&lines, "%.3g ± %.2g\tp %.2g\tfound\n", *x.Mean, *x.StandardError, *x.P)
		default:
			fmt.Fprintf(&lines, "%.3g ± %.2g\tp %.2g\n", *x.Mean, *x.StandardError, *x.P)
		}
	}
	t := tabwriter.NewWriter(text, 0, 0, 2, ' ', 0)
	if _, err := t.Write([]byte(lines.String())); err != nil {
		return err
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if more := len(list) - limit; more > 0 {
		found := 0
		for _, x := range list[limit:] {
			if x.Found {
				found++
			}
		}
		fmt.Fprintf(text, "  and %d more, %d of them found\n", more, found)
	}
	return nil
}
