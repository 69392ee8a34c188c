package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
)

// paperRow is a row of the paper's Table 2 and where its data are here.
type paperRow struct {
	name   string
	metric string // of our evaluation
	psi    float64
	best   float64 // of the paper's other models
	paper  string  // set under the paper's protocol
	clean  string  // without its leaks; "" if it has none
	folds  int     // that the exact head is trained on; 0 where bench/ has trained it on all
}

func paperTable2() []paperRow {
	return []paperRow{
		{"PKSN", "rmse", .026, .040, "pksn-paper", "pksn", 3},
		{"MED", "rmse", .447, .447, "med", "", 0},
		{"BIKE", "rmse", .019, .008, "bike-paper", "bike", 1},
		{"GAS", "rmse", .269, .150, "gas", "", 0},
		{"FICO", "average_precision", .771, .773, "fico-paper", "fico", 5},
		{"SPAM", "average_precision", .977, .983, "spam", "", 0},
		{"CENS", "average_precision", .803, .831, "cens-paper", "adult", 2},
	}
}

func table2Item() Item {
	return Item{
		Name: "TABLE2", Title: "predictive performance on real tables",
		Claim: "Table 2: PSI is on a par with interpretable and black-box models: RMSE .026 (PKSN), .447 (MED), .019 (BIKE), .269 (GAS), area under precision and recall .771 (FICO), .977 (SPAM), .803 (CENS).",
		Protocol: "The exact head by its default recipe, hash folds (`[k]` where k of five were run). The paper's protocol as far as it is known: PKSN with the patient's number as an input, in standard deviations; BIKE with casual and registered riders, which add up to what is asked for, as a logarithm; " +
			"FICO's codes as medians; CENS from the first of two files; GAS uncertain. MED, GAS and SPAM have no leak that is known. Without leaks: the sets of `bench/`, whose results are read from there; PKSN then predicts another score in its own units, BIKE counts of riders. Hyperparameters were not searched, where the paper's were.",
		Run: runTable2,
	}
}

// trained is the exact head under the paper's protocol.
func (r paperRow) trained(ctx context.Context, l *Lab) (spread, error) {
	if r.folds == 0 {
		psi, _, err := fromBench(r.paper, r.metric)
		return psi, err
	}
	ts := each(l.folds(r.folds), func(fold int) Training { return Training{Set: r.paper, Fold: fold, Head: "exact"} })
	answers, err := askAll(ctx, l, ts, "evaluate-"+r.metric, evaluate(r.metric))
	if err != nil {
		return spread{}, err
	}
	return over(answers, func(x float64) float64 { return x }), nil
}

func evaluate(metric string) func(context.Context, *Fitted) (float64, error) {
	return func(ctx context.Context, f *Fitted) (float64, error) {
		e, err := f.Evaluate(ctx, f.Tested().Source())
		if err != nil {
			return 0, err
		}
		for _, m := range e.Metrics {
			if m.Name == metric {
				return m.Value, nil
			}
		}
		return 0, fmt.Errorf("no metric %s", metric)
	}
}

func runTable2(ctx context.Context, l *Lab) (*Answer, error) {
	table := Table{Header: []string{"set", "metric", "paper's PSI", "paper's best other", "exact head", "without leaks: exact head", "without leaks: the best peer"}}
	reached, rows := 0, paperTable2()
	var missed []string
	for _, r := range rows {
		exact, err := r.trained(ctx, l)
		if err != nil {
			return nil, err
		}
		set := r.clean
		if set == "" {
			set = r.paper
		}
		clean, peer, err := fromBench(set, r.metric)
		if err != nil {
			return nil, err
		}
		table.Rows = append(table.Rows, []string{r.name, r.metric, short(r.psi), short(r.best), exact.String(), clean.String(), peer})
		ok := exact.Mean <= r.psi+exact.SD
		if r.metric != "rmse" {
			ok = exact.Mean >= r.psi-exact.SD
		}
		if reached += count(ok); !ok {
			missed = append(missed, r.name)
		}
	}
	text := "All figures of the paper are reached under its own protocol, within a standard deviation over folds."
	if len(missed) > 0 {
		text = fmt.Sprintf("Not reached under the paper's protocol: %v.", missed)
	}
	return &Answer{
		Verdict: fmt.Sprintf("%d of %d figures are reached or beaten by the exact head, whose attributions are Shapley values, by one recipe.", reached, len(rows)),
		Text:    text, Tables: []Table{table},
	}, nil
}

// benchDir holds the results of bench/, beside this module.
const benchDir = "../bench/results"

// fromBench is psi's result on a set, and that of the best of its peers.
func fromBench(set, metric string) (psi spread, best string, err error) {
	files, err := filepath.Glob(filepath.Join(benchDir, set, "*", "*.json"))
	if err != nil {
		return psi, "", err
	}
	by := map[string][]float64{}
	for _, path := range files {
		var result struct {
			Tool          string
			Configuration map[string]json.RawMessage
			Views         map[string]map[string]float64
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return psi, "", err
		}
		if err := json.Unmarshal(b, &result); err != nil {
			return psi, "", fmt.Errorf("%s: %w", path, err)
		}
		if value, ok := result.Views["whole"][metric]; ok {
			by[result.Tool] = append(by[result.Tool], value)
		}
	}
	top := math.Inf(-1)
	for _, tool := range slices.Sorted(maps.Keys(by)) {
		s := spreadOf(by[tool])
		good := s.Mean
		if metric == "rmse" {
			good = -good
		}
		if tool != "psi" && s.N == benchFolds && good > top {
			top, best = good, fmt.Sprintf("%s (%s)", s, tool)
		}
	}
	return spreadOf(by["psi"]), best, nil
}

// benchFolds are needed for a peer to be compared.
const benchFolds = 5
