package psi_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/table"
)

// Rows that are there several times are warned of, unless a column keeps them together or chance explains them.
func TestRowsThatRepeat(t *testing.T) {
	const different = 100
	rng := rand.New(rand.NewPCG(1, 0))
	repeated := func(times int, number func() float64) *table.Table {
		var x, y, who []float64
		for i := range different {
			a, b := number(), number()
			for range times {
				x, y, who = append(x, a), append(y, b), append(who, float64(i/2))
			}
		}
		rows, err := table.New(table.NumberColumn("x", x, nil), table.NumberColumn("y", y, nil), table.NumberColumn("who", who, nil))
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	few := func() float64 { return float64(rng.IntN(5)) }
	for _, c := range []struct {
		what   string
		rows   *table.Table
		config psi.Config
		want   []string
	}{
		{"twice", repeated(2, rng.NormFloat64), psi.Config{}, []string{"200 of 200 rows appear more than once", "both train and validate", "Config.ValidationBy"}},
		{"with rows to validate", repeated(2, rng.NormFloat64), psi.Config{Validation: repeated(1, rng.NormFloat64).Source()}, []string{"200 of 200 rows", "doubt looks too small"}},
		{"kept together", repeated(2, rng.NormFloat64), psi.Config{ValidationBy: "who"}, nil},
		{"once", repeated(1, rng.NormFloat64), psi.Config{}, nil},
		{"by chance", repeated(2, few), psi.Config{}, nil},
	} {
		var notes []string
		c.config.Progress = func(p psi.Progress) {
			if p.Warning && strings.Contains(p.Note, "rows") {
				notes = append(notes, p.Note)
			}
		}
		if c.config.ValidationBy == "" {
			c.config.Drop = []string{"who"}
		}
		c.config.Change = quick
		trained(t, c.rows, c.config)
		if (len(notes) == 1) != (c.want != nil) || len(notes) > 1 {
			t.Errorf("%s: warned %q", c.what, notes)
			continue
		}
		for _, part := range c.want {
			if !strings.Contains(notes[0], part) {
				t.Errorf("%s: %q is not in %q", c.what, part, notes[0])
			}
		}
	}
}

// A recipe goes by the rows that differ: a table five times over is not a larger one.
func TestCopiesAreNoMoreRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 0))
	recipe := func(times int) psi.Settings {
		var x, y, who []float64
		for i := range 700 {
			a := rng.NormFloat64()
			for range times {
				x, y, who = append(x, a), append(y, a*a), append(who, float64(i))
			}
		}
		rows, err := table.New(table.NumberColumn("x", x, nil), table.NumberColumn("y", y, nil), table.NumberColumn("who", who, nil))
		if err != nil {
			t.Fatal(err)
		}
		var settings psi.Settings
		trained(t, rows, psi.Config{ValidationBy: "who", Change: func(s *psi.Settings) { settings = *s; quick(s) }})
		return settings
	}
	if once, often := recipe(1), recipe(5); once != often {
		t.Errorf("%+v, and with copies %+v", once, often)
	}
}
