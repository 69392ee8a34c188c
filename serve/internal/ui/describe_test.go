package ui

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/table"
)

// trained is a model with a column of each kind, two of which are one player.
func trained(t *testing.T, labels int) *psi.Model {
	t.Helper()
	n := 4 * labels
	age, day, smokes, town, y := make([]float64, n), make([]time.Time, n), make([]bool, n), make([]string, n), make([]string, n)
	for i := range n {
		age[i], day[i], smokes[i] = float64(20+i%50), time.Unix(86400*int64(i), 0), i%3 > 0
		town[i] = fmt.Sprintf("town %04d", i%labels)
		y[i] = []string{"no", "yes"}[i/2%2]
	}
	rows, err := table.New(table.NumberColumn("age", age, nil), table.TimeColumn("day", day, nil), table.BooleanColumn("smokes", smokes, nil),
		table.CategoryColumn("town", town, nil), table.CategoryColumn("y", y, nil))
	if err != nil {
		t.Fatal(err)
	}
	m, err := psi.Train(context.Background(), rows.Source(), psi.Config{
		Target: "y", Backend: "go", Groups: []psi.Group{{Name: "who", Columns: []string{"age", "smokes"}}},
		Change: func(s *psi.Settings) {
			s.Channels, s.Embedding, s.Bins, s.Frequencies, s.Width = 8, 8, 12, 4, 16
			s.Batch, s.Steps, s.RefitSteps, s.PolishSteps, s.SpreadSteps = 64, 10, 5, 5, 5
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

func TestDescribe(t *testing.T) {
	m := trained(t, 40)
	d, err := Describe("smoking", "3", m)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(Models{[]Model{d}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`{"models":[{"name":"smoking","version":"3","versions":["3"],"task":"binary","target":"y","scale":"logit","non_negative":false,"outputs":["yes"],"classes":["no","yes"],`,
		`"players":[{"name":"who","columns":["age","smokes"]},{"name":"day","columns":["day"]},{"name":"town","columns":["town"]}]`,
		`{"name":"age","kind":"number","labels":null,"left":0,"low":20,"high":69,"whole":`,
		`{"name":"day","kind":"time","labels":null,"left":0,"low":`,
		`{"name":"smokes","kind":"boolean","labels":null,"left":0,"low":0,"high":1,"whole":true,"gap":false,"typical":true}`,
		`{"name":"town","kind":"category","labels":["town 0000","town 0001",`, `,"low":null,"high":null,"whole":false,"gap":false,"typical":"town 0000"}`,
		`"missing":[],"head":"exact","exact":true,"digest":"`, `"kept":false}]}`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s\nlacks %s", text, want)
		}
	}
	if len(d.Base) != 1 {
		t.Errorf("base %v", d.Base)
	}
}

// A choice among thousands of labels is not sent, only how many are left out.
func TestDescribeManyLabels(t *testing.T) {
	c := column(psi.Input{Kind: table.Category, Labels: make([]string, maxLabels+7)})
	if len(c.Labels) != maxLabels || c.Left != 7 || c.Typical != nil {
		t.Errorf("%d labels, %d left, typical %v", len(c.Labels), c.Left, c.Typical)
	}
}
