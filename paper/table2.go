package main

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/psi-shapley/psi"
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
	learns bool    // the learned head is trained too, on the first fold
}

func paperTable2() []paperRow {
	return []paperRow{
		{"PKSN", "rmse", .026, .040, "pksn-paper", "pksn", 5, true},
		{"MED", "rmse", .447, .447, "med", "", 0, true},
		{"BIKE", "rmse", .019, .008, "bike-paper", "bike", 5, false},
		{"GAS", "rmse", .269, .150, "gas", "", 0, false},
		{"FICO", "average_precision", .771, .773, "fico-paper", "fico", 5, false},
		{"SPAM", "average_precision", .977, .983, "spam", "", 0, true},
		{"CENS", "average_precision", .803, .831, "cens-paper", "adult", 2, false},
	}
}

func table2Item() Item {
	return Item{
		Name: "TABLE2", Title: "predictive performance on real tables",
		Claim: "Table 2: PSI is on a par with interpretable and black-box models: RMSE .026 (PKSN), .447 (MED), .019 (BIKE), .269 (GAS), area under precision and recall .771 (FICO), .977 (SPAM), .803 (CENS).",
		Protocol: "The exact head by its default recipe on hash folds (`[k]` where k of five were run), the learned one by its own on the first, where its training takes minutes at most. The paper's protocol as far as it is known: PKSN with the patient's number as an input, in standard deviations; BIKE with casual and registered riders, which add up to what is asked for, as a logarithm; " +
			"FICO's codes as medians; CENS from the first of two files; GAS uncertain. MED, GAS and SPAM have no leak that is known. Without leaks: the sets of `bench/`, whose results are read from there; PKSN then predicts another score in its own units, BIKE counts of riders. Hyperparameters were not searched, where the paper's were. " +
			"Fidelity is the error of f_d against Shapley values of the same model, relative to their size, from the audit in its file: all coalitions of up to 16 columns, else of rows with ten cells left.",
		Run: runTable2,
	}
}

// judged is what a model of the table is worth.
type judged struct{ metric, fidelity float64 }

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

// head are results of one head over folds.
type head struct{ metric, fidelity spread }

func headOf(list []judged) head {
	return head{
		spreadOf(column(list, func(j judged) float64 { return j.metric })),
		spreadOf(column(list, func(j judged) float64 { return j.fidelity })),
	}
}

// trained is a head under the paper's protocol.
func (r paperRow) trained(ctx context.Context, l *Lab, name string, folds int) (head, error) {
	if folds == 0 {
		results, err := readBench(r.paper, r.metric)
		return headOf(results["psi"]), err
	}
	ts := each(l.folds(folds), func(fold int) Training { return Training{Set: r.paper, Fold: fold, Head: name} })
	answers, err := askAll(ctx, l, ts, "evaluate-"+r.metric, evaluate(r.metric))
	if err != nil {
		return head{}, err
	}
	return headOf(column(answers, func(k *kept[float64]) judged { return judged{k.Answer, k.Fidelity} })), nil
}

func runTable2(ctx context.Context, l *Lab) (*Answer, error) {
	table := Table{Header: []string{
		"set", "metric", "paper's PSI", "paper's best other", "exact head", "its fidelity error", "learned head", "its fidelity error",
		"without leaks: exact head", "without leaks: the best peer",
	}}
	reached, rows := 0, paperTable2()
	var missed []string
	for _, r := range rows {
		exact, err := r.trained(ctx, l, "exact", r.folds)
		if err != nil {
			return nil, err
		}
		var learned head
		if r.learns {
			if learned, err = r.trained(ctx, l, "learned", 1); err != nil {
				return nil, err
			}
		}
		set := r.clean
		if set == "" {
			set = r.paper
		}
		clean, err := readBench(set, r.metric)
		if err != nil {
			return nil, err
		}
		table.Rows = append(table.Rows, []string{
			r.name, r.metric, short(r.psi), short(r.best), exact.metric.String(), short(exact.fidelity.Mean), learned.metric.String(), learned.fidelity.String(),
			headOf(clean["psi"]).metric.String(), bestPeer(clean, r.metric),
		})
		ok := exact.metric.Mean <= r.psi+exact.metric.SD
		if r.metric != "rmse" {
			ok = exact.metric.Mean >= r.psi-exact.metric.SD
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

// benchFile holds the results of bench/, beside this module.
const benchFile = "../bench/results.jsonl"

// readBench are results on a set, by tool, then fold; of psi, those without flags.
func readBench(set, metric string) (map[string][]judged, error) {
	results, err := readLines[struct {
		Set, Tool     string
		Configuration struct{ Flags []string } // of psi
		Views         map[string]map[string]float64
		Audit         psi.Audit
	}](benchFile)
	by := map[string][]judged{}
	for _, r := range results {
		if value, ok := r.Views["whole"][metric]; ok && r.Set == set && len(r.Configuration.Flags) == 0 {
			by[r.Tool] = append(by[r.Tool], judged{value, faithful(&r.Audit)})
		}
	}
	return by, err
}

// bestPeer is the best of the tools that were run on all folds.
func bestPeer(by map[string][]judged, metric string) (best string) {
	top := math.Inf(-1)
	for _, tool := range slices.Sorted(maps.Keys(by)) {
		s := headOf(by[tool]).metric
		good := s.Mean
		if metric == "rmse" {
			good = -good
		}
		if tool != "psi" && s.N == benchFolds && good > top {
			top, best = good, fmt.Sprintf("%s (%s)", s, tool)
		}
	}
	return best
}

// benchFolds are needed for a peer to be compared.
const benchFolds = 5
