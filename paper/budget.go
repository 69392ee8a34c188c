package main

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/plot/vg"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/shapley"
	"github.com/psi-shapley/psi/table"
)

func budgetItem() Item {
	return Item{
		Name: "BUDGET", Title: "what an attribution costs, beside sampling",
		Claim: "Beyond the paper, which compares with no estimate of the same game: how near do attributions come to the model's Shapley values, beside estimates of them from as many evaluations?",
		Protocol: "california, bike and adult (the first 5,000 training rows each, fold 0, default settings); 200 test rows without gaps, evenly spread over the fold, all 2^D coalitions of each evaluated, so that φ is known. Of the learned head's game: permutation sampling; KernelSHAP " +
			"(pairs of a coalition and its complement, constrained least squares, coalitions drawn by the Shapley kernel), and KernelSHAP as the library shap has it (whole sizes first, the rest drawn), mean of 5 draws, seed 5; the head's own f_d from one evaluation; " +
			"mode refined with that many evaluations, whose prior was measured by the audit at the end of training, on validation rows. Error is RMSE over RMS φ. Coverage is the share of φ_d within 1.645 standard errors. The exact head of california needs no estimate of its own game.",
		Run: runBudget,
	}
}

// perColumn are evaluations of a row, for each column.
var perColumn = []int{1, 2, 4, 8, 16, 32, 64}

// estimates are what ways to attributions give, by perColumn; errors are relative to the size of φ.
type estimates struct {
	Columns     int       `json:"columns"`
	Rows        int       `json:"rows"`
	Head        float64   `json:"head"` // f_d of the model
	Permutation []float64 `json:"permutation"`
	Kernel      []float64 `json:"kernel"`
	Whole       []float64 `json:"whole"` // KernelSHAP, whole sizes first
	Refined     []float64 `json:"refined"`
	Coverage    []float64 `json:"coverage"`

	Pairs         float64 `json:"pairs"` // error of refined interactions, at 4 evaluations for each column
	PairsCoverage float64 `json:"pairs_coverage"`
	Seconds       float64 `json:"seconds"` // of 1,000 rows refined by 4 evaluations for each column
}

func measureBudget(ctx context.Context, f *Fitted) (estimates, error) {
	const rows, draws = 200, 5
	rowsOf := whole(f, rows)
	values, err := allValues(ctx, f, rowsOf)
	if err != nil {
		return estimates{}, err
	}
	source := func() *table.Table { return f.Set.Table.Select(rowsOf) }
	own, err := f.Explain(ctx, source().Source(), psi.ExplainOptions{})
	if err != nil {
		return estimates{}, err
	}
	d := len(own.Players)
	out := estimates{Columns: d, Rows: len(rowsOf)}
	games := make([]shapley.GameFunc, len(values))
	var phi []float64
	for i, v := range values {
		games[i] = gameOf(v, d)
		exact, err := shapley.Exact(ctx, games[i])
		if err != nil {
			return out, err
		}
		phi = append(phi, exact.Phi...)
	}
	out.Head = rmse(own.Mean, phi) / size(phi)
	if f.Head() == "exact" {
		return out, nil
	}
	rng := rand.New(rand.NewPCG(5, 0))
	for _, times := range perColumn {
		budget := times * d
		for _, way := range []struct {
			to       *[]float64
			estimate func(v []float64, d, budget int, rng *rand.Rand) []float64
		}{{&out.Permutation, byPermutation}, {&out.Kernel, byKernel}, {&out.Whole, byWholeSizes}} {
			squares := 0.0
			for i, v := range values {
				for range draws {
					squares += math.Pow(rmse(way.estimate(v, d, budget, rng), phi[i*d:(i+1)*d]), 2) / float64(draws*len(values))
				}
			}
			*way.to = append(*way.to, math.Sqrt(squares)/size(phi))
		}
		refined, err := f.Explain(ctx, source().Source(), psi.ExplainOptions{Mode: explain.Refined, Budget: budget})
		if err != nil {
			return out, err
		}
		out.Refined = append(out.Refined, rmse(refined.Mean, phi)/size(phi))
		out.Coverage = append(out.Coverage, covered(refined.Mean, phi, refined.StandardError))
	}
	if err := out.measurePairs(ctx, f, rowsOf[:min(50, len(rowsOf))], games); err != nil {
		return out, err
	}
	thousand := f.Set.Table.Select(f.Test[:min(1000, len(f.Test))])
	start := time.Now()
	_, err = f.Explain(ctx, thousand.Source(), psi.ExplainOptions{Mode: explain.Refined})
	out.Seconds = time.Since(start).Seconds() * 1000 / float64(thousand.Rows())
	return out, err
}

