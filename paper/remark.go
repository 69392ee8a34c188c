package main

import (
	"context"
	"fmt"
)

func remarkItem() Item {
	return Item{
		Name: "REMARK", Title: "the mean of attributions as a sign of convergence",
		Claim: "Remark 3.3 and figure fig:goingtozero: E f_d(x) goes to 0 as training goes on, most of all with β′ = 1, and is of use as a diagnostic; necessary, not sufficient.",
		Protocol: "synth3, learned head, trainings of 25 to 1,600 steps (a one-cycle rate each; 22.5 steps are one pass over the rows), two folds; max_d |E f_d| over the test rows in standard deviations of the target, " +
			"beside the error of f_d against all coalitions of the same model. D_SHAP by `abs` and `ls` with β′ = 1, and without it.",
		Run: runRemark,
	}
}

var remarkSteps = []string{"25", "50", "100", "200", "400", "800", "1600"}

func runRemark(ctx context.Context, l *Lab) (*Answer, error) {
	kinds := []struct {
		name   string
		change map[string]string
	}{
		{"abs, β′ = 1", map[string]string{"estimator": "abs", "beta": "1"}},
		{"ls, β′ = 1", map[string]string{"estimator": "ls", "beta": "1"}},
		{"no D_SHAP", map[string]string{"beta": "0"}},
	}
	table := Table{Header: []string{"training", "steps", "max_d abs E f_d", "fidelity error", "RMSE"}}
	panels := []*panel{
		newPanel("mean of attributions", "steps", "max |E f|, sd of y").logX().logY(),
		newPanel("distance from Shapley values", "steps", "relative error of f").logX().logY(),
	}
	var last []against
	for i, kind := range kinds {
		var x, mean, off []float64
		for _, steps := range remarkSteps {
			ts := each(l.folds(2), func(fold int) Training {
				return Training{Set: "synth3", Fold: fold, Head: "learned", Change: map[string]string{
					"steps": steps, "polish_steps": "0", "spread_steps": "10",
				}}.with(kind.change)
			})
			answers, err := askAll(ctx, l, ts, "truth", compareWithTruth)
			if err != nil {
				return nil, err
			}
			of := func(f func(against) float64) spread { return over(answers, f) }
			m, fid, e := of(func(a against) float64 { return a.MeanMax }), of(func(a against) float64 { return a.Fidelity }), of(func(a against) float64 { return a.RMSE })
			table.Rows = append(table.Rows, []string{kind.name, steps, m.String(), fid.String(), e.String()})
			n := 0.0
			if _, err := fmt.Sscan(steps, &n); err != nil {
				return nil, err
			}
			x, mean, off = append(x, n), append(mean, m.Mean), append(off, fid.Mean)
			if steps == remarkSteps[len(remarkSteps)-1] {
				last = append(last, against{MeanMax: m.Mean, Fidelity: fid.Mean})
			}
		}
		panels[0].line(kind.name, x, mean, seriesColour(i))
		panels[1].line(kind.name, x, off, seriesColour(i))
	}
	return &Answer{
		Verdict: fmt.Sprintf("It falls with either estimator, and does not tell them apart: at the end max_d |E f_d| is %s and %s, while f_d misses the model's Shapley values by %.0f %% and %.0f %%. Without D_SHAP at all it is %s, and f_d is off by %.0f %%.",
			short(last[0].MeanMax), short(last[1].MeanMax), 100*last[0].Fidelity, 100*last[1].Fidelity, short(last[2].MeanMax), 100*last[2].Fidelity),
		Text: "Not sufficient, in the plainest case: with v(x) = x₁x₂ and independent columns of mean 0, f = (x₁x₂, 0) has E f_d = 0 for both columns, adds up, and " +
			"misses φ = (x₁x₂/2, x₁x₂/2) by 100 % of its size. Nor does it vanish for classes, whose φ_0 is the score of the base rate and not the mean score.",
		Tables: []Table{table},
		Charts: []Chart{{Columns: 2, Panels: panels, Caption: "synth3, learned head: the diagnostic of Remark 3.3 (left) beside what it stands for (right), by length of training."}},
	}, nil
}
