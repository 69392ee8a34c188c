package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/table"
)

func budgetItem() Item {
	return Item{
		Name: "BUDGET", Title: "what an attribution costs, beside sampling",
		Claim: "Beyond the paper, which compares with no estimate of the same game: how near do f_d come to the model's Shapley values, beside estimates of them from as many evaluations?",
		Protocol: "california, 5,000 training rows, fold 0; 100 test rows, all 256 coalitions of each evaluated, so that φ is known. Of the learned head's game: permutation sampling and KernelSHAP (pairs of a coalition and its complement, " +
			"constrained least squares, coalitions by the Shapley kernel), mean of 20 draws, seed 5; the head's own f_d from one evaluation, with and without polish (which is FastSHAP's idea: labels left out, values of the frozen game as the target). The exact head of the same table needs no estimate of its own game.",
		Run: runBudget,
	}
}

// budgets are numbers of evaluations of a row.
var budgets = []int{16, 24, 32, 48, 64, 96, 128, 192, 256}

// estimates are the errors of ways to attributions, relative to the size of φ.
type estimates struct {
	Head        float64   `json:"head"` // f_d of the model
	Permutation []float64 `json:"permutation"`
	Kernel      []float64 `json:"kernel"`
}

func measureBudget(ctx context.Context, f *Fitted) (estimates, error) {
	const rows, draws = 100, 20
	var out estimates
	test := f.Test[:min(rows, len(f.Test))]
	values, err := allValues(ctx, f, test)
	if err != nil {
		return out, err
	}
	exact, err := f.Explain(ctx, f.Set.Table.Select(test).Source(), psi.Explain{Mode: explain.Exact})
	if err != nil {
		return out, err
	}
	own, err := f.Explain(ctx, f.Set.Table.Select(test).Source(), psi.Explain{})
	if err != nil {
		return out, err
	}
	out.Head = rmse(own.Mean, exact.Mean) / size(exact.Mean)
	d := len(exact.Players)
	rng := rand.New(rand.NewPCG(5, 0))
	for _, budget := range budgets {
		var permutation, kernel float64
		for i, v := range values {
			phi := exact.Mean[i*d : (i+1)*d]
			for range draws {
				permutation += math.Pow(rmse(byPermutation(v, d, budget, rng), phi), 2) / float64(draws*len(values))
				kernel += math.Pow(rmse(byKernel(v, d, budget, rng), phi), 2) / float64(draws*len(values))
			}
		}
		out.Permutation = append(out.Permutation, math.Sqrt(permutation)/size(exact.Mean))
		out.Kernel = append(out.Kernel, math.Sqrt(kernel)/size(exact.Mean))
	}
	return out, nil
}

// allValues are the predictions of every coalition of each row.
func allValues(ctx context.Context, f *Fitted, rows []int) ([][]float64, error) {
	columns := f.Set.Table.Columns[:len(f.Set.Table.Columns)-1]
	d := len(columns)
	all := make([][]float64, len(rows))
	for k, row := range rows {
		t := &table.Table{}
		for c, column := range columns {
			cells, there := make([]float64, 1<<d), make([]bool, 1<<d)
			for s := range cells {
				cells[s], there[s] = column.Numbers[row], s>>c&1 == 1
			}
			t.Columns = append(t.Columns, table.NumberColumn(column.Name, cells, there))
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

// byKernel regresses values on members, with the sum held to v(N) − v(∅). Coalitions come from the kernel, each with its
// complement, so that all count alike.
func byKernel(v []float64, d, budget int, rng *rand.Rand) []float64 {
	sizes := make([]float64, d)
	total := 0.0
	for s := 1; s < d; s++ {
		sizes[s] = 1 / float64(s*(d-s))
		total += sizes[s]
	}
	whole := v[1<<d-1] - v[0]
	// φ_{d−1} = whole − Σ of the others leaves d − 1 unknowns.
	n := d - 1
	a, b := make([]float64, n*n), make([]float64, n)
	add := func(s int) {
		last := float64(s >> n & 1)
		y := v[s] - v[0] - last*whole
		x := make([]float64, n)
		for i := range x {
			x[i] = float64(s>>i&1) - last
		}
		for i := range x {
			b[i] += x[i] * y
			for j := range x {
				a[i*n+j] += x[i] * x[j]
			}
		}
	}
	for range (budget - 2) / 2 {
		pick, members := rng.Float64()*total, 1
		for ; members < d-1 && pick >= sizes[members]; members++ {
			pick -= sizes[members]
		}
		s := 0
		for _, p := range rng.Perm(d)[:members] {
			s |= 1 << p
		}
		add(s)
		add(1<<d - 1 ^ s)
	}
	for i := range n {
		a[i*n+i] += 1e-9 // few coalitions may leave directions open
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
	learned := Training{Set: "california", Head: "learned", Rows: 5000}
	ts := []Training{learned, learned.with(map[string]string{"polish_steps": "0"}), {Set: "california", Head: "exact", Rows: 5000}}
	answers, err := askAll(ctx, l, ts, "budget", measureBudget)
	if err != nil {
		return nil, err
	}
	polished, plain, exact := answers[0].Answer, answers[1].Answer, answers[2].Answer
	found := Table{Header: []string{"evaluations a row", "permutation", "KernelSHAP", "learned head", "without polish", "exact head (its own game)"}}
	var x []float64
	for i, budget := range budgets {
		cells := []string{fmt.Sprint(budget), short(polished.Permutation[i]), short(polished.Kernel[i]), "", "", ""}
		x = append(x, float64(budget))
		found.Rows = append(found.Rows, cells)
	}
	found.Rows = append([][]string{{"1", "", "", short(polished.Head), short(plain.Head), short(exact.Head)}}, found.Rows...)
	p := newPanel("california, 8 columns", "evaluations of the model, a row", "relative error").logX().logY()
	p.line("permutation", x, polished.Permutation, seriesColour(0)).line("KernelSHAP", x, polished.Kernel, seriesColour(1))
	p.dots("learned head", []float64{1}, []float64{polished.Head}, green, 4).dots("without polish", []float64{1}, []float64{plain.Head}, orange, 4)
	p.dots("exact head", []float64{1}, []float64{max(exact.Head, 1e-7)}, black, 4)
	p.yAxis(1e-7, 2)
	p.Legend.Top = false
	first := budgets[len(budgets)-1]
	for i := len(budgets) - 1; i >= 0 && polished.Kernel[i] <= polished.Head; i-- {
		first = budgets[i]
	}
	return &Answer{
		Verdict: fmt.Sprintf("The learned head's one evaluation errs by %.0f %% (%.0f %% without polish); KernelSHAP needs about %d evaluations to be as near. The exact head errs by %.0e, from one evaluation.",
			100*polished.Head, 100*plain.Head, first, exact.Head),
		Tables: []Table{found},
		Charts: []Chart{{Columns: 1, Panels: []*panel{p}, Caption: "Error of attributions against all coalitions of the same model, relative to their size, by evaluations of a row."}},
	}, nil
}
