package main

import (
	"context"
	"math"
	"strings"
	"sync"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/internal/benchset"
	"github.com/psi-shapley/psi/internal/synth"
)

// Rows of a synthetic set, as in the paper, and the seed they are drawn by.
const (
	synthRows = 8000
	synthSeed = 1
)

var synthNames = []string{"synth1", "synth2", "synth3", "synth4", "synth5"}

func isSynthetic(name string) bool { return strings.HasPrefix(name, "synth") }

// loadSynthetic draws a set; its folds are those of all sets.
func loadSynthetic(name string) (*benchset.Set, error) {
	s, err := sampleOf(name)
	if err != nil {
		return nil, err
	}
	t, err := s.Table()
	if err != nil {
		return nil, err
	}
	task := benchset.Regression
	if strings.HasSuffix(name, "-binary") {
		task = benchset.Binary
	}
	return &benchset.Set{Name: name, Task: task, Table: t, Target: "y"}, nil
}

// sampleOf is the set with its truth.
func sampleOf(name string) (*synth.Sample, error) {
	samplesMutex.Lock()
	defer samplesMutex.Unlock()
	if s := samples[name]; s != nil {
		return s, nil
	}
	s, err := synth.Generate(name, synthRows, synthSeed)
	if err == nil {
		samples[name] = s
	}
	return s, err
}

var (
	samplesMutex sync.Mutex
	samples      = map[string]*synth.Sample{}
)

// against is what a model of a synthetic set is worth, on rows it has not seen.
type against struct {
	RMSE     float64          `json:"rmse"`     // of predictions
	Excess   float64          `json:"excess"`   // RMSE of predictions against E[y | x]
	Fidelity float64          `json:"fidelity"` // of f_d against the Shapley values of the model, relative to their size
	Truth    float64          `json:"truth"`    // of f_d against the true attributions, relative to their size
	MeanMax  float64          `json:"mean_max"` // max_d |E f_d|, in standard deviations of the target
	Sigma    [3]spreadOfDraws `json:"sigma"`
}

// spreadOfDraws says how well σ_d tells the spread of the latent draws of a player.
type spreadOfDraws struct {
	RMSE   float64 `json:"rmse"`    // of σ_d against the true one
	One    float64 `json:"one"`     // share of the draws within one σ_d, rows with a true σ_d of 0.1 or more
	Two    float64 `json:"two"`     // the same within two
	OneAll float64 `json:"one_all"` // the same over all rows
	TwoAll float64 `json:"two_all"`
	Wide   int     `json:"rows"` // rows with a true σ_d of 0.1 or more
}

// fidelityRows are compared with all coalitions.
const fidelityRows = 200

// compareWithTruth asks a model of a synthetic set all of this.
func compareWithTruth(ctx context.Context, f *Fitted) (against, error) {
	var a against
	truth, err := sampleOf(f.Set.Name)
	if err != nil {
		return a, err
	}
	e, err := f.Explain(ctx, f.Tested().Source(), psi.ExplainOptions{})
	if err != nil {
		return a, err
	}
	y := pick(truth.Y, f.Test)
	a.RMSE, a.Excess = rmse(e.Prediction, y), rmse(e.Prediction, pick(truth.Expected, f.Test))
	if a.Fidelity, err = fidelity(ctx, f, e); err != nil {
		return a, err
	}
	var gap, whole float64
	for d := range truth.Mean {
		phi, sigma := player(e, d)
		truePhi := pick(truth.Mean[d], f.Test)
		gap, whole = gap+math.Pow(rmse(phi, truePhi), 2), whole+math.Pow(size(truePhi), 2)
		a.MeanMax = max(a.MeanMax, math.Abs(spreadOf(phi).Mean)/f.Manifest().Scale.Std)
		a.Sigma[d] = compareSpread(phi, sigma, pick(truth.Draw[d], f.Test), pick(truth.Std[d], f.Test))
	}
	a.Truth = math.Sqrt(gap / whole)
	return a, nil
}

// player is what an explanation with one output says of one player.
func player(e *explain.Explanation, d int) (mean, std []float64) {
	for i := range e.Rows {
		mean = append(mean, e.Mean[i*len(e.Players)+d])
		std = append(std, e.Std[i*len(e.Players)+d])
	}
	return mean, std
}

func compareSpread(phi, sigma, draw, trueSigma []float64) spreadOfDraws {
	s := spreadOfDraws{RMSE: rmse(sigma, trueSigma)}
	var one, two, oneAll, twoAll int
	for i := range draw {
		off := math.Abs(draw[i] - phi[i])
		in1, in2 := count(off <= sigma[i]), count(off <= 2*sigma[i])
		oneAll, twoAll = oneAll+in1, twoAll+in2
		if trueSigma[i] >= .1 {
			s.Wide++
			one, two = one+in1, two+in2
		}
	}
	if s.Wide > 0 {
		s.One, s.Two = ratio(one, s.Wide), ratio(two, s.Wide)
	}
	s.OneAll, s.TwoAll = ratio(oneAll, len(draw)), ratio(twoAll, len(draw))
	return s
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// fidelity is the error of attributions against all coalitions of the same model, relative to the size of those.
func fidelity(ctx context.Context, f *Fitted, e *explain.Explanation) (float64, error) {
	rows := min(fidelityRows, e.Rows)
	exact, err := f.Explain(ctx, f.Tested().Source(), psi.ExplainOptions{Mode: explain.Exact, To: rows})
	if err != nil {
		return 0, err
	}
	return rmse(e.Mean[:len(exact.Mean)], exact.Mean) / size(exact.Mean), nil
}
