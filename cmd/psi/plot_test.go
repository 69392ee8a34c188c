package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/psi-shapley/psi/internal/synth"
)

// Every kind of picture is drawn and said to be, with the data behind it.
func TestPlots(t *testing.T) {
	dir := t.TempDir()
	for _, k := range pictures() {
		for _, end := range []string{".svg", ".png"} {
			out, data := filepath.Join(dir, k.kind+end), filepath.Join(dir, k.kind+end+".csv")
			args := []string{"plot", k.kind, fixtures.model, fixtures.table, "-o", out, "--data", data}
			switch k.kind {
			case "groups":
				args = append(args, "--column", "x1")
			case "drift":
				args = append(args, "--since", fixtures.table)
			}
			o := mustRun(t, args...)
			if o.stdout != "" || !strings.Contains(o.stderr, out) {
				t.Errorf("%s: stdout %q, stderr %q", k.kind, o.stdout, o.stderr)
			}
			picture, err := os.ReadFile(out)
			if err != nil || len(picture) < 500 {
				t.Errorf("%s: %d bytes, %v", out, len(picture), err)
			}
			if drawn := readTable(t, data); drawn.Rows() == 0 {
				t.Errorf("%s: no data", k.kind)
			}
		}
	}
}

func TestPlotJSON(t *testing.T) {
	out := filepath.Join(t.TempDir(), "bar.svg")
	o := mustRun(t, "plot", "bar", fixtures.model, fixtures.table, "-o", out, "--json")
	if d := wantJSON(t, o, "psi.plot/v1"); d["kind"] != "bar" || d["file"] != out || d["title"] == "" || d["read"] == "" || !strings.HasPrefix(fmt.Sprint(d["exact"]), "Exact: ") {
		t.Errorf("document %v", d)
	}
}

// Bars by loss are those of the model's audit, the largest first.
func TestPlotByLoss(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ model, data, loss string }{{fixtures.model, fixtures.table, "squared error"}, {fixtures.deep, fixtures.wide, "squared error"}} {
		data := filepath.Join(dir, "loss.csv")
		o := mustRun(t, "plot", "bar", c.model, c.data, "--by", "loss", "-o", filepath.Join(dir, "loss.svg"), "--data", data, "--json", "--force")
		if d := wantJSON(t, o, "psi.plot/v1"); d["exact"] != "" || !strings.Contains(fmt.Sprint(d["read"]), c.loss) {
			t.Errorf("document %v", d)
		}
		audit := wantJSON(t, mustRun(t, "inspect", c.model, "--json"), "psi.model/v1")["audit"].(map[string]any)
		of := map[string]map[string]any{}
		for _, x := range audit["loss_importance"].([]any) {
			entry := x.(map[string]any)
			of[entry["player"].(string)] = entry
		}
		drawn := readTable(t, data)
		if drawn.Rows() != len(of) || len(of) == 0 {
			t.Fatalf("%d bars of %d columns", drawn.Rows(), len(of))
		}
		for i := range drawn.Rows() {
			want := of[drawn.Column("player").Text(i)]
			for _, name := range []string{"mean", "standard_error", "p", "rows"} {
				if got := drawn.Column(name).Numbers[i]; got != want[name] {
					t.Errorf("%s of %s: %g, the audit has %v", name, want["player"], got, want[name])
				}
			}
			if i > 0 && drawn.Column("mean").Numbers[i] > drawn.Column("mean").Numbers[i-1] {
				t.Errorf("%s stands below a smaller one", want["player"])
			}
		}
	}
	text := mustRun(t, "inspect", fixtures.model).stdout
	wantText(t, text, "importance in loss", "squared error", " ± ")
	if strings.Contains(text, "<nil>") {
		t.Errorf("inspect shows a setting without a value as Go does:\n%s", text)
	}
}

