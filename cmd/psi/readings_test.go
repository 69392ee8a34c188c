package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/psi-shapley/psi/table"
)

// messyTable has 120 rows as people write them, or the same rows written plainly.
func messyTable(plain bool) string {
	text := "price,share,day,member,visits,remark\n"
	if plain {
		text = "price,share,day,member,visits\n"
	}
	for i := range 120 {
		price, share := float64(1000+i*i%977)+.5, float64(i*7%100)+.25
		day := time.Date(2020, 1, 1+3*i, 0, 0, 0, 0, time.UTC)
		if plain {
			text += fmt.Sprintf("%v,%v,%s,%v,%d\n", price, share, day.Format(time.DateOnly), i%3 == 0, 1000+i*7%120)
			continue
		}
		form := []string{"2006-01-02", "02/01/2006", "Jan 2, 2006", "2.1.2006"}[i%4]
		member := [][]string{{"yes", "Y", "TRUE", "1"}, {"no", "No ", "f", "0"}, {"No", "n", "false", "0"}}[i%3][i/3%4]
		text += fmt.Sprintf("\"$%d,%06.2f\",%v%%,%q,%q,\"1,%03d\",the %dth customer called about this and that\n",
			int(price)/1000, price-1000, share, day.Format(form), member, i*7%120, i)
	}
	return text
}

// Text that is not written plainly is read as what it means, and the model reads later tables alike, whatever their format.
func TestReadings(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	write(t, file("messy.csv"), messyTable(false))
	write(t, file("plain.csv"), messyTable(true))

	o := mustRun(t, quick("train", file("messy.csv"), "--target", "price", "-o", file("m.psi"))...)
	wantText(t, o.stderr,
		`column "price": "$1,000.50" is read as the number 1000.5; --categorical keeps the text as labels`,
		`column "share": "14.25%" is read as the number 14.25; --categorical keeps the text as labels`,
		`column "day": "04/01/2020" is read as 2020-01-04; other cells show that order; --categorical keeps the text as labels`,
		`column "visits": no cell shows whether "1,000" is 1000 or 1: it is read as 1000. --decimal , reads it as 1, and --categorical keeps the text as labels`,
		`column "remark": free text of about 8 words. Not used as a feature: psi does not read sentences (--keep uses every text as a label)`,
		"all 120 observed cells mean no or yes",
	)
	mustRun(t, quick("train", file("plain.csv"), "--target", "price", "-o", file("plain.psi"))...)

	// Typed files with the same text.
	messy := mustRead(t, file("messy.csv"), table.Options{Categorical: []string{"price", "share", "day", "member", "visits"}})
	for _, name := range []string{"messy.parquet", "messy.arrow"} {
		sink, err := table.Create(file(name))
		if err != nil {
			t.Fatal(err)
		}
		if err := sink.Write(t.Context(), messy); err != nil {
			t.Fatal(err)
		}
		if err := sink.Close(); err != nil {
			t.Fatal(err)
		}
	}
	want := predictionsOf(t, file("plain.psi"), file("plain.csv"))
	for _, name := range []string{"messy.csv", "messy.parquet", "messy.arrow"} {
		if got := predictionsOf(t, file("m.psi"), file(name)); got != want {
			t.Errorf("%s has other predictions than what it means:\n%.300s\n%.300s", name, got, want)
		}
	}
	evaluated := wantJSON(t, mustRun(t, "evaluate", file("m.psi"), file("messy.csv"), "--json"), "psi.evaluation/v1")
	plain := wantJSON(t, mustRun(t, "evaluate", file("plain.psi"), file("plain.csv"), "--json"), "psi.evaluation/v1")
	if fmt.Sprint(evaluated["metrics"]) != fmt.Sprint(plain["metrics"]) {
		t.Errorf("%v\n%v", evaluated["metrics"], plain["metrics"])
	}

	// Cells that do not fit are missing, and counted where they are explained.
	write(t, file("odd.csv"), "share,day,member,visits\n5%,2/1/2020,no,\"1,000\"\n€5,13/13/2020,yes,\"2,000\"\n")
	o = mustRun(t, "explain", file("m.psi"), file("odd.csv"))
	wantText(t, o.stderr, `1 cell of share does not parse as in training, such as "€5": treated as missing`, `1 cell of day does not parse as in training, such as "13/13/2020": treated as missing`)
	if o = mustRun(t, "plot", "bar", file("m.psi"), file("odd.csv"), "-o", file("bar.svg")); !strings.Contains(o.stderr, "treated as missing") {
		t.Error(o.stderr)
	}
	if o = mustRun(t, "explain", file("m.psi"), file("odd.csv"), "--rows", "1"); strings.Contains(o.stderr, "treated as missing") {
		t.Error(o.stderr)
	}
}

