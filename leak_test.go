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