// Pictures of a learned head say what their attributions are, and are refined if asked.
func TestPlotsOfALearnedHead(t *testing.T) {
	svg := filepath.Join(t.TempDir(), "p.svg")
	for _, c := range []struct {
		kind, mode, says string
	}{{"bar", "fast", "Not exact: "}, {"bar", "refined", "Refined: "}, {"waterfall", "refined", "Refined: "}, {"interaction", "refined", "Refined: "}} {
		o := mustRun(t, "plot", c.kind, fixtures.deep, fixtures.wide, "--mode", c.mode, "-o", svg, "--json")
		if d := wantJSON(t, o, "psi.plot/v1"); !strings.HasPrefix(fmt.Sprint(d["exact"]), c.says) {
			t.Errorf("%s, mode %s: %v, want %s", c.kind, c.mode, d["exact"], c.says)
		}
	}
	if o := run(t, "plot", "interaction", fixtures.deep, fixtures.wide, "-o", svg); o.code != 1 || !strings.Contains(o.stderr, "--mode refined") {
		t.Errorf("interactions of a learned head: exit %d, %q", o.code, o.stderr)
	}
}

// The row that is asked for is drawn.
func TestPlotOfARow(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "w.csv")
	o := mustRun(t, "plot", "waterfall", fixtures.model, fixtures.table, "--row", "7", "-o", filepath.Join(dir, "w.pdf"), "--data", data)
	if !strings.Contains(o.stderr, "Row 7:") {
		t.Errorf("stderr %q", o.stderr)
	}
	wide := filepath.Join(dir, "e.csv")
	mustRun(t, "explain", fixtures.model, fixtures.table, "--rows", "7:8", "-o", wide)
	all, drawn := readTable(t, wide), readTable(t, data)
	for i := range drawn.Rows() {
		name := drawn.Columns[0].Text(i)
		if got, want := drawn.Column("mean").Numbers[i], all.Column(name).Numbers[0]; got != want {
			t.Errorf("%s: %g drawn, %g explained", name, got, want)
		}
	}
}

// Main effects and pairs of a row add up to its prediction.
func TestPlotOfPairsAddsUp(t *testing.T) {
	dir := t.TempDir()
	data, wide := filepath.Join(dir, "w.csv"), filepath.Join(dir, "e.csv")
	o := mustRun(t, "plot", "waterfall", fixtures.model, fixtures.table, "--row", "7", "--interactions", "-o", filepath.Join(dir, "w.svg"), "--data", data)
	if !strings.Contains(o.stderr, "Exact: these are the Shapley values of the model.") {
		t.Errorf("stderr %q", o.stderr)
	}
	mustRun(t, "explain", fixtures.model, fixtures.table, "--rows", "7:8", "-o", wide)
	all, drawn := readTable(t, wide), readTable(t, data)
	sum, pairs := all.Column("base").Numbers[0], 0
	for i := range drawn.Rows() {
		sum += drawn.Column("mean").Numbers[i]
		if drawn.Column("with").Observed[i] {
			pairs++
		}
	}
	if want := all.Column("prediction").Numbers[0]; math.Abs(sum-want) > 1e-5*math.Max(1, math.Abs(want)) || pairs == 0 {
		t.Errorf("base, main effects and %d pairs add up to %g, the prediction is %g", pairs, sum, want)
	}
}

