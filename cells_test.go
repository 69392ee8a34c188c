package psi_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/internal/artifact"
	"github.com/psi-shapley/psi/table"
)

// telling is a table whose gaps alone tell the class.
func telling(t testing.TB, n int) *table.Table {
	t.Helper()
	rng := newRand(t, 12)
	x, noise, label, y := make([]float64, n), make([]float64, n), make([]string, n), make([]bool, n)
	xSeen, labelSeen := make([]bool, n), make([]bool, n)
	for i := range n {
		x[i], noise[i], label[i] = rng.NormFloat64(), rng.NormFloat64(), []string{"a", "b"}[rng.IntN(2)]
		xSeen[i], labelSeen[i] = rng.IntN(3) > 0, rng.IntN(3) > 0
		y[i] = !xSeen[i] || !labelSeen[i]
	}
	rows, err := table.New(table.NumberColumn("x", x, xSeen), table.CategoryColumn("label", label, labelSeen),
		table.NumberColumn("noise", noise, nil), table.BooleanColumn("y", y, nil))
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// A gap that is a level has an attribution; one that is not, or whose column is unknown, has
// none.
func TestGapsThatAreLevels(t *testing.T) {
	rows := telling(t, 300)
	gaps := trained(t, rows, psi.Config{MissingAsLevel: []string{"x", "label"}, Change: quick})
	plain := trained(t, rows, psi.Config{Change: quick})
	with, without := explained(t, gaps, rows, psi.ExplainOptions{}), explained(t, plain, rows, psi.ExplainOptions{})
	unknown := explained(t, gaps, rows, psi.ExplainOptions{Unknown: []string{"x", "label"}})
	addUp(t, with)
	for k, name := range []string{"x", "label"} {
		column := rows.Column(name)
		credit, count := 0.0, 0.0
		for i, seen := range column.Observed {
			at := i*3 + k
			if !with.Observed[at] || with.Mean[at] == 0 || with.Std[at] == 0 {
				t.Fatalf("%s of row %d is a level, but has %v ± %v", name, i, with.Mean[at], with.Std[at])
			}
			if without.Observed[at] != seen || (without.Mean[at] != 0) != seen || (without.Std[at] != 0) != seen {
				t.Fatalf("%s of row %d: observed %v, but it has %v ± %v", name, i, seen, without.Mean[at], without.Std[at])
			}
			if unknown.Observed[at] || unknown.Mean[at] != 0 || unknown.Std[at] != 0 {
				t.Fatalf("%s of row %d is unknown, but has %v ± %v", name, i, unknown.Mean[at], unknown.Std[at])
			}
			if !seen {
				credit += with.Mean[at]
				count++
			}
		}
		if credit/count < 0.3 {
			t.Errorf("gaps of %s decide the class, but have a mean attribution of %v", name, credit/count)
		}
	}
	for i, h := range unknown.HiddenStd {
		if h == 0 || with.HiddenStd[i] != 0 {
			t.Errorf("row %d: hidden cells add %v, levels %v", i, h, with.HiddenStd[i])
		}
	}
	if a := with.Attribution(slices.Index(rows.Column("x").Observed, false), 0, 0); a.Value != "" || !a.Observed {
		t.Errorf("a gap is told as %+v", a)
	}
}

// A column of times is one player in its place, however many numbers it is read as.
func TestTimesAreOnePlayer(t *testing.T) {
	rows := people(t, newRand(t, 13), 200, 2)
	m := trained(t, rows, psi.Config{Change: quick})
	if k := m.Manifest().Columns[0].Kind; k != table.Time || m.Manifest().Encoder.Times() != 1 {
		t.Fatalf("visit is a %v", k)
	}
	fast := explained(t, m, rows, psi.ExplainOptions{To: 20})
	exact := explained(t, m, rows, psi.ExplainOptions{To: 20, Mode: explain.Exact})
	if !slices.Equal(fast.Players, []string{"visit", "town", "age", "size"}) || fast.Values[0].Kind != table.Time {
		t.Errorf("players %v", fast.Players)
	}
	if r := apart(fast.Mean, exact.Mean); !(r < 1e-5) {
		t.Errorf("attributions differ from those of all coalitions by %.1e", r)
	}
	moved := rows.Select([]int{0, 0, 0})
	visit := moved.Column("visit").Numbers
	visit[0] = float64(time.Date(2021, 6, 6, 0, 0, 0, 0, time.UTC).Unix())
	visit[1], visit[2] = visit[0]+86400, visit[0]+2*86400
	e := explained(t, m, moved, psi.ExplainOptions{})
	if e.Mean[0] == e.Mean[4] || e.Mean[4] == e.Mean[8] {
		t.Errorf("three days in a row have attributions %v, %v, %v", e.Mean[0], e.Mean[4], e.Mean[8])
	}
	if seasons := m.Manifest().Encoder.Players[2].Cycles; !slices.Equal(seasons, []bool{false, true, true, true}) {
		t.Errorf("days of three years are seen in periods %v", seasons)
	}
}

// Labels that training did not meet are marked.
func TestLabelsNotKnownFromTraining(t *testing.T) {
	rows := people(t, newRand(t, 14), 200, 2)
	m := trained(t, rows, psi.Config{Change: quick})
	if e := explained(t, m, rows, psi.ExplainOptions{}); e.Other != nil {
		t.Error("labels of training are not known")
	}
	town := table.CategoryColumn("town", []string{"Aix", "Ely", "", "Fez", "Dax"}, []bool{true, true, false, true, true})
	few := rows.Select([]int{0, 1, 2, 3, 4})
	few.Columns[1] = town
	e := explained(t, m, few, psi.ExplainOptions{})
	for i := range 5 {
		for k, name := range e.Players {
			if want := name == "town" && (i == 1 || i == 3); e.Other[i*4+k] != want {
				t.Errorf("%s of row %d is marked: %v", name, i, !want)
			}
		}
	}
	// All such labels are one, and count as much as any.
	same := explained(t, m, rows.Select([]int{1, 1}), psi.ExplainOptions{})
	pair := rows.Select([]int{1, 1})
	pair.Columns[1] = table.CategoryColumn("town", []string{"Ely", "Fez"}, nil)
	other := explained(t, m, pair, psi.ExplainOptions{})
	if other.Mean[1] != other.Mean[5] || other.Mean[1] == same.Mean[1] || other.Mean[1] == 0 {
		t.Errorf("attributions of labels that are not known: %v and %v; of one that is: %v", other.Mean[1], other.Mean[5], same.Mean[1])
	}
	grouped := explained(t, m, few, psi.ExplainOptions{Groups: body()})
	if !slices.Equal(grouped.Other, []bool{false, false, false, false, true, false, false, false, false, false, true, false, false, false, false}) {
		t.Errorf("marks of groups: %v", grouped.Other)
	}
	if unknown := explained(t, m, few, psi.ExplainOptions{Unknown: []string{"town"}}); unknown.Other != nil {
		t.Error("a label that is not looked at is marked")
	}
}

// priced is a table whose numbers and dates are not written plainly, the target neither.
func priced(t *testing.T) *table.Table {
	t.Helper()
	text := "rent;since;rooms;y\n"
	for i := range 60 {
		text += fmt.Sprintf("€ %d.%03d,50;%d.1.2020;%d;%d,5 %%\n", 1+i%3, i*37%1000, 1+i%31, i%4, i*i%23)
	}
	source, err := table.OpenReader(strings.NewReader(text), table.CSV, table.Options{Guess: &table.Guess{}})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := table.ReadAll(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// A model keeps how its columns were read, requires programs that can do so, and reads columns of text alike.
func TestReadingsAreKept(t *testing.T) {
	rows := priced(t)
	model := trained(t, rows, psi.Config{Change: moment})
	path, content := saved(t, model)
	file, err := artifact.Read(content, artifact.Model)
	if err != nil || !slices.Equal(file.Requires, []string{"product", "ranges", "readings", "non-negative"}) {
		t.Errorf("requires %q, %v", file.Requires, err)
	}
	opened, err := psi.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	o := opened.ReadOptions()
	for name, want := range map[string]string{"rent": "&{, € map[]}", "since": "&{  map[.:dmy]}", "y": "&{, % map[]}", "rooms": "<nil>"} {
		if got := fmt.Sprint(o.Readings[name]); got != want {
			t.Errorf("%s is read by %s, want %s", name, got, want)
		}
	}

	text, err := table.New(
		table.CategoryColumn("rent", []string{"1.200,50 €", "free", "3.000"}, nil), table.CategoryColumn("since", []string{"2.1.2020", "2020-01-03", "never"}, nil),
		table.NumberColumn("rooms", []float64{1, 2, 3}, nil), table.CategoryColumn("y", []string{"1%", "2 %", "3"}, nil),
	)
	if err != nil {
		t.Fatal(err)
	}
	day := func(n float64) float64 { return 1577836800 + 86400*(n-1) } // of January 2020
	plain, err := table.New(
		table.NumberColumn("rent", []float64{1200.5, 0, 3000}, []bool{true, false, true}),
		&table.Column{Name: "since", Kind: table.Time, Numbers: []float64{day(2), day(3), 0}, Observed: []bool{true, true, false}},
		table.NumberColumn("rooms", []float64{1, 2, 3}, nil), table.NumberColumn("y", []float64{1, 2, 3}, nil),
	)
	if err != nil {
		t.Fatal(err)
	}
	got, err := opened.Explain(t.Context(), text.Source(), psi.ExplainOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want, err := opened.Explain(t.Context(), plain.Source(), psi.ExplainOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.Mean, want.Mean) || !slices.Equal(got.Observed, want.Observed) || got.Values[0].Text(0) != "1200.5" {
		t.Errorf("text is explained otherwise than what it means:\n%v\n%v", got.Mean, want.Mean)
	}
	a, err := opened.Evaluate(t.Context(), text.Source())
	if err != nil {
		t.Fatal(err)
	}
	b, err := opened.Evaluate(t.Context(), plain.Source())
	if err != nil || fmt.Sprint(a) != fmt.Sprint(b) {
		t.Errorf("%v\n%v (%v)", a, b, err)
	}
}

// A file whose readings make no sense is refused.
func TestWrongReadingsInAFile(t *testing.T) {
	_, content := saved(t, trained(t, priced(t), psi.Config{Change: moment}))
	file, err := artifact.Read(content, artifact.Model)
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range [][2]string{
		{`"decimal":",","unit":"€"`, `"decimal":";","unit":"€"`},
		{`"decimal":",","unit":"%"`, `"decimal":"","unit":"%"`},
		{`"dates":{".":"dmy"}`, `"dates":{".":"ydm"}`},
		{`"dates":{".":"dmy"}`, `"decimal":"."`},
		{`"dates":{".":"dmy"}`, `"months":{}`},
	} {
		changed := *file
		if changed.Content = bytes.Replace(file.Content, []byte(change[0]), []byte(change[1]), 1); bytes.Equal(changed.Content, file.Content) {
			t.Fatalf("%s is not in\n%s", change[0], file.Content)
		}
		path := filepath.Join(t.TempDir(), "m.psi")
		if _, err := artifact.WriteFile(path, &changed); err != nil {
			t.Fatal(err)
		}
		if m, err := psi.Open(path); err == nil {
			m.Close()
			t.Errorf("%s in place of %s is taken", change[1], change[0])
		}
	}
}

// Weights that are not written plainly count the same when a model is measured as when it was trained.
func TestReadingOfTheWeightIsKept(t *testing.T) {
	text := "a;y;paid\n"
	for i := range 60 {
		text += fmt.Sprintf("%d;%d;%d,50 €\n", i%7, i*i%23, 1+i%3)
	}
	source, err := table.OpenReader(strings.NewReader(text), table.CSV, table.Options{Guess: &table.Guess{}})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := table.ReadAll(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	path, _ := saved(t, trained(t, rows, psi.Config{Weight: "paid", Change: moment}))
	opened, err := psi.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	measured := func(weights *table.Column) string {
		t.Helper()
		e, err := opened.Evaluate(t.Context(), (&table.Table{Columns: append(slices.Clone(rows.Columns[:2]), weights)}).Source())
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(e)
	}
	heavy := slices.Repeat([]float64{1000.5, 1}, 30)
	want := measured(table.NumberColumn("paid", heavy, nil))
	if got := measured(table.CategoryColumn("paid", slices.Repeat([]string{"1.000,50 €", "€ 1,0"}, 30), nil)); got != want {
		t.Errorf("weights of text give %s, want %s", got, want)
	}
	if want == measured(table.NumberColumn("paid", slices.Repeat([]float64{1}, 60), nil)) {
		t.Error("weights do not count")
	}
}