// measurePairs compares refined interactions with those of all coalitions.
func (out *estimates) measurePairs(ctx context.Context, f *Fitted, rows []int, games []shapley.GameFunc) error {
	refined, err := f.Explain(ctx, f.Set.Table.Select(rows).Source(), psi.ExplainOptions{Mode: explain.Refined, Interactions: true})
	if err != nil {
		return err
	}
	d := out.Columns
	var got, want, errors []float64
	for i := range rows {
		x, err := shapley.Interactions(ctx, games[i])
		if err != nil {
			return err
		}
		for a := range d {
			for b := range a {
				at := (i*d+a)*d + b
				got, want, errors = append(got, refined.Interactions[at]), append(want, x.At(0, a, b)), append(errors, refined.InteractionError[at])
			}
		}
	}
	out.Pairs, out.PairsCoverage = rmse(got, want)/size(want), covered(got, want, errors)
	return nil
}

// covered is the share of estimates within 1.645 standard errors of the truth.
func covered(got, want, errors []float64) float64 {
	within := 0
	for i := range got {
		// what single precision adds is no error of the estimate
		if math.Abs(got[i]-want[i]) <= 1.645*errors[i]+1e-6*math.Abs(want[i]) {
			within++
		}
	}
	return float64(within) / float64(len(got))
}

func gameOf(v []float64, d int) shapley.GameFunc {
	return shapley.GameFunc{N: d, V: func(members []int) float64 {
		s := 0
		for _, j := range members {
			s |= 1 << j
		}
		return v[s]
	}}
}

// whole are test rows that have all cells, evenly spread over the fold, for neighbours in a file are alike.
func whole(f *Fitted, most int) []int {
	columns := f.Set.Table.Columns[:len(f.Set.Table.Columns)-1]
	var full []int
	for _, row := range f.Test {
		if !slices.ContainsFunc(columns, func(c *table.Column) bool { return !c.Observed[row] }) {
			full = append(full, row)
		}
	}
	most = min(most, len(full))
	rows := make([]int, most)
	for i := range rows {
		rows[i] = full[i*len(full)/most]
	}
	return rows
}

// allValues are the predictions of every coalition of each row, in the order of the model's players.
func allValues(ctx context.Context, f *Fitted, rows []int) ([][]float64, error) {
	d := len(f.Set.Table.Columns) - 1
	all := make([][]float64, len(rows))
	for k, row := range rows {
		copies := make([]int, 1<<d)
		for s := range copies {
			copies[s] = row
		}
		t := f.Set.Table.Select(copies)
		for c, column := range t.Columns[:d] {
			for s := range copies {
				if s>>c&1 == 1 {
					continue
				}
				column.Observed[s] = false
				if column.Kind == table.Category {
					column.Codes[s] = -1
				} else {
					column.Numbers[s] = 0
				}
			}
		}
		p, err := f.Predict(ctx, t.Source())
		if err != nil {
			return nil, err
		}
		all[k] = p.Mean
	}
	return all, nil
}

// byPermutation averages contributions along random orders; an order costs d − 1 evaluations beyond those of nobody and all.
func byPermutation(v []float64, d, budget int, rng *rand.Rand) []float64 {
	orders := max(1, (budget-2)/(d-1))
	phi := make([]float64, d)
	for range orders {
		s := 0
		for _, p := range rng.Perm(d) {
			phi[p] += (v[s|1<<p] - v[s]) / float64(orders)
			s |= 1 << p
		}
	}
	return phi
}

