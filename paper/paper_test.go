package main

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if !(math.Abs(got-want) <= within) {
		t.Errorf("%s is %g, want %g", what, got, want)
	}
}

// The weights of all coalitions but the whole add up to 1, and those of app:jsd are Σ_j p(S)/D.
func TestShapleyWeight(t *testing.T) {
	for players := 1; players < 8; players++ {
		sum, choose := 0.0, 1.0
		for size := range players {
			sum += choose * shapleyWeight(size, players)
			choose *= float64(players-size) / float64(size+1)
		}
		near(t, "sum of weights", sum, 1, 1e-12)
	}
	near(t, "weight of one of three", shapleyWeight(1, 3), 2./3/6, 1e-15)
}

// Two laws of two cells each.
func TestJeffreysOfCounts(t *testing.T) {
	p, q := map[int]float64{0: 30, 1: 70}, map[int]float64{0: 60, 1: 40}
	want := .5 * (.3*math.Log(.3/.6) + .7*math.Log(.7/.4) + .6*math.Log(.6/.3) + .4*math.Log(.4/.7))
	near(t, "divergence", jeffreysOf(p, q, 100), want, 1e-12)
	near(t, "divergence from itself", jeffreysOf(p, p, 100), 0, 0)
	near(t, "an empty cell", jeffreysOf(map[int]float64{0: 1}, map[int]float64{1: 1}, 1), .5*math.Log(2), 1e-12)
}

// Samples of one law are nearer than those of two.
func TestJeffreysTellsLawsApart(t *testing.T) {
	const seed, rows = 11, 4000
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	draw := func(shift float64) []float64 {
		x := make([]float64, rows)
		for i := range x {
			x[i] = shift + rng.NormFloat64()
		}
		return x
	}
	a, same, other := draw(0), draw(0), draw(1)
	near, far := jeffreys(a, same, nil, rng), jeffreys(a, other, nil, rng)
	t.Logf("same %.3f, other %.3f", near, far)
	if near > .1 || math.Abs(far-.5) > .2 { // of two normals one deviation apart it is ½
		t.Errorf("same law %.3f, shifted by one standard deviation %.3f", near, far)
	}
}

// What an FFNN that has not learned shows is no verdict on nets; one that has counts, set by set.
func TestDivergenceVerdict(t *testing.T) {
	menn, ffnn := map[string][]divergence{}, map[string][]divergence{}
	for k, set := range synthNames {
		marginal := .5 + .5*float64(k%2)
		menn[set] = []divergence{{Full: .8, Marginal: .6}, {Full: 1, Marginal: .6}}
		ffnn[set] = []divergence{{Full: 1.1, Marginal: marginal}, {Full: .9, Marginal: marginal}}
	}
	for _, c := range []struct {
		relative []float64
		want     string
	}{
		{[]float64{6, 5, 10, 1.3, 2}, "Not answered."},
		{[]float64{6, 1.1, 10, 1.3, 2}, "Where the FFNN has learned (synth2), MENN is nearer in 2 of 2 comparisons of means over folds, which differ by at most 40 %, and in every fold in 1."},
		{[]float64{1, 1, 1, 1, 1}, "Where the FFNN has learned (synth1, synth2, synth3, synth4, synth5), MENN is nearer in 7 of 10 comparisons of means over folds, which differ by at most 40 %, and in every fold in 2."},
	} {
		if got, _ := divergenceVerdict(menn, ffnn, func(set string) float64 { return c.relative[slices.Index(synthNames, set)] }); !strings.HasPrefix(got, c.want) {
			t.Errorf("%v: %s", c.relative, got)
		}
	}
	near(t, "cells of the paper's Table 1 that MENN wins", float64(paperWins()), 18, 0)
	near(t, "the paper's FFNN on synth3", paperBestOf("ffnn", 2), .174, 0)
}

// Estimates of a game come to its Shapley values: at once where the game is additive, in the mean where not.
func TestEstimatesOfAGame(t *testing.T) {
	const seed, d = 12, 4
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	v, phi := randomGame(d, rng), make([]float64, d)
	additive, each := make([]float64, 1<<d), []float64{1, -2, 3, .5}
	for p := range d {
		phi[p] = meanOf(contributions(v, d, p))
	}
	for s := range additive {
		additive[s] = 7
		for p, x := range each {
			additive[s] += float64(s>>p&1) * x
		}
	}
	for name, estimate := range map[string]func([]float64, int, int, *rand.Rand) []float64{"permutation": byPermutation, "kernel": byKernel} {
		near(t, name+" of an additive game", rmse(estimate(additive, d, 40, rng), each), 0, 1e-6)
		mean := make([]float64, d)
		const draws = 4000
		for range draws {
			for p, x := range estimate(v, d, 30, rng) {
				mean[p] += x / draws
			}
		}
		// A regression on few coalitions is biased a little.
		near(t, name+" of a random game", rmse(mean, phi), 0, .05)
		near(t, name+" adds up", sum(estimate(v, d, 30, rng)), v[1<<d-1]-v[0], 1e-9)
	}
}

func sum(x []float64) float64 { return spreadOf(x).Mean * float64(len(x)) }