func predictionsOf(t *testing.T, model, rows string) string {
	t.Helper()
	return mustRun(t, "predict", model, rows, "--format", "csv").stdout
}

func mustRead(t *testing.T, path string, options table.Options) *table.Table {
	t.Helper()
	read, err := table.Read(t.Context(), path, options)
	if err != nil {
		t.Fatal(err)
	}
	return read
}

// How a column is read can be refused and chosen.
func TestReadingsAreChosen(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	text := "a,when,y\n"
	for i := range 40 {
		text += fmt.Sprintf("\"%d,%03d\",%d/%d/2020,%d\n", 1+i%4, 125*(i%8), 1+i%12, 1+i%9, i%8)
	}
	write(t, file("t.csv"), text)
	for _, c := range []struct {
		flags []string
		reads []string
	}{
		{nil, []string{`"1,000" is 1000; 8 distinct`, "when        category", `no cell shows whether "10/1/2020" starts`}},
		{[]string{"--decimal", ","}, []string{`"1,000" is 1; 8 distinct`}},
		{[]string{"--categorical", "a"}, []string{"declared a category; 8 distinct labels"}},
		{[]string{"--date-order", "mdy"}, []string{`"10/1/2020" is 2020-10-01`}},
		{[]string{"--date-order", "dmy"}, []string{`"10/1/2020" is 2020-01-10`}},
	} {
		o := run(t, quick(append([]string{"train", file("t.csv"), "--target", "y", "--task", "regression", "-o", file("m.psi"), "--force"}, c.flags...)...)...)
		for _, piece := range c.reads {
			if !strings.Contains(o.stderr, piece) {
				t.Errorf("%v: %q is not in\n%s", c.flags, piece, o.stderr)
			}
		}
	}
}

// A wrong column is told before the rows are read: here they could not be.
func TestWrongColumnsAreToldFirst(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.csv")
	write(t, path, "Spend,age,churn\n1,2,3\n1,2\n")
	for flags, want := range map[string]string{
		"--target Churn":                        `column "Churn": the table has no such column to predict; did you mean churn? Otherwise choose one of Spend, age, churn`,
		"--target price":                        `column "price": the table has no such column to predict; choose one of Spend, age, churn`,
		"--target churn --drop spend":           `did you mean Spend?`,
		"--target churn --weight agee":          `did you mean age?`,
		"--target churn --keep aeg":             `did you mean age?`,
		"--target churn --validation-by sepnd":  `did you mean Spend?`,
		"--target churn --categorical SPEND":    `did you mean Spend?`,
		"--target churn --missing-as-level Age": `did you mean age?`,
		"--target churn --group g=age,spend":    `column "spend": a group names this column, but the table does not have it; did you mean Spend?`,
		"--target churn":                        "row 1: the row has 2 cells",
	} {
		o := run(t, append([]string{"train", path, "-o", filepath.Join(t.TempDir(), "m.psi")}, strings.Fields(flags)...)...)
		if o.code != failed || !strings.Contains(o.stderr, want) {
			t.Errorf("%s: exit %d, %q is not in\n%s", flags, o.code, want, o.stderr)
		}
	}
}

func TestDidYouMean(t *testing.T) {
	for command, want := range map[string]string{
		"train t.csv --taget y":                  "psi train has no flag --taget; did you mean --target?",
		"train t.csv --Target y":                 "did you mean --target?",
		"sample bikes -o b.csv":                  `there is no table "bikes"; did you mean bike?`,
		"plot beswarm m.psi t.csv -o b.svg":      `there is no picture "beswarm"; did you mean beeswarm?`,
		"plot pie m.psi t.csv -o b.svg":          `there is no picture "pie"; choose`,
		"sample something -o b.csv":              `there is no table "something"; choose`,
		"explain m.psi t.csv --xyzzyx":           "psi explain has no flag --xyzzyx; psi explain --help lists the flags",
		"train t.csv --target y --effort fats":   `--effort is "fats"; did you mean fast? Otherwise choose fast, normal or best`,
		"explain m.psi t.csv --mode Exact":       `did you mean exact?`,
		"train t.csv --target y --time-budget x": "give a time such as 10m or 1h30m, or seconds",
	} {
		if o := run(t, strings.Fields(command)...); o.code != wrongUsage || !strings.Contains(o.stderr, want) {
			t.Errorf("%s: exit %d, %q is not in\n%s", command, o.code, want, o.stderr)
		}
	}
}

