package main

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/psi-shapley/psi"
)

func fidelityItem() Item {
	return Item{
		Name: "FIDELITY", Title: "attributions against Shapley values of the same model, every model trained here",
		Claim: "The paper takes f_d for Shapley values of the model and compares them with none.",
		Protocol: "The audit in the file of every model that the other items trained: error of f_d against Shapley values of the model's own game, relative to their size, on validation rows; " +
			"all coalitions of up to 16 columns, else those of rows with ten cells left.",
		Run: runFidelity,
	}
}

// faithful is the error that an audit found: against all coalitions or, where those are too many, against those of sub-games.
func faithful(a *psi.Audit) float64 {
	f := a.RelativeRMSE
	if a.Within3SE != nil {
		f = a.SubgameRelativeRMSE
	}
	if f == nil {
		return math.NaN()
	}
	return *f
}

// way is how a model came to its attributions.
func (t Training) way() string {
	switch {
	case t.Head == "exact":
		return "exact head"
	case t.Change["polish_steps"] != "0":
		return "learned head, polished"
	case t.Change["estimator"] == "":
		return "learned head, `ls`, not polished"
	}
	return fmt.Sprintf("learned head, %#q, not polished", t.Change["estimator"])
}

func runFidelity(_ context.Context, l *Lab) (*Answer, error) {
	models, err := l.models()
	if err != nil {
		return nil, err
	}
	data := Table{File: "fidelity", Header: []string{"set", "fold", "head", "way", "fidelity"}}
	by := map[string][]float64{}
	for _, name := range slices.Sorted(maps.Keys(models)) {
		k := models[name]
		by[k.Training.way()] = append(by[k.Training.way()], k.Fidelity)
		data.Rows = append(data.Rows, []string{k.Training.Set, fmt.Sprint(k.Training.Fold), k.Training.Head, k.Training.way(), full(k.Fidelity)})
	}
	table := Table{Header: []string{"attributions", "models", "median error", "largest error"}}
	for _, way := range slices.Sorted(maps.Keys(by)) {
		list := by[way]
		slices.Sort(list)
		table.Rows = append(table.Rows, []string{way, fmt.Sprint(len(list)), short(list[len(list)/2]), short(list[len(list)-1])})
	}
	exact := by["exact head"]
	if len(exact) == 0 {
		return nil, fmt.Errorf("no model was measured yet: run the other items first")
	}
	return &Answer{
		Verdict: fmt.Sprintf("The exact head's are Shapley values to rounding in all of its %d models (largest error %s); how near the learned head's are hangs on the estimator and on polish.", len(exact), short(exact[len(exact)-1])),
		Text:    "An error of 1 is that of attributions that are all 0. FFNN and MENN count together, and so do all β′.",
		Tables:  []Table{table, data},
	}, nil
}