// byKernel draws coalitions by the kernel, each with its complement, so that all count alike.
func byKernel(v []float64, d, budget int, rng *rand.Rand) []float64 {
	list := make([]weighed, 0, budget)
	for range (budget - 2) / 2 {
		s := drawn(d, 1, rng)
		list = append(list, weighed{s, 1}, weighed{1<<d - 1 ^ s, 1})
	}
	return regressed(v, d, list)
}

// byWholeSizes takes all coalitions of a size and of its complements while they can be paid for, the smallest first, each
// with its weight, and draws the rest.
func byWholeSizes(v []float64, d, budget int, rng *rand.Rand) []float64 {
	left, open, members := budget-2, 0.0, 1
	weight := func(k int) float64 { return 1 / float64(k*(d-k)) }
	var list []weighed
	for ; members <= d/2; members++ {
		var some []weighed
		for s := range 1 << d {
			if k := bits.OnesCount(uint(s)); k == members || k == d-members {
				some = append(some, weighed{s: s})
			}
		}
		sizes := 2.0
		if 2*members == d {
			sizes = 1
		}
		if len(some) > left {
			break
		}
		for _, x := range some {
			list = append(list, weighed{x.s, sizes * weight(members) / float64(len(some))})
		}
		left -= len(some)
	}
	for k := members; k <= d-members; k++ {
		open += weight(k)
	}
	if members <= d/2 {
		for range left / 2 {
			s, w := drawn(d, members, rng), open/float64(left/2*2)
			list = append(list, weighed{s, w}, weighed{1<<d - 1 ^ s, w})
		}
	}
	return regressed(v, d, list)
}

// weighed is a coalition and how much it counts.
type weighed struct {
	s int
	w float64
}

// drawn is a coalition by the kernel, of least players or more and as many absent.
func drawn(d, least int, rng *rand.Rand) int {
	total := 0.0
	for s := least; s <= d-least; s++ {
		total += 1 / float64(s*(d-s))
	}
	pick, members := rng.Float64()*total, least
	for ; members < d-least; members++ {
		if pick -= 1 / float64(members*(d-members)); pick < 0 {
			break
		}
	}
	s := 0
	for _, p := range rng.Perm(d)[:members] {
		s |= 1 << p
	}
	return s
}

// regressed is the least squares of values on members, with the sum held to v(N) − v(∅).
func regressed(v []float64, d int, list []weighed) []float64 {
	whole := v[1<<d-1] - v[0]
	// φ_{d−1} = whole − Σ of the others leaves d − 1 unknowns.
	n := d - 1
	a, b := make([]float64, n*n), make([]float64, n)
	largest := 0.0
	for _, c := range list {
		last := float64(c.s >> n & 1)
		y := v[c.s] - v[0] - last*whole
		x := make([]float64, n)
		for i := range x {
			x[i] = float64(c.s>>i&1) - last
		}
		for i := range x {
			b[i] += c.w * x[i] * y
			for j := range x {
				a[i*n+j] += c.w * x[i] * x[j]
				largest = max(largest, a[i*n+j])
			}
		}
	}
	for i := range n {
		a[i*n+i] += 1e-9 * max(largest, 1e-9) // few coalitions may leave directions open
	}
	phi := append(solve(a, b), whole)
	for _, x := range phi[:n] {
		phi[n] -= x
	}
	return phi
}

// solve eliminates in place, the largest pivot first.
func solve(a, b []float64) []float64 {
	n := len(b)
	for k := range n {
		pivot := k
		for i := k; i < n; i++ {
			if math.Abs(a[i*n+k]) > math.Abs(a[pivot*n+k]) {
				pivot = i
			}
		}
		for j := range n {
			a[k*n+j], a[pivot*n+j] = a[pivot*n+j], a[k*n+j]
		}
		b[k], b[pivot] = b[pivot], b[k]
		for i := k + 1; i < n; i++ {
			f := a[i*n+k] / a[k*n+k]
			for j := k; j < n; j++ {
				a[i*n+j] -= f * a[k*n+j]
			}
			b[i] -= f * b[k]
		}
	}
	for k := n - 1; k >= 0; k-- {
		for j := k + 1; j < n; j++ {
			b[k] -= a[k*n+j] * b[j]
		}
		b[k] /= a[k*n+k]
	}
	return b
}

