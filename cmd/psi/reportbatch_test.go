package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/batch"
	"github.com/psi-shapley/psi/explain"
)

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
			o.Players = append(o.Players, batch.PlayerSummary{Player: player, Size: size[d], Std: std[d], Trained: &size[d]})
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
