package main

import (
	"context"
	"fmt"
	"math"

	"github.com/psi-shapley/psi"
)

func boundItem() Item {
	return Item{
		Name: "BOUND", Title: "the bound for two classes",
		Claim:    "Equation eq:tight_elbo_classification: a lower bound of the likelihood of a label, with closed forms for entropy and cross-entropy of the truncated normal.",
		Protocol: "The printed closed forms against numerical integration, μ from −2 to 2 and σ from ½ to 2. Then synth1's latents as log odds of a label (`synth1-binary`): exact head trained by the bound and by the integral that it bounds, 200 to 1,600 steps, two folds: how large the scores are, and how well probabilities and σ_d fit.",
		Run:      runBound,
	}
}

// simpson integrates f over [a, b].
func simpson(f func(float64) float64, a, b float64) float64 {
	const n = 4000
	h, sum := (b-a)/n, f(a)+f(b)
	for i := 1; i < n; i++ {
		sum += f(a+float64(i)*h) * float64(2+2*(i%2))
	}
	return sum * h / 3
}

// truncated is what the paper prints, and what is true, of N(μ, σ²) cut to y > 0.
type truncated struct{ Mass, Entropy, Cross float64 }

func printed(mu, sigma float64) truncated {
	r := mu / sigma
	mass := .5 * (1 + math.Erf(r))
	omega := -r / math.Sqrt(2*math.Pi) * math.Exp(-r*r) / mass
	mean := mu - sigma*sigma/mu*omega
	variance := sigma * sigma * (1 - omega - math.Pow(sigma/mu*omega, 2))
	return truncated{
		Mass:    mass,
		Entropy: .5 * (math.Log(2*math.Pi*math.E*sigma*sigma*mass) + omega),
		Cross:   .5*math.Log(2*math.Pi*sigma*sigma) + (variance+(mean-mu)*(mean-mu))/(2*sigma*sigma),
	}
}

func integrated(mu, sigma float64) truncated {
	density := func(y float64) float64 {
		return math.Exp(-(y-mu)*(y-mu)/(2*sigma*sigma)) / (sigma * math.Sqrt(2*math.Pi))
	}
	top := math.Max(0, mu) + 12*sigma
	mass := simpson(density, 0, top)
	q := func(y float64) float64 { return density(y) / mass }
	return truncated{
		Mass:    mass,
		Entropy: simpson(func(y float64) float64 { return -q(y) * math.Log(q(y)) }, 0, top),
		Cross:   simpson(func(y float64) float64 { return q(y) * math.Log(density(y)) }, 0, top),
	}
}

// latentFit is what a model of labels says of the log odds behind them.
type latentFit struct {
	LogLoss float64    `json:"log_loss"`
	ECE     float64    `json:"ece"`
	ScoreSD float64    `json:"score_sd"` // standard deviation of the scores
	TrueSD  float64    `json:"true_sd"`  // that of the true mean log odds
	Two     [2]float64 `json:"two"`      // share of the draws of x1 and x2 within two σ_d
}

func measureLatent(ctx context.Context, f *Fitted) (latentFit, error) {
	var a latentFit
	truth, err := sampleOf(f.Set.Name)
	if err != nil {
		return a, err
	}
	evaluation, err := f.Evaluate(ctx, f.Tested().Source())
	if err != nil {
		return a, err
	}
	for _, m := range evaluation.Metrics {
		switch m.Name {
		case "log_loss":
			a.LogLoss = m.Value
		case "ece":
			a.ECE = m.Value
		}
	}
	e, err := f.Explain(ctx, f.Tested().Source(), psi.ExplainOptions{})
	if err != nil {
		return a, err
	}
	a.ScoreSD, a.TrueSD = spreadOf(e.Prediction).SD, spreadOf(pick(truth.Expected, f.Test)).SD
	for d := range a.Two {
		phi, sigma := player(e, d)
		a.Two[d] = compareSpread(phi, sigma, pick(truth.Draw[d], f.Test), pick(truth.Std[d], f.Test)).Two
	}
	return a, nil
}