func TestPlotsThatCannotBe(t *testing.T) {
	svg := filepath.Join(t.TempDir(), "p.svg")
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"pie", fixtures.model, fixtures.table, "-o", svg}, 2, "no picture \"pie\""},
		{[]string{"bar", fixtures.model, fixtures.table}, 2, "-o FILE"},
		{[]string{"bar", fixtures.model, fixtures.table, "-o", "p.gif"}, 2, ".svg, .png or .pdf"},
		{[]string{"bar", fixtures.model, fixtures.table, "-o", svg, "--z", "0"}, 2, "--z"},
		{[]string{"bar", fixtures.model, fixtures.table, "-o", svg, "--interactions"}, 2, "applies only to waterfall"},
		{[]string{"beeswarm", fixtures.model, fixtures.table, "-o", svg, "--by", "loss"}, 2, "--by loss applies only to bar"},
		{[]string{"bar", fixtures.model, fixtures.table, "-o", svg, "--by", "size"}, 2, "attribution or loss"},
		{[]string{"dependence", fixtures.model, fixtures.table, "-o", svg, "--column", "x1,x2,x3"}, 1, "another for the colour"},
		{[]string{"bar", fixtures.model, fixtures.table, "-o", svg, "--most", "0"}, 2, "--max"},
		{[]string{"bar", fixtures.model, fixtures.table, "-o", svg, "--max", "0"}, 2, "--max"},
		{[]string{"bar", fixtures.model, fixtures.table, "-o", svg, "--size", "800x600"}, 2, "in inches"},
		{[]string{"bar", fixtures.model, fixtures.table, "-o", svg, "--size", "8"}, 2, "such as 8x5"},
		{[]string{"bar", fixtures.model, fixtures.table, "-o", svg, "--size", "NaNx5"}, 2, "such as 8x5"},
		{[]string{"bar", fixtures.model, fixtures.table, "-o", svg, "--columns", "height"}, 1, "height"},
		{[]string{"groups", fixtures.model, fixtures.table, "-o", svg, "--columns", "X1"}, 1, "did you mean x1?"},
		{[]string{"history", fixtures.model, fixtures.table, "-o", svg, "--columns", "x1"}, 2, "shows no columns"},
		{[]string{"force", fixtures.model, fixtures.table, "-o", svg, "--row", "-1"}, 2, "--row"},
		{[]string{"force", fixtures.model, fixtures.table, "-o", svg, "--row", "100000"}, 1, "no row 100000"},
		{[]string{"dependence", fixtures.model, fixtures.table, "-o", svg, "--column", "height"}, 1, "height"},
		{[]string{"bar", fixtures.model, fixtures.table, "-o", svg, "--output", "A"}, 1, "no classes"},
	} {
		o := run(t, append([]string{"plot"}, c.args...)...)
		if o.code != c.code || !strings.Contains(o.stderr, c.says) {
			t.Errorf("%v: exit %d, stderr %q; want %d and %q", c.args, o.code, o.stderr, c.code, c.says)
		}
		if _, err := os.Stat(svg); err == nil {
			t.Errorf("%v left a picture", c.args)
		}
	}
}

// A picture has the columns, the title and the size that were asked for, by the flags' names of today and of before.
func TestPlotAsAsked(t *testing.T) {
	dir := t.TempDir()
	svg, data := filepath.Join(dir, "p.svg"), filepath.Join(dir, "p.csv")
	o := mustRun(t, "plot", "beeswarm", fixtures.model, fixtures.table, "--columns", "x1,x3", "--title", "Two columns", "--size", "8x5", "-o", svg, "--data", data)
	file, err := os.ReadFile(svg)
	if err != nil || !strings.Contains(string(file), `width="576pt" height="360pt"`) || !strings.Contains(string(file), ">Two columns<") {
		t.Errorf("size and title are not those asked for: %v", err)
	}
	wantText(t, o.stderr, "Two columns", "2 of 3 columns are shown")
	for _, name := range readTable(t, data).Column("player").Levels {
		if name != "x1" && name != "x3" {
			t.Errorf("%s was not asked for", name)
		}
	}
	for _, flags := range [][]string{{"--max", "1"}, {"--most", "1"}} {
		o = mustRun(t, append([]string{"plot", "beeswarm", fixtures.model, fixtures.table, "-o", svg, "--data", data, "--force"}, flags...)...)
		wantText(t, o.stderr, "The 1 most important of 3 columns")
	}
}

// Of a long table rows from all over are drawn, always the same, and named by their numbers.
func TestPlotOfALongTable(t *testing.T) {
	s, err := synth.Generate("synth1", 3*plotRows, 2)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := s.Table()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	long, svg := filepath.Join(dir, "long.csv"), filepath.Join(dir, "p.svg")
	writeTable(t, rows, long)
	var first []float64
	for _, name := range []string{"first.csv", "second.csv"} {
		data := filepath.Join(dir, name)
		o := mustRun(t, "plot", "dependence", fixtures.model, long, "--columns", "x1", "-o", svg, "--data", data, "--force")
		wantText(t, o.stderr, "shown by 5,000 of 15,000 rows, drawn at random")
		drawn := readTable(t, data)
		at, value := drawn.Column("row").Numbers, drawn.Column("value").Numbers
		late := 0
		for i, row := range at {
			if row >= 2*plotRows {
				late++
			}
			if want := rows.Column("x1").Numbers[int(row)]; math.Abs(value[i]-want) > 1e-9 {
				t.Fatalf("row %g: x1 is %g, not %g", row, value[i], want)
			}
		}
		if len(at) != plotRows || late < plotRows/4 || late > plotRows/2 {
			t.Errorf("%d rows, %d of them from the last third", len(at), late)
		}
		if first != nil && !slices.Equal(first, at) {
			t.Error("drawn twice, the rows differ")
		}
		first = at
	}
}
