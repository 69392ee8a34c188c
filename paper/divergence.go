package main

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/psi-shapley/psi/internal/synth"
	"github.com/psi-shapley/psi/table"
)

func divergenceItem() Item {
	return Item{
		Name: "JDIV", Title: "J-divergence of what a model draws from what was observed",
		Claim: "Figure fig:amrginals: data drawn from a PSI with MENN is nearer to the observed data than with an FFNN, in full and over the marginals that Shapley values need.",
		Protocol: "As app:jsd: for every coalition S, ŷ is drawn from p(y | x_S) of the model for the test rows and the histograms of (y, x_S) and (ŷ, x_S) are compared by " +
			"½ (KL(p‖q) + KL(q‖p)) with KL(q‖p) = Σ q log(q/p), the divergence of the paper's text; its appendix prints Σ q log p, which is no divergence: it is below 0, and not 0 for equal laws. Marginals are weighed as in Shapley values, *full* is S = all columns. 20 numbers of cells from U(10, 200), which the axes share evenly: " +
			"the paper does not say how its bins divide several axes; empty cells count half a row. Models are those of TABLE1: the exact head by its whole recipe; MENN on lifted numbers (`ls`, β′ = 1, two folds); MENN and FFNN on numbers as they are; five folds where no other number is said. " +
			"*Truth* draws ŷ from the process itself: what the number of rows alone leaves. The claim is about nets that have learned, so it is judged only on sets where the RMSE of the FFNN here is at most 1.1 times the paper's.",
		Run: runDivergence,
	}
}

// divergence is of one model.
type divergence struct {
	Full     float64 `json:"full"`
	Marginal float64 `json:"marginal"`
	Floor    float64 `json:"floor"` // of the process itself, in full
}

func (d divergence) full() float64     { return d.Full }
func (d divergence) marginal() float64 { return d.Marginal }

// z-scores, bins and draws come from one seed, so that models are compared on the same ones.
const divergenceSeed = 7

func measureDivergence(ctx context.Context, f *Fitted) (divergence, error) {
	var out divergence
	truth, err := sampleOf(f.Set.Name)
	if err != nil {
		return out, err
	}
	rng := rand.New(rand.NewPCG(divergenceSeed, 0))
	y := pick(truth.Y, f.Test)
	var x [3][]float64
	for d := range x {
		x[d] = pick(truth.X[d], f.Test)
	}
	const players = 3
	for s := range 1 << players {
		p, err := f.Predict(ctx, coalition(f.Tested(), s).Source())
		if err != nil {
			return out, err
		}
		drawn := make([]float64, len(y))
		for i := range drawn {
			drawn[i] = p.Mean[i] + p.Std[i]*rng.NormFloat64()
		}
		var axes [][]float64
		for d := range players {
			if s>>d&1 == 1 {
				axes = append(axes, x[d])
			}
		}
		j := jeffreys(y, drawn, axes, rng)
		if len(axes) == players {
			out.Full = j
			again := make([]float64, len(y))
			for i, row := range f.Test {
				again[i] = truth.Expected[row] + noiseOf(truth, row)*rng.NormFloat64()
			}
			out.Floor = jeffreys(y, again, axes, rng)
			continue
		}
		out.Marginal += shapleyWeight(len(axes), players) * j
	}
	return out, nil
}

// noiseOf is the standard deviation of y given the whole row.
func noiseOf(truth *synth.Sample, row int) float64 {
	variance := truth.NoiseStd[row] * truth.NoiseStd[row]
	for _, s := range truth.Std {
		variance += s[row] * s[row]
	}
	return math.Sqrt(variance)
}

// shapleyWeight is Σ_{j∉S} |S|! (D−|S|−1)! / D! / D of a coalition S of a size.
func shapleyWeight(size, players int) float64 {
	weight := float64(players-size) / float64(players)
	for k := range players - size - 1 {
		weight *= float64(k + 1)
	}
	for k := size + 1; k <= players; k++ {
		weight /= float64(k)
	}
	return weight
}

// coalition is the table without the cells of the columns that are not in S.
func coalition(t *table.Table, s int) *table.Table {
	out := &table.Table{}
	for d, c := range t.Columns {
		if d < 3 && s>>d&1 == 0 {
			c = table.NumberColumn(c.Name, make([]float64, c.Len()), make([]bool, c.Len()))
		}
		out.Columns = append(out.Columns, c)
	}
	return out
}

// jeffreys is the divergence of (y, axes) and (drawn, axes), the mean over histograms of several sizes.
func jeffreys(y, drawn []float64, axes [][]float64, rng *rand.Rand) float64 {
	const histograms = 20
	low, high := math.Inf(1), math.Inf(-1)
	for i := range y {
		low, high = min(low, y[i], drawn[i]), max(high, y[i], drawn[i])
	}
	mean := 0.0
	for range histograms {
		cells := 10 + 190*rng.Float64()
		per := max(2, int(math.Round(math.Pow(cells, 1/float64(len(axes)+1)))))
		place := func(v, low, high float64) int { return min(per-1, int(float64(per)*(v-low)/(high-low))) }
		p, q := map[int]float64{}, map[int]float64{}
		for i := range y {
			at := 0
			for _, axis := range axes {
				at = at*per + place(axis[i], -4, 4)
			}
			p[at*per+place(y[i], low, high)]++
			q[at*per+place(drawn[i], low, high)]++
		}
		mean += jeffreysOf(p, q, len(y)) / histograms
	}
	return mean
}

