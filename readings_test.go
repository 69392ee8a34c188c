package psi_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/internal/artifact"
	"github.com/psi-shapley/psi/table"
)

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
