package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"

	"github.com/psi-shapley/psi/shapley"
)

func estimatorItem() Item {
	return Item{
		Name: "ESTIMATOR", Title: "the estimator of D_SHAP",
		Claim: "Equation eq:dshap and appendix app:props: |t(S₁) t(S₂)|, with t(S) = v(S∪d) − v(S) − f_d, estimates (φ_d − f_d)² and its gradients point the right way in expectation.",
		Protocol: "Games whose contributions are known: the expectation of |t₁t₂| is (E|t|)², of t₁t₂ it is (E t)²; both are computed over all coalitions, without sampling, and minimised over f_d. " +
			"Random games of six players have independent normal values of all coalitions (100 games, seed 3). Then synth3 with β′ = 1, learned head, 1,600 steps, no polish, two folds.",
		Run: runEstimator,
	}
}

// contribution of a player with its Shapley weight.
type contribution struct{ value, weight float64 }

// randomGame has independent normal values, and none without players.
func randomGame(players int, rng *rand.Rand) []float64 {
	v := make([]float64, 1<<players)
	for s := range v[1:] {
		v[s+1] = rng.NormFloat64()
	}
	return v
}

// contributions of player d, each with the probability that it is drawn.
func contributions(v []float64, players, d int) []contribution {
	var out []contribution
	for s := range v {
		if s>>d&1 == 1 {
			continue
		}
		n := bits.OnesCount(uint(s))
		// |S|! (D−|S|−1)! / D! is shapleyWeight · D / (D−|S|).
		out = append(out, contribution{v[s|1<<d] - v[s], shapleyWeight(n, players) * float64(players) / float64(players-n)})
	}
	return out
}

func meanOf(c []contribution) float64 {
	sum := 0.0
	for _, x := range c {
		sum += x.weight * x.value
	}
	return sum
}

// absolute is (E|t|)² at f.
func absolute(c []contribution, f float64) float64 {
	sum := 0.0
	for _, x := range c {
		sum += x.weight * math.Abs(x.value-f)
	}
	return sum * sum
}

// median is where absolute is least.
func median(c []contribution) float64 {
	c = slices.Clone(c)
	slices.SortFunc(c, func(a, b contribution) int { return cmp.Compare(a.value, b.value) })
	mass := 0.0
	for _, x := range c {
		if mass += x.weight; mass >= .5 {
			return x.value
		}
	}
	return c[len(c)-1].value
}

func runEstimator(ctx context.Context, l *Lab) (*Answer, error) {
	const games, players = 100, 6
	rng := rand.New(rand.NewPCG(3, 0))
	var off, size, left, agree float64
	for range games {
		v := randomGame(players, rng)
		exact, err := shapley.Exact(ctx, shapley.GameFunc{N: players, V: func(members []int) float64 {
			s := 0
			for _, m := range members {
				s |= 1 << m
			}
			return v[s]
		}})
		if err != nil {
			return nil, err
		}
		for d := range players {
			c := contributions(v, players, d)
			phi := meanOf(c)
			agree = max(agree, math.Abs(phi-exact.At(0, d)))
			off += math.Pow(median(c)-phi, 2)
			size += phi * phi
			left += absolute(c, phi) / games / players
		}
	}
	if agree > 1e-12 {
		return nil, fmt.Errorf("weights of contributions are wrong: means miss Shapley values by %g", agree)
	}

	// A player that adds 1 one time in ten.
	skewed := []contribution{{1, .1}, {0, .9}}
	var x, abs, product []float64
	for i := range 101 {
		f := float64(i) / 100 * .5
		x, abs = append(x, f), append(abs, absolute(skewed, f))
		product = append(product, math.Pow(meanOf(skewed)-f, 2))
	}
	curve := newPanel("adds 1 one time in ten", "f", "expected estimate").
		line("abs, least at the median 0", x, abs, seriesColour(0)).line("product, least at the mean 0.1", x, product, seriesColour(1))

	table := Table{Header: []string{"estimator", "synth3, β′ = 1: RMSE", "fidelity error", "error against the truth"}}
	trained := newPanel("synth3, β′ = 1", "", "RMSE").names("abs", "product", "ls")
	var rmses []spread
	for i, estimator := range []string{"abs", "product", "ls"} {
		ts := each(l.folds(2), func(fold int) Training {
			return Training{Set: "synth3", Fold: fold, Head: "learned", Change: map[string]string{
				"estimator": estimator, "beta": "1", "polish_steps": "0", "spread_steps": "10", "steps": "1600",
			}}
		})
		answers, err := askAll(ctx, l, ts, "truth", compareWithTruth)
		if err != nil {
			return nil, err
		}
		of := func(f func(against) float64) spread { return over(answers, f) }
		e := of(func(a against) float64 { return a.RMSE })
		rmses = append(rmses, e)
		table.Rows = append(table.Rows, []string{estimator, e.String(), of(func(a against) float64 { return a.Fidelity }).String(), of(func(a against) float64 { return a.Truth }).String()})
		trained.whiskers("", []float64{float64(i)}, []float64{e.Mean}, []float64{e.SD}, seriesColour(i))
	}
	trained.line("the paper's MENN", []float64{-.3, 2.3}, []float64{1.118, 1.118}, grey, 4, 3)
	trained.line("noise of the data", []float64{-.3, 2.3}, []float64{.1, .1}, black, 1, 2)
	trained.Y.Min = 0
	return &Answer{
		Verdict: fmt.Sprintf("Refuted. The estimator is biased: where f_d = φ_d it still asks for less interaction, and it is least at the median of the contributions. Unbiased, at the same cost, RMSE on synth3 at β′ = 1 is %s instead of %s.", rmses[1], rmses[0]),
		Text: fmt.Sprintf("Of random games its minimiser misses φ_d by %.0f %% of the size of φ, and at f_d = φ_d, where the distance is 0, its mean is %s (contributions have a variance of 2). "+
			"The proof in app:props takes the expectation of the product within each sign event as if the event told nothing about the product.", 100*math.Sqrt(off/size), short(left)),
		Tables: []Table{table},
		Charts: []Chart{{Columns: 2, Panels: []*panel{curve, trained}, Caption: "Left: expectation of the two estimators by f_d for a player that contributes 1 one time in ten, so that φ = 0.1. Right: what each does to the error on synth3."}},
	}, nil
}
