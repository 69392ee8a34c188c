package psi

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/psi-shapley/psi/table"
)

// A model that is too good is doubted; once a column is asked about, that says it all.
func TestTooGoodModelIsDoubted(t *testing.T) {
	for _, c := range []struct {
		task     Task
		metric   string
		value    float64
		suspects []Suspect
		want     string
	}{
		{Regression, "r2", 0.9989, nil, ""},
		{Regression, "r2", 0.999, nil, TooGood},
		{Binary, "auroc", 1, nil, TooGood},
		{Multiclass, "macro_auroc", 0.9995, nil, TooGood},
		{Binary, "auroc", 1, []Suspect{{"a", "auroc", 0.99}}, Leak},
		{Regression, "rmse", 2, nil, ""},
	} {
		m := &Manifest{Task: c.task, Metrics: map[string]float64{c.metric: c.value}, Suspects: c.suspects}
		if w, suspicious := m.leak(); w.Kind != c.want || suspicious != (c.want != "") || suspicious && !strings.HasSuffix(w.Message, ".") {
			t.Errorf("%s of %g: %+v", c.metric, c.value, w)
		}
	}
}

func TestDropFlag(t *testing.T) {
	for want, names := range map[string][]string{
		"Config.Drop=a,größe_2": {"a", "größe_2"},
		"Config.Drop":           {"a", "paid late"},
	} {
		if got := columnsSetting("Config.Drop", names); got != want {
			t.Errorf("%q: %s", names, got)
		}
	}
	for _, name := range []string{"a,b", "$(rm)", "", "x'y"} {
		if got := columnsSetting("Config.Drop", []string{name}); got != "Config.Drop" {
			t.Errorf("%q: %s", name, got)
		}
	}
}

func TestManySuspectsAreFewWords(t *testing.T) {
	m := &Manifest{Task: Binary}
	for i := range 8 {
		m.Suspects = append(m.Suspects, Suspect{fmt.Sprint("c", i), "auroc", 0.99})
	}
	w, _ := m.leak()
	if !strings.Contains(w.Message, `"c4" (AUROC 0.99) and 3 more alone`) || strings.Contains(w.Message, "c5") || !strings.Contains(w.Remedy, "c7)") {
		t.Errorf("%+v", w)
	}
}

func TestUnsoundSuspects(t *testing.T) {
	m := &Manifest{Task: Binary, Columns: []table.Field{{Name: "a"}}}
	for _, c := range []struct {
		suspect Suspect
		sound   bool
	}{
		{Suspect{"a", "auroc", 0.99}, true},
		{Suspect{"b", "auroc", 0.99}, false},
		{Suspect{"a", "r2", 0.99}, false},
		{Suspect{"a", "auroc", 1.01}, false},
		{Suspect{"a", "auroc", math.NaN()}, false},
	} {
		m.Suspects = []Suspect{c.suspect}
		if err := m.checkSuspects(); (err == nil) != c.sound {
			t.Errorf("%+v: %v", c.suspect, err)
		}
	}
}