func TestMinimisers(t *testing.T) {
	skewed := []contribution{{1, .1}, {0, .9}}
	near(t, "mean", meanOf(skewed), .1, 1e-15)
	near(t, "median", median(skewed), 0, 0)
	if absolute(skewed, 0) >= absolute(skewed, .1) {
		t.Error("the absolute value is not least at the median")
	}
}

// The printed forms differ from the integrals, whose sum is log Φ(μ/σ).
func TestTruncatedNormal(t *testing.T) {
	q, p := integrated(1, 1), printed(1, 1)
	near(t, "mass", q.Mass, .5*math.Erfc(-1/math.Sqrt2), 1e-9)
	near(t, "entropy and cross-entropy", q.Entropy+q.Cross, math.Log(q.Mass), 1e-6)
	if math.Abs(p.Mass-q.Mass) < .01 || math.Abs(p.Entropy-q.Entropy) < .01 || math.Abs(p.Cross-q.Cross) < .01 {
		t.Errorf("printed %+v, integrated %+v: no longer different", p, q)
	}
}

func TestStandardisedAttributions(t *testing.T) {
	got := standardised([]float64{0, 1, 2}, []float64{0, 1, 0}, 2)
	if want := []float64{0, 1, 2. / 3}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if order := rankAt([]float64{0, 1, 2}, []float64{0, 1, 0}, 2); !slices.Equal(order, []int{1, 2, 0}) {
		t.Errorf("order %v", order)
	}
}

func TestSpreads(t *testing.T) {
	s := spreadOf([]float64{1, 2, 3, 4, 5})
	near(t, "sd", s.SD, math.Sqrt(2.5), 1e-12)
	for _, c := range []struct {
		s    spread
		want string
	}{{s, "3.000 ± 1.581"}, {spread{}, "–"}, {spread{.0004, 0, 1}, "4.0e-04 [1]"}, {spread{12.34, .5, 2}, "12.3 ± 0.500 [2]"}} {
		if got := c.s.String(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// Every item can be asked for by its name, and says what it is about.
func TestItems(t *testing.T) {
	for _, item := range items() {
		chosen, err := choose([]string{item.Name})
		if err != nil || len(chosen) != 1 || item.Title == "" || item.Claim == "" || item.Protocol == "" || item.Run == nil {
			t.Errorf("%s: %v, %d items", item.Name, err, len(chosen))
		}
	}
	if _, err := choose([]string{"TABLE9"}); err == nil {
		t.Error("an unknown item is no error")
	}
}

// A digest depends on everything a training does.
func TestDigests(t *testing.T) {
	t1 := Training{Set: "synth1", Head: "exact"}
	seen := map[string]bool{}
	for _, t2 := range []Training{t1, {Set: "synth1", Fold: 1, Head: "exact"}, {Set: "synth2", Head: "exact"}, {Set: "synth1", Head: "learned"}, t1.with(map[string]string{"steps": "5"}), {Set: "synth1", Head: "exact", Rows: 9}} {
		s, err := t2.settings()
		if err != nil {
			t.Fatal(err)
		}
		seen[digest(t2, s)] = true
	}
	if len(seen) != 6 {
		t.Errorf("%d digests of 6 trainings", len(seen))
	}
}

// An item that is run alone replaces its own section and leaves the others as they are.
func TestSectionsOfOthersStay(t *testing.T) {
	l := newLab(t.TempDir(), 1, false)
	o := &output{dir: l.dir}
	all := items()
	first, last := all[0], all[len(all)-1]
	answers := []struct {
		item    Item
		verdict string
	}{{last, "It holds."}, {first, "Not yet."}, {first, "It does."}}
	for _, a := range answers {
		shown := Table{Header: []string{"set"}, Rows: [][]string{{"synth1"}}}
		long := Table{File: "long", Header: []string{"row", "x"}, Rows: [][]string{{"1", "0.5"}}}
		if err := o.write(l, a.item, &Answer{Verdict: a.verdict, Text: "Text.", Tables: []Table{shown, long}}); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob(filepath.Join(l.dir, "results", "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files %q, want long.csv alone: %v", files, err)
	}
	if data, err := os.ReadFile(files[0]); err != nil || string(data) != "row,x\n1,0.5\n" {
		t.Errorf("long.csv holds %q: %v", data, err)
	}
	text, err := os.ReadFile(filepath.Join(l.dir, resultsFile))
	if err != nil {
		t.Fatal(err)
	}
	results := string(text)
	for item, verdict := range map[string]string{first.Name: "It does.", last.Name: "It holds."} {
		line := "**Verdict.** " + verdict + "\n\nText.\n\n| set |\n| --- |\n| synth1 |\n\nData: [long.csv](results/long.csv)\n"
		if section := sectionOf(results, Item{Name: item}); strings.Count(section, line) != 1 || strings.Count(section, "**Verdict.**") != 1 {
			t.Errorf("section of %s:\n%s", item, section)
		}
	}
	if strings.Contains(results, "Not yet.") || strings.Index(results, heading+first.Name) > strings.Index(results, heading+last.Name) {
		t.Errorf("sections are old or out of order:\n%s", results)
	}
}

func TestEveryItemHasASection(t *testing.T) {
	results, err := os.ReadFile(resultsFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range items() {
		if !strings.Contains(sectionOf(string(results), item), "**Verdict.** ") {
			t.Errorf("%s has no section", item.Name)
		}
	}
}