// jeffreysOf compares counts of cells; a cell that one of them lacks counts half a row there.
func jeffreysOf(p, q map[int]float64, rows int) float64 {
	sum := 0.0
	add := func(a, b float64) {
		a, b = max(a, .5)/float64(rows), max(b, .5)/float64(rows)
		sum += .5 * (a - b) * math.Log(a/b)
	}
	for cell, n := range p {
		add(n, q[cell])
	}
	for cell, n := range q {
		if p[cell] == 0 {
			add(0, n)
		}
	}
	return sum
}

// drawer is a model that data are drawn from.
type drawer struct {
	name     string
	folds    int
	training recipe
}

const (
	rawMENN = "MENN, numbers as they are"
	rawFFNN = "FFNN, numbers as they are"
)

func drawers() []drawer {
	return []drawer{
		{"exact head", allFolds, func(set string, fold int) Training { return Training{Set: set, Fold: fold, Head: "exact"} }},
		{"MENN, lifted numbers", gridFolds["menn"], gridRow{"menn", "ls", divergenceBeta}.training},
		{rawMENN, allFolds, rawRecipe("menn")},
		{rawFFNN, allFolds, rawRecipe("ffnn")},
	}
}

func runDivergence(ctx context.Context, l *Lab) (*Answer, error) {
	found := Table{Header: []string{"set", "model", "full", "marginal", "truth, full"}}
	panels := []*panel{newPanel("full", "", "J-divergence").logY().names(synthNames...), newPanel("marginal", "", "J-divergence").logY().names(synthNames...)}
	folds := map[string]map[string][]divergence{} // by model, then set
	for m, model := range drawers() {
		folds[model.name] = map[string][]divergence{}
		var x []float64
		var y, sd [2][]float64
		for _, set := range synthNames {
			ts := each(l.folds(model.folds), func(fold int) Training { return model.training(set, fold) })
			answers, err := askAll(ctx, l, ts, "jeffreys", measureDivergence)
			if err != nil {
				return nil, err
			}
			for _, a := range answers {
				folds[model.name][set] = append(folds[model.name][set], a.Answer)
			}
			of := func(f func(divergence) float64) spread { return over(answers, f) }
			whole, marginal := of(divergence.full), of(divergence.marginal)
			found.Rows = append(found.Rows, []string{set, model.name, whole.String(), marginal.String(), of(func(d divergence) float64 { return d.Floor }).String()})
			x = append(x, float64(slices.Index(synthNames, set))+.15*(float64(m)-1.5))
			for i, s := range []spread{whole, marginal} {
				y[i], sd[i] = append(y[i], s.Mean), append(sd[i], s.SD)
			}
		}
		for i, p := range panels {
			p.whiskers(model.name, x, y[i], sd[i], seriesColour(m))
		}
	}
	_, raw, err := rawNets(ctx, l)
	if err != nil {
		return nil, err
	}
	verdict, text := divergenceVerdict(folds[rawMENN], folds[rawFFNN], func(set string) float64 {
		return raw["ffnn"].rmse(set).Mean / paperBestOf("ffnn", slices.Index(synthNames, set))
	})
	return &Answer{
		Verdict: verdict, Text: text, Tables: []Table{found},
		Charts: []Chart{{Columns: 2, Panels: panels, Caption: "J-divergence of drawn from observed data, mean and standard deviation over folds: all columns (left), the marginals of Shapley values (right). Lower is nearer."}},
	}, nil
}

// learnedEnough is the RMSE of an FFNN that has learned, at most, relative to the paper's.
const learnedEnough = 1.1

// divergenceVerdict judges the sets on which the FFNN, by its RMSE relative to the paper's, has learned.
func divergenceVerdict(menn, ffnn map[string][]divergence, relative func(set string) float64) (verdict, text string) {
	wins, always, cells, least, apart := 0, 0, 0, math.Inf(1), 0.0
	var sets []string
	for _, set := range slices.Sorted(maps.Keys(ffnn)) {
		least = min(least, relative(set))
		if relative(set) > learnedEnough {
			continue
		}
		sets = append(sets, set)
		for _, of := range []func(divergence) float64{divergence.full, divergence.marginal} {
			a, b := column(menn[set], of), column(ffnn[set], of)
			ratio := spreadOf(a).Mean / spreadOf(b).Mean
			cells, wins, always = cells+1, wins+count(ratio < 1), always+count(below(a, b))
			apart = max(apart, math.Abs(ratio-1))
		}
	}
	if cells == 0 {
		return "Not answered. No FFNN here has learned its set as the paper's has, so that a MENN is nearer to the data says nothing of the two nets.",
			fmt.Sprintf("The RMSE of the FFNN here is at least %.2f times the paper's.", least)
	}
	return fmt.Sprintf("Where the FFNN has learned (%s), MENN is nearer in %d of %d comparisons of means over folds, which differ by at most %.0f %%, and in every fold in %d.", strings.Join(sets, ", "), wins, cells, 100*apart, always),
		"Other sets are not judged: a MENN that is nearer than an FFNN that has not learned says nothing of the two nets."
}

// divergenceBeta is that of the models compared.
const divergenceBeta = "1"
