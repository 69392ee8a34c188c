package psi_test

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/table"
)

// lines are rows whose target is a line of two columns, or, of classes, its sign, with some noise.
func lines(t *testing.T, seed uint64, n int, classes bool) *table.Table {
	t.Helper()
	rng := newRand(t, seed)
	a, b, y, labels := make([]float64, n), make([]float64, n), make([]float64, n), make([]string, n)
	for i := range n {
		a[i], b[i] = rng.NormFloat64(), 5+2*rng.NormFloat64()
		y[i] = 100 + 10*a[i] - 4*b[i] + rng.NormFloat64()
		labels[i] = "low"
		if y[i] > 80 {
			labels[i] = "high"
		}
	}
	target := table.NumberColumn("y", y, nil)
	if classes {
		target = table.CategoryColumn("y", labels, nil)
	}
	rows, err := table.New(table.NumberColumn("a", a, nil), table.NumberColumn("b", b, nil), target)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestBaselinesAreMeasuredOnValidationRows(t *testing.T) {
	rows, held := lines(t, 1, 400, false), lines(t, 2, 150, false)
	m := trained(t, rows, psi.Config{Validation: held.Source(), Change: moment})
	manifest := m.Manifest()
	list := manifest.PlainModels()
	if len(list) != 3 || list[0].Name != "mean" || list[1].Name != "linear" || list[2].Name != "additive" {
		t.Fatalf("baselines %v", list)
	}
	mean, _ := meanStd(rows.Column("y").Numbers)
	square, absolute := 0.0, 0.0
	for _, y := range held.Column("y").Numbers {
		square += (y - mean) * (y - mean) / 150
		absolute += math.Abs(y-mean) / 150
	}
	near(t, "rmse of the mean", list[0].Metrics["rmse"], math.Sqrt(square))
	near(t, "mae of the mean", list[0].Metrics["mae"], absolute)
	if v := list[1].Metrics["rmse"]; v < 0.8 || v > 1.2 { // the noise has 1
		t.Errorf("rmse %g of the linear model", v)
	}
	if _, told := list[1].Metrics["coverage_90"]; told {
		t.Error("the linear model has intervals")
	}

	// Three steps learn nothing: the linear model wins, and that is said first.
	warnings := m.Warnings()
	if len(warnings) == 0 || !strings.HasPrefix(warnings[0].Kind, "no_better_than_") {
		t.Fatalf("warnings %v", warnings)
	}
	path, _ := saved(t, m)
	again, err := psi.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if !reflect.DeepEqual(again.Warnings(), warnings) || !reflect.DeepEqual(again.Manifest().Baselines, manifest.Baselines) {
		t.Errorf("after it was saved, the model warns %v", again.Warnings())
	}
}

// Of few rows of many columns the linear model names those that tell the target, and the warning's advice is to train on them.
func TestFewTellingColumnsAreNamed(t *testing.T) {
	const n, columns = 90, 60
	rng := newRand(t, 5)
	list, y := make([]*table.Column, columns), make([]float64, n)
	for c := range list {
		x := make([]float64, n)
		for i := range x {
			x[i] = rng.NormFloat64()
			y[i] += map[int]float64{7: 5, 41: -3}[c] * x[i]
		}
		list[c] = table.NumberColumn(fmt.Sprintf("c%02d", c), x, nil)
	}
	rows, err := table.New(append(list, table.NumberColumn("y", y, nil))...)
	if err != nil {
		t.Fatal(err)
	}
	m := trained(t, rows, psi.Config{Change: moment})
	path, _ := saved(t, m)
	again, err := psi.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	w, names := again.Warnings()[0], again.Manifest().LinearColumns
	if len(names) < 2 || !slices.Equal(names[:2], []string{"c07", "c41"}) || w.Kind != psi.NoBetterThanLinear ||
		!strings.Contains(w.Message, fmt.Sprintf("a linear model of %d of the 60 columns (c07, c41", len(names))) || !strings.Contains(w.Message, "R²") ||
		!strings.HasPrefix(w.Remedy, "Train on these alone (table.Options.Keep=c07,c41") {
		t.Errorf("%v: %v", names, w)
	}
}

func TestBaselinesOfClasses(t *testing.T) {
	rows, held := lines(t, 3, 400, true), lines(t, 4, 150, true)
	m := trained(t, rows, psi.Config{Validation: held.Source(), Change: moment})
	manifest := m.Manifest()
	share := 0.0
	for i := range 400 {
		if rows.Column("y").Text(i) == "low" { // the positive class is the last
			share += 1. / 400
		}
	}
	loss := 0.0
	for i := range 150 {
		if held.Column("y").Text(i) == "low" {
			loss -= math.Log(share) / 150
		} else {
			loss -= math.Log(1-share) / 150
		}
	}
	near(t, "log loss of the base rate", manifest.Baselines["mean"]["log_loss"], loss)
	if v := manifest.Baselines["linear"]["auroc"]; v < 0.97 {
		t.Errorf("auroc %g of the linear model", v)
	}
}

// Rows that count for nothing but their weights: the mean of the baselines is the weighted one.
func TestBaselinesCountByWeight(t *testing.T) {
	rows, held := lines(t, 5, 300, false), lines(t, 6, 60, false)
	weights := make([]float64, 300)
	sum, total := 0.0, 0.0
	for i, y := range rows.Column("y").Numbers {
		weights[i] = 1
		if y > 80 {
			weights[i] = 20
		}
		sum, total = sum+weights[i]*y, total+weights[i]
	}
	m := trained(t, weighted(t, rows, weights), psi.Config{Weight: "count", Validation: weighted(t, held, slices.Repeat([]float64{1}, 60)).Source(), Change: moment})
	square := 0.0
	for _, y := range held.Column("y").Numbers {
		square += (y - sum/total) * (y - sum/total) / 60
	}
	near(t, "rmse of the weighted mean", m.Manifest().Baselines["mean"]["rmse"], math.Sqrt(square))
}

// leaking are the rows of lines with a column that leaks the target in some way, and one that tells much but not all.
func leaking(t *testing.T, kind string) *table.Table {
	t.Helper()
	const n = 600
	classes := kind != "number" && kind != "none" && kind != "curve"
	rows := lines(t, 11, n, classes)
	rng := newRand(t, 12)
	leak, much := make([]float64, n), make([]float64, n)
	labels := make([]string, n)
	target := rows.Column("y")
	for i := range n {
		switch kind {
		case "number":
			leak[i] = 1.1*target.Numbers[i] + rng.NormFloat64()
			much[i] = target.Numbers[i] + 8*rng.NormFloat64() // R² .7
		case "curve":
			leak[i] = 1 / (200 + target.Numbers[i])
		case "none":
			leak[i] = rng.NormFloat64()
			much[i] = target.Numbers[i] + 5*rng.NormFloat64() // R² .85
		default:
			positive := target.Text(i) == "high"
			if much[i] = 2 * rng.NormFloat64(); positive { // AUROC .92
				much[i] += 4
			}
			leak[i], labels[i] = rng.NormFloat64(), "a"
			if kind == "gaps" && positive == (i%100 != 0) {
				leak[i] = math.NaN()
			}
			if kind == "labels" && positive == (i%100 != 0) {
				labels[i] = string("bc"[rng.IntN(2)])
			}
		}
	}
	leaks := table.NumberColumn("leak", leak, nil)
	if kind == "labels" {
		leaks = table.CategoryColumn("leak", labels, nil)
	}
	made, err := table.New(rows.Column("a"), rows.Column("b"), leaks, table.NumberColumn("much", much, nil), target)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// leakWarning is what a model says of leaks; the zero value if nothing.
func leakWarning(m *psi.Model) psi.Warning {
	for _, w := range m.Warnings() {
		if w.Kind == psi.Leak || w.Kind == psi.TooGood {
			return w
		}
	}
	return psi.Warning{}
}

func TestLeakIsAskedAbout(t *testing.T) {
	for kind, leaks := range map[string]bool{"number": true, "curve": true, "gaps": true, "labels": true, "none": false, "no class": false} {
		m := trained(t, leaking(t, kind), psi.Config{Change: moment})
		manifest, w := m.Manifest(), leakWarning(m)
		if !leaks {
			if manifest.Suspects != nil || w.Kind != "" {
				t.Errorf("%s: %v, %v", kind, manifest.Suspects, w)
			}
			continue
		}
		if len(manifest.Suspects) != 1 || manifest.Suspects[0].Column != "leak" || w.Kind != psi.Leak ||
			!strings.HasPrefix(w.Message, `Column "leak" (`) || !strings.Contains(w.Remedy, "Is it known when you predict?") || !strings.Contains(w.Remedy, "(Config.Drop=leak)") {
			t.Errorf("%s: %v, %v", kind, manifest.Suspects, w)
		}
		if !slices.Contains(m.Columns(), "leak") {
			t.Errorf("%s: the column was dropped", kind)
		}
		path, _ := saved(t, m)
		again, err := psi.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if leakWarning(again) != w || !reflect.DeepEqual(again.Manifest().Suspects, manifest.Suspects) {
			t.Errorf("%s: after it was saved, the model warns %v", kind, again.Warnings())
		}
		again.Close()
	}
}

// The R² of a column alone is that of the noise beside the target's variance.
func TestSuspectsAreMeasured(t *testing.T) {
	m := trained(t, leaking(t, "number"), psi.Config{Change: moment})
	// leak = 1.1 y + ε, so that of y's variance of about 165 a share of 1/(1.21·165) is left.
	if s := m.Manifest().Suspects; len(s) != 1 || s[0].Metric != "r2" || s[0].Value < 0.99 || s[0].Value > 0.997 {
		t.Errorf("suspects %v", s)
	}
}

func TestLeakOfThreeClasses(t *testing.T) {
	const n = 400
	rng := newRand(t, 13)
	y, leak, noise, other := make([]string, n), make([]string, n), make([]string, n), make([]float64, n)
	for i := range n {
		k := rng.IntN(3)
		noise[i] = fmt.Sprint("noise ", rng.IntN(3))
		y[i], leak[i], other[i] = fmt.Sprint("class ", k), fmt.Sprint("code ", k), float64(k)+rng.NormFloat64()
	}
	rows, err := table.New(
		table.CategoryColumn("noise", noise, nil), table.CategoryColumn("the code", leak, nil), table.CategoryColumn("again", leak, nil), table.NumberColumn("other", other, nil), table.CategoryColumn("y", y, nil),
	)
	if err != nil {
		t.Fatal(err)
	}
	m := trained(t, rows, psi.Config{Change: moment})
	w := leakWarning(m)
	if s := m.Manifest().Suspects; len(s) != 2 || s[0].Metric != "macro_auroc" || s[0].Value != 1 {
		t.Errorf("suspects %v", s)
	}
	if w.Message != `Each of the columns "the code" (macro AUROC 1) and "again" (macro AUROC 1) alone predicts "y" almost perfectly.` || !strings.HasSuffix(w.Remedy, "(Config.Drop).") {
		t.Errorf("%+v", w)
	}
}
