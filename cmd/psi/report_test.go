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

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/batch"
	"github.com/psi-shapley/psi/explain"
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

// batchDocument is as much of psi.report.batch/v1 as the tests look at.
type batchDocument struct {
	Schema  string
	Players []string
	Run     struct {
		Job, Out, In string
		Rows, Failed int
		Missing      []struct{ Ratio float64 }
		Failures     []struct{ File, Remedy string }
	}
	Done, Trust struct{ Level string }
	Drift       []struct{ Level string }
	Importances [][]struct {
		Player  int
		Mean    float64
		Std     float64
		Trained *float64
	}
	Advice []string
}

func readBatchReport(t *testing.T, path string) batchDocument {
	t.Helper()
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?s)<script type="application/json" id="batch">(.*?)</script>`).FindSubmatch(page)
	if found == nil {
		t.Fatal("the page has no document")
	}
	var d batchDocument
	if err := json.Unmarshal(found[1], &d); err != nil || d.Schema != "psi.report.batch/v1" {
		t.Fatalf("schema %q: %v", d.Schema, err)
	}
	return d
}

// summaryOf is what a batch of a table comes to, one unit of two having failed. Rows are explained by the model itself.
func summaryOf(t *testing.T, path, table string) *batch.Summary {
	t.Helper()
	model, err := psi.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	e, err := model.Explain(t.Context(), readTable(t, table).Source(), psi.ExplainOptions{})
	if err != nil {
		t.Fatal(err)
	}
	tally := explain.NewTally(e.Outputs, e.Players)
	tally.Add(e)
	s := &batch.Summary{
		Schema: "psi.batch.summary/v1", Rows: e.Rows, Failed: 1, BytesWritten: 1000, Seconds: 3, ResidualMax: tally.Residual, Audit: model.StoredAudit(),
		Job: &batch.Job{
			ID: "00ff", Model: model.Digest(), In: "s3://tables/?endpoint=x", Files: 2, Units: 2, Bytes: 5000, Submitted: time.Unix(1e9, 0).UTC(),
			Options: batch.Options{Mode: explain.Fast, Z: 1.96},
		},
		Failures: []*batch.Failure{{Unit: 1, File: "<b>.parquet", Message: "it is cut short", Remedy: "write it anew", Attempts: 3}},
	}
	for d, player := range e.Players {
		s.Missing = append(s.Missing, batch.MissingOf{Player: player, Ratio: float64(tally.Missing[d]) / float64(e.Rows)})
	}
	for c, output := range e.Outputs {
		o := batch.OutputSummary{Output: output}
		size, std := tally.MeanSize(c), tally.MeanStd(c)
		for d, player := range e.Players {
			o.Players = append(o.Players, batch.PlayerSummary{Player: player, Size: size[d], Std: &std[d], Trained: &size[d]})
		}
		s.Outputs = append(s.Outputs, o)
	}
	return s
}

func writeSummary(t *testing.T, path string, s *batch.Summary) {
	t.Helper()
	content, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, string(content))
}

// OUT, its summary by path and by URL, and a copy under another name give the same numbers: those of psi report of the rows.
func TestReportOfABatch(t *testing.T) {
	dir := t.TempDir()
	out, copied := filepath.Join(dir, "out"), filepath.Join(dir, "last-night.json")
	if err := os.Mkdir(out, 0o755); err != nil {
		t.Fatal(err)
	}
	s := summaryOf(t, fixtures.model, fixtures.table)
	writeSummary(t, filepath.Join(out, "_summary.json"), s)
	writeSummary(t, copied, s)
	rows := filepath.Join(dir, "rows.html")
	mustRun(t, "report", fixtures.model, fixtures.table, "-o", rows)
	want := readReport(t, rows)
	for argument, resume := range map[string]string{
		out: out, filepath.Join(out, "_summary.json"): out, "file://" + out + "/_summary.json": out, "file://" + out + "/": out, copied: "OUT",
	} {
		page := filepath.Join(dir, "batch.html")
		said := wantJSON(t, mustRun(t, "report", fixtures.model, argument, "-o", page, "--json"), "psi.reported.batch/v1")
		d := readBatchReport(t, page)
		if said["job"] != "00ff" || said["failed"] != 1. || d.Run.Rows != 120 || d.Run.In != "s3://tables/" || d.Done.Level != "fair" || d.Trust.Level != "exact" || d.Run.Failures[0].File != "<b>.parquet" {
			t.Errorf("%s: %v, %+v", argument, said, d)
		}
		if !strings.Contains(d.Advice[0], "psi batch resume "+resume+".") {
			t.Errorf("%s: %q, want %q resumed", argument, d.Advice, resume)
		}
		for i, im := range want.Importances[0] {
			if got := d.Importances[0][i]; got.Player != im.Player || math.Abs(got.Mean-im.Mean) > 1e-9 || d.Players[got.Player] != want.Players[im.Player].Name {
				t.Errorf("%s: place %d: %+v, the report of the rows has %+v", argument, i, got, im)
			}
		}
	}
}

func TestReportsOfBatchesThatCannotBe(t *testing.T) {
	dir := t.TempDir()
	sound := summaryOf(t, fixtures.model, fixtures.table)
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		write(t, path, content)
		return path
	}
	good, huge := filepath.Join(dir, "good.json"), file("huge.json", "")
	writeSummary(t, good, sound)
	if err := os.Truncate(huge, 65<<20); err != nil {
		t.Fatal(err)
	}
	unfinished := filepath.Join(dir, "unfinished")
	if err := os.MkdirAll(filepath.Join(unfinished, "_psi"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(unfinished, "_psi", "job.json"), `{"schema":"psi.batch/v1"}`)
	sound.Rows = -4
	writeSummary(t, filepath.Join(dir, "negative.json"), sound)
	page := filepath.Join(dir, "r.html")
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{fixtures.model, huge}, 1, "more than"},
		{[]string{fixtures.model, file("cut.json", `{"schema":"psi.batch.summ`)}, 1, "copy it again"},
		{[]string{fixtures.model, file("types.json", `{"schema":"psi.batch.summary/v1","plan":{"files":"many"}}`)}, 1, "cannot unmarshal string"},
		{[]string{fixtures.model, file("other.json", `{"schema":"psi.audit/v1"}`)}, 1, `"psi.audit/v1"`},
		{[]string{fixtures.model, file("bare.json", `{"schema":"psi.batch.summary/v1"}`)}, 1, "no summary"},
		{[]string{fixtures.model, file("list.json", `[]`)}, 1, "cannot unmarshal array"},
		{[]string{fixtures.model, file("nulls.json", `{"schema":"psi.batch.summary/v1","plan":{},"failures":[null],"outputs":[{}]}`)}, 1, "another model"},
		{[]string{fixtures.model, filepath.Join(dir, "negative.json")}, 1, "a count is below 0"},
		{[]string{fixtures.binary, good}, 1, "another model explained this batch"},
		{[]string{fixtures.model, unfinished}, 1, "psi batch status"},
		{[]string{fixtures.model, dir}, 1, "this is a directory"},
		{[]string{fixtures.model, filepath.Join(dir, "gone.json")}, 1, "no such file"},
		{[]string{fixtures.model, good, "--by", "x1"}, 2, "--by does not apply here"},
		{[]string{fixtures.model, good, "--z", "1"}, 2, "--z does not apply here"},
	} {
		o := run(t, append(append([]string{"report"}, c.args...), "-o", page)...)
		if o.code != c.code || !strings.Contains(inOneLine(o.stderr), c.says) {
			t.Errorf("%v: exit %d, stderr %q; want %d and %q", c.args, o.code, o.stderr, c.code, c.says)
		}
		if _, err := os.Stat(page); err == nil {
			t.Errorf("%v left a report", c.args)
		}
	}
}
