package main

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
)

// reportDocument is as much of psi.report/v1 as the tests look at.
type reportDocument struct {
	Schema              string
	Title, Author, Date string
	Verdict             []string
	Outputs             []string
	Data                struct{ Rows, Labelled, Explained, Carried, Paired int }
	Players             []struct{ Name string }
	Base                []float64
	Rows                struct {
		Numbers                 []int
		Prediction, Mean, Truth string
	}
	Performance struct {
		Metrics []struct {
			Name              string
			Value, Validation *float64
		}
		Decisions *struct {
			At    []map[string]any
			First int
		}
	}
	Trust       struct{ Level string }
	Calibration struct {
		Level    string
		Promises []any
	}
	Importances [][]struct {
		Player int
		Mean   float64
	}
	By *struct {
		Column  string
		Cohorts []struct {
			Name string
			Rows int
		}
	}
	Pairs struct {
		Absent  string
		Outputs [][]any
	}
	Columns []struct {
		Name    string
		Missing int
	}
}

// readReport cuts the document out of a page.
func readReport(t *testing.T, path string) reportDocument {
	t.Helper()
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?s)<script type="application/json" id="report">(.*?)</script>`).FindSubmatch(page)
	if found == nil {
		t.Fatal("the page has no document")
	}
	var d reportDocument
	if err := json.Unmarshal(found[1], &d); err != nil || d.Schema != "psi.report/v1" {
		t.Fatalf("schema %q: %v", d.Schema, err)
	}
	return d
}

// unpacked are numbers of so many bytes each, the lowest of four being left out of three.
func unpacked(t *testing.T, text string, width int) []float64 {
	t.Helper()
	packed, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	list := make([]float64, len(packed)/width)
	for i := range list {
		word := make([]byte, 4)
		copy(word[4-width:], packed[i*width:(i+1)*width])
		list[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(word)))
	}
	return list
}

// The report carries what explain and evaluate say of the same rows.
func TestReportAgreesWithExplain(t *testing.T) {
	dir := t.TempDir()
	page, wide := filepath.Join(dir, "r.html"), filepath.Join(dir, "e.csv")
	o := mustRun(t, "report", fixtures.model, fixtures.table, "-o", page)
	if o.stdout != "" || !strings.Contains(o.stderr, page+": 120 rows, 120 explained") {
		t.Errorf("stdout %q, stderr %q", o.stdout, o.stderr)
	}
	mustRun(t, "explain", fixtures.model, fixtures.table, "-o", wide)
	d, all := readReport(t, page), readTable(t, wide)
	if d.Data.Rows != 120 || d.Data.Labelled != 120 || d.Data.Carried != 120 || d.Trust.Level != "exact" || len(d.Calibration.Promises) == 0 || len(d.Pairs.Outputs) != 1 {
		t.Errorf("%+v, trust %+v, %d promises, pairs %+v", d.Data, d.Trust, len(d.Calibration.Promises), d.Pairs)
	}
	prediction, mean := unpacked(t, d.Rows.Prediction, 4), unpacked(t, d.Rows.Mean, 3)
	sizes := make([]float64, len(d.Players))
	for i, row := range d.Rows.Numbers {
		if want := all.Column("prediction").Numbers[row]; math.Abs(prediction[i]-want) > 1e-6*math.Abs(want)+1e-9 {
			t.Fatalf("row %d: prediction %g, explained %g", row, prediction[i], want)
		}
		for k, p := range d.Players {
			want := all.Column(p.Name).Numbers[row]
			if got := mean[i*len(d.Players)+k]; math.Abs(got-want) > 3e-5*math.Abs(want)+1e-9 {
				t.Fatalf("row %d, %s: %g, explained %g", row, p.Name, got, want)
			}
			sizes[k] += math.Abs(want) / 120
		}
	}
	for _, im := range d.Importances[0] {
		if math.Abs(im.Mean-sizes[im.Player]) > 1e-6 {
			t.Errorf("importance of %s is %g, its mean size %g", d.Players[im.Player].Name, im.Mean, sizes[im.Player])
		}
	}
	metrics := wantJSON(t, mustRun(t, "evaluate", fixtures.model, fixtures.table, "--json"), "psi.evaluation/v1")["metrics"].(map[string]any)
	for _, m := range d.Performance.Metrics {
		if m.Value == nil || *m.Value != metrics[m.Name] || m.Validation == nil {
			t.Errorf("%s: %v here, %v by evaluate", m.Name, m.Value, metrics[m.Name])
		}
	}
}

// At every threshold the report counts what evaluate counts.
func TestReportAgreesWithThresholds(t *testing.T) {
	page := filepath.Join(t.TempDir(), "r.html")
	mustRun(t, "report", fixtures.binary, fixtures.labels, "-o", page)
	decisions := readReport(t, page).Performance.Decisions
	if decisions == nil || len(decisions.At) < 99 || decisions.At[decisions.First]["threshold"] != 0.5 {
		t.Fatalf("decisions %+v", decisions)
	}
	asked := make([]string, len(decisions.At))
	for i, d := range decisions.At {
		asked[i] = fmt.Sprint(d["threshold"])
	}
	o := mustRun(t, "evaluate", fixtures.binary, fixtures.labels, "--threshold", strings.Join(asked, ","), "--json")
	for i, want := range wantJSON(t, o, "psi.evaluation/v1")["decisions"].([]any) {
		if got := decisions.At[i]; !reflect.DeepEqual(got, want) {
			t.Errorf("at %s the report has %v, evaluate %v", asked[i], got, want)
		}
	}
	mustRun(t, "report", fixtures.model, fixtures.table, "-o", page)
	if d := readReport(t, page).Performance.Decisions; d != nil {
		t.Errorf("a number has decisions: %+v", d)
	}
}

// Two reports of the same rows are the same bytes.
func TestReportIsReproducible(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1767225600")
	dir := t.TempDir()
	var pages [2]string
	for i := range pages {
		path := filepath.Join(dir, string(rune('a'+i))+".html")
		mustRun(t, "report", fixtures.binary, fixtures.labels, "-o", path)
		page, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		pages[i] = string(page)
	}
	if pages[0] != pages[1] {
		t.Error("two reports of the same rows differ")
	}
}

// A report has the title and the author that it is given, the date of SOURCE_DATE_EPOCH or today's, and a verdict in three sentences.
func TestReportCover(t *testing.T) {
	page := filepath.Join(t.TempDir(), "r.html")
	before := time.Now().Format(time.DateOnly)
	said := wantJSON(t, mustRun(t, "report", fixtures.binary, fixtures.labels, "-o", page, "--json"), "psi.reported/v1")
	after := time.Now().Format(time.DateOnly)
	d := readReport(t, page)
	if d.Title != "Report on y" || d.Author != "" || d.Date != before && d.Date != after {
		t.Errorf("title %q, author %q, date %q", d.Title, d.Author, d.Date)
	}
	if len(d.Verdict) != 3 || len(said["verdict"].([]any)) != 3 || said["verdict"].([]any)[0] != d.Verdict[0] || !strings.Contains(d.Verdict[0], "whether y is 1") {
		t.Errorf("verdict %q, said %v", d.Verdict, said["verdict"])
	}
	t.Setenv("SOURCE_DATE_EPOCH", "1767225600")
	mustRun(t, "report", fixtures.binary, fixtures.labels, "-o", page, "--title", "Who <stays>", "--author", "Ann & Bob")
	if d := readReport(t, page); d.Title != "Who <stays>" || d.Author != "Ann & Bob" || d.Date != "2026-01-01" {
		t.Errorf("title %q, author %q, date %q", d.Title, d.Author, d.Date)
	}
	content, err := os.ReadFile(page)
	if err != nil || !strings.Contains(string(content), "<title>Who &lt;stays&gt;</title>") {
		t.Errorf("the page has another title: %v", err)
	}
	t.Setenv("SOURCE_DATE_EPOCH", "yesterday")
	if o := run(t, "report", fixtures.binary, fixtures.labels, "-o", page); o.code != 2 || !strings.Contains(o.stderr, "SOURCE_DATE_EPOCH") {
		t.Errorf("exit %d, stderr %q", o.code, o.stderr)
	}
}

// Without a target the report says what it can.
func TestReportWithoutTarget(t *testing.T) {
	dir := t.TempDir()
	rows, page := filepath.Join(dir, "t.csv"), filepath.Join(dir, "r.html")
	write(t, rows, "x1,x2,x3\n1,2,3\n2,,3\n0.5,1,1\n")
	mustRun(t, "report", fixtures.model, rows, "-o", page)
	d := readReport(t, page)
	if d.Data.Labelled != 0 || d.Rows.Truth != "" || d.Calibration.Level != "unchecked" || d.Calibration.Promises != nil || d.Columns[1].Missing != 1 {
		t.Errorf("%+v, truth %q, calibration %+v, columns %+v", d.Data, d.Rows.Truth, d.Calibration, d.Columns)
	}
	for _, m := range d.Performance.Metrics {
		if m.Value != nil || m.Validation == nil {
			t.Errorf("%s has %v here and %v in the model", m.Name, m.Value, m.Validation)
		}
	}
}

// --by takes a column of the table, the model's or not.
func TestReportBy(t *testing.T) {
	dir := t.TempDir()
	rows, page := filepath.Join(dir, "t.csv"), filepath.Join(dir, "r.html")
	write(t, rows, "a,b,c,kind,garden\n1,2,red,iris,north\n4,1,blue,lily,south\n6,0,red,rose,north\n2,2,red,iris,\n")
	mustRun(t, "report", fixtures.kinds, rows, "--by", "garden", "-o", page)
	d := readReport(t, page)
	if d.By == nil || d.By.Column != "garden" || len(d.By.Cohorts) != 2 || d.By.Cohorts[0].Name != "north" || d.By.Cohorts[0].Rows != 2 || len(d.Outputs) != 3 {
		t.Errorf("by %+v, outputs %v", d.By, d.Outputs)
	}
	mustRun(t, "report", fixtures.kinds, rows, "--by", "c", "-o", page)
	if d := readReport(t, page); d.By == nil || d.By.Cohorts[0].Name != "red" {
		t.Errorf("by %+v", d.By)
	}
}

// A learned head has no interactions, and the report says so.
func TestReportOfALearnedHead(t *testing.T) {
	page := filepath.Join(t.TempDir(), "r.html")
	o := mustRun(t, "report", fixtures.deep, fixtures.wide, "-o", page, "--json")
	said := wantJSON(t, o, "psi.reported/v1")
	if d := readReport(t, page); d.Pairs.Absent == "" || d.Data.Paired != 0 || d.Trust.Level == "exact" {
		t.Errorf("pairs %+v, trust %+v", d.Pairs, d.Trust)
	}
	found, err := os.Stat(page)
	if err != nil || said["file"] != page || said["bytes"] != float64(found.Size()) || said["trust"] == "" {
		t.Errorf("%v of %v (%v)", said, found, err)
	}
}

func TestReportsThatCannotBe(t *testing.T) {
	dir := t.TempDir()
	html, empty := filepath.Join(dir, "r.html"), filepath.Join(dir, "empty.csv")
	write(t, empty, "x1,x2,x3,y\n")
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{fixtures.model, fixtures.table}, 2, "-o FILE.html"},
		{[]string{fixtures.model, fixtures.table, "-o", "r.pdf"}, 2, ".html"},
		{[]string{fixtures.model, fixtures.table, "-o", html, "--z", "0"}, 2, "--z"},
		{[]string{fixtures.model, fixtures.table, "-o", html, "--by", "height"}, 1, `column "height"`},
		{[]string{fixtures.model, empty, "-o", html}, 1, "no rows"},
	} {
		o := run(t, append([]string{"report"}, c.args...)...)
		if o.code != c.code || !strings.Contains(inOneLine(o.stderr), c.says) {
			t.Errorf("%v: exit %d, stderr %q; want %d and %q", c.args, o.code, o.stderr, c.code, c.says)
		}
		if _, err := os.Stat(html); err == nil {
			t.Errorf("%v left a report", c.args)
		}
	}
}