func runBound(ctx context.Context, l *Lab) (*Answer, error) {
	forms := Table{Header: []string{"μ", "σ", "mass, printed", "mass", "entropy, printed", "entropy", "cross-entropy, printed", "cross-entropy", "log Φ(μ/σ)", "entropy + cross-entropy"}}
	identity := 0.0
	for _, at := range [][2]float64{{-2, 1}, {-.5, 2}, {.5, .5}, {1, 1}, {2, 1}} {
		mu, sigma := at[0], at[1]
		p, q := printed(mu, sigma), integrated(mu, sigma)
		logMass := math.Log(.5 * math.Erfc(-mu/sigma/math.Sqrt2))
		identity = max(identity, math.Abs(q.Entropy+q.Cross-logMass))
		forms.Rows = append(forms.Rows, []string{
			short(mu), short(sigma), short(p.Mass), short(q.Mass), short(p.Entropy), short(q.Entropy), short(p.Cross), short(q.Cross), short(logMass), short(q.Entropy + q.Cross),
		})
	}
	table := Table{Header: []string{"likelihood", "steps", "sd of scores (true)", "log loss", "ECE", "±2σ covers x1, x2"}}
	p := newPanel("scale of the scores", "steps", "sd of scores").logX()
	var ends []float64
	for i, likelihood := range []string{"bound", "marginal"} {
		var x, y []float64
		for _, steps := range []int{200, 400, 800, 1600} {
			ts := each(l.folds(2), func(fold int) Training {
				return Training{Set: "synth1-binary", Fold: fold, Head: "exact", Change: map[string]string{"likelihood": likelihood, "bags": "0", "steps": fmt.Sprint(steps)}}
			})
			answers, err := askAll(ctx, l, ts, "latent", measureLatent)
			if err != nil {
				return nil, err
			}
			of := func(f func(latentFit) float64) spread { return over(answers, f) }
			sd := of(func(a latentFit) float64 { return a.ScoreSD })
			table.Rows = append(table.Rows, []string{
				likelihood, fmt.Sprint(steps), fmt.Sprintf("%s (%s)", sd, short(of(func(a latentFit) float64 { return a.TrueSD }).Mean)),
				of(func(a latentFit) float64 { return a.LogLoss }).String(), of(func(a latentFit) float64 { return a.ECE }).String(),
				fmt.Sprintf("%s, %s", short(of(func(a latentFit) float64 { return a.Two[0] }).Mean), short(of(func(a latentFit) float64 { return a.Two[1] }).Mean)),
			})
			x, y = append(x, float64(steps)), append(y, sd.Mean)
			if i == 1 && steps == 1600 {
				sd := of(func(a latentFit) float64 { return a.TrueSD }).Mean
				p.line("true log odds", []float64{200, 1600}, []float64{sd, sd}, grey, 4, 3)
			}
		}
		p.line(likelihood, x, y, seriesColour(i))
		ends = append(ends, y[0], y[len(y)-1])
	}
	p.Y.Min = 0
	return &Answer{
		Verdict: fmt.Sprintf("A bound it is, but of no use as it stands: the printed closed forms are wrong, and its scale drifts with the length of training (sd of scores %s after 200 steps, %s after 1,600; by the integral %s and %s).",
			short(ends[0]), short(ends[1]), short(ends[2]), short(ends[3])),
		Text: fmt.Sprintf("Ψ needs erf(μ/σ√2), Ω exp(−μ²/2σ²), the entropy log Ψ and not ½ log Ψ, the cross-entropy the other sign. None is needed: entropy and cross-entropy of a normal cut to a set add up to the "+
			"logarithm of its mass, log Φ(±μ/σ) (to %.0e here, by integration). With μ/σ fixed, that term stays and E_q[log sigmoid(±y)] only grows with σ: a direction without an end. The integral itself is one-dimensional, so it is computed "+
			"instead. Nor does it determine σ_d: one label a row says next to nothing of the spread of a latent score (last column), which holds for the bound too, whose σ_d is larger for its scale alone.", identity),
		Tables: []Table{forms, table},
		Charts: []Chart{{Columns: 1, Panels: []*panel{p}, Caption: "synth1-binary: standard deviation of the scores by length of training."}},
	}, nil
}