func runBudget(ctx context.Context, l *Lab) (*Answer, error) {
	learned := func(set string) Training { return Training{Set: set, Head: "learned", Rows: 5000} }
	ts := []Training{learned("california"), learned("bike"), learned("adult"), {Set: "california", Head: "exact", Rows: 5000}}
	answers, err := askAll(ctx, l, ts, "refined", measureBudget)
	if err != nil {
		return nil, err
	}
	exact := answers[len(answers)-1].Answer
	found := Table{Header: []string{"set", "evaluations a row", "for each column", "permutation", "KernelSHAP", "KernelSHAP, whole sizes first", "refined", "coverage"}}
	chart := Chart{Columns: 3, Caption: "Error of attributions against all coalitions of the same model, relative to their size, by evaluations of a row. The exact head's, which is rounding, stands for zero."}
	var verdicts, text []string
	for i, t := range ts[:len(ts)-1] {
		a := answers[i].Answer
		found.Rows = append(found.Rows, []string{t.Set, "1", "", "", "", "", short(a.Head) + " (mode fast)", ""})
		var x []float64
		four := 0
		for k, times := range perColumn {
			x = append(x, float64(times*a.Columns))
			found.Rows = append(found.Rows, []string{
				t.Set, fmt.Sprint(times * a.Columns), fmt.Sprint(times), short(a.Permutation[k]), short(a.Kernel[k]), short(a.Whole[k]), short(a.Refined[k]), short(a.Coverage[k]),
			})
			if times == 4 {
				four = k
			}
		}
		p := newPanel(fmt.Sprintf("%s, %d columns", t.Set, a.Columns), "evaluations of the model, a row", "relative error").logX().logY()
		p.line("permutation", x, a.Permutation, orange).line("KernelSHAP", x, a.Kernel, blue).line("whole sizes first", x, shown(a.Whole), purple)
		p.line("refined", x, shown(a.Refined), green)
		p.dots("learned head", []float64{1}, []float64{a.Head}, green, 4).dots("exact head (zero)", []float64{1}, []float64{minShown}, black, 4)
		p.yAxis(minShown, 2)
		p.Legend.Top, p.Legend.Left, p.Legend.YOffs = false, true, vg.Points(16)
		chart.Panels = append(chart.Panels, p)
		verdicts = append(verdicts, fmt.Sprintf("%s %.1f %% (KernelSHAP %.1f %%, permutation %.1f %%, from one evaluation %.1f %%)",
			t.Set, 100*a.Refined[four], 100*a.Kernel[four], 100*a.Permutation[four], 100*a.Head))
		text = append(text, fmt.Sprintf("- %s, at 4 evaluations for each column: error %.2f × KernelSHAP's (%.2f × with whole sizes first), %.2f × permutation sampling's; nominal 90 %% intervals hold %.1f %%; "+
			"pairwise interactions err by %.1f %%, their intervals hold %.1f %%; 1,000 rows take %.1f s.",
			t.Set, a.Refined[four]/a.Kernel[four], a.Refined[four]/a.Whole[four], a.Refined[four]/a.Permutation[four], 100*a.Coverage[four], 100*a.Pairs, 100*a.PairsCoverage, a.Seconds))
	}
	return &Answer{
		Verdict: "Mode refined errs, with 4 evaluations for each column, by " + strings.Join(verdicts, "; ") + fmt.Sprintf(". The exact head errs by %.0e, from one.", exact.Head),
		Text:    strings.Join(text, "\n"),
		Tables:  []Table{found},
		Charts:  []Chart{chart},
	}, nil
}

// minShown stands for zero on a logarithmic axis.
const minShown = 1e-7

// shown are errors that a logarithmic axis has a place for.
func shown(errors []float64) []float64 {
	list := make([]float64, len(errors))
	for i, x := range errors {
		list[i] = max(x, minShown)
	}
	return list
}