func TestDidYouMeanAColumnOfTheModel(t *testing.T) {
	o := run(t, "explain", fixtures.model, fixtures.table, "--unknown", "X2")
	if want := `column "X2": the model has no such column, so it cannot be marked as unknown; did you mean x2? Otherwise check the spelling`; o.code != failed || !strings.Contains(o.stderr, want) {
		t.Errorf("exit %d, %q is not in\n%s", o.code, want, o.stderr)
	}
}

// A table that lacks a column but has one whose name is nearly the same is asked about it.
func TestDidYouMeanAColumnOfTheTable(t *testing.T) {
	content, err := os.ReadFile(fixtures.table)
	if err != nil {
		t.Fatal(err)
	}
	renamed := filepath.Join(t.TempDir(), "t.csv")
	write(t, renamed, strings.Replace(strings.Replace(string(content), "x2", "X2", 1), ",y", ",Y", 1))
	aimless := filepath.Join(t.TempDir(), "a.csv")
	write(t, aimless, strings.Replace(string(content), ",y", ",Y", 1))
	column := `column "x2": the table lacks this column, which the model was trained on; the table has "X2": if it is the same column, rename it. Otherwise add it`
	target := `column "y": the table lacks the target column; the table has "Y": if it is the same column, rename it. Otherwise give rows whose outcome is known`
	for _, c := range []struct{ command, data, want string }{
		{"predict", renamed, column},
		{"explain", renamed, column},
		{"evaluate", renamed, column},
		{"audit", renamed, column},
		{"evaluate", aimless, target},
		{"recalibrate", aimless, target},
	} {
		if o := run(t, c.command, fixtures.model, c.data); o.code != failed || !strings.Contains(o.stderr, c.want) {
			t.Errorf("%s: exit %d, %q is not in\n%s", c.command, o.code, c.want, o.stderr)
		}
	}
	out := filepath.Join(t.TempDir(), "p.svg")
	for columns, want := range map[string]string{"X1": `column "X1": the model has no such column; did you mean x1?`, "price": `column "price": the model has no such column; choose among x1, x2, x3`} {
		if o := run(t, "plot", "dependence", fixtures.model, fixtures.table, "--columns", columns, "-o", out); o.code != failed || !strings.Contains(o.stderr, want) {
			t.Errorf("exit %d, %q is not in\n%s", o.code, want, o.stderr)
		}
	}
}

func TestNearest(t *testing.T) {
	for _, c := range []struct{ word, want string }{
		{"income", "Income"}, {"incmoe", "Income"}, {"inc", ""}, {"ages", "age"}, {"AGE", "age"}, {"y", ""}, {"", ""}, {"größe", "Größe"}, {"grosse", ""},
	} {
		if got := nearest(c.word, []string{"Income", "age", "x", "Größe"}); got != c.want {
			t.Errorf("%q is nearest to %q, not %q", c.word, got, c.want)
		}
	}
}

func TestSecondsAndRowsAreTypedShortly(t *testing.T) {
	for text, want := range map[string]time.Duration{"60": time.Minute, "1.5": 1500 * time.Millisecond, "10m": 10 * time.Minute, "1e2": 100 * time.Second} {
		var s seconds
		if err := s.Set(text); err != nil || time.Duration(s) != want {
			t.Errorf("%q is %v (%v), want %v", text, time.Duration(s), err, want)
		}
	}
	for _, text := range []string{"", "soon", "nan", "inf", "1e300"} {
		var s seconds
		if s.Set(text) == nil {
			t.Errorf("%q is %v", text, time.Duration(s))
		}
	}
	for text, want := range map[string][2]int{"5": {0, 5}, "2:5": {2, 5}, "3:": {3, 0}, ":4": {0, 4}} {
		if from, to, err := parseRows(text); err != nil || from != want[0] || to != want[1] {
			t.Errorf("%q is %d:%d (%v), want %v", text, from, to, err, want)
		}
	}
}
