package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/psi-shapley/psi/internal/trees/treestest"
)

// importedFiles writes trees that XGBoost trained, imported with rows and without, and a table of 40 rows.
func importedFiles(t *testing.T) (with, without, rows string) {
	t.Helper()
	of, err := treestest.Find("../..", "xgboost", "number")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	text := strings.Join(of.Columns, ",") + ",y\n"
	for i, row := range of.Rows {
		for _, cell := range row {
			if v, known := cell.(float64); known {
				text += strconv.FormatFloat(v, 'g', -1, 64)
			}
			text += ","
		}
		text += strconv.FormatFloat(of.Raw[i][0]+.3*math.Sin(float64(7*i)), 'g', -1, 64) + "\n"
	}
	path := func(name, content string) string {
		name = filepath.Join(folder, name)
		if content != "" {
			if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return name
	}
	trees, rows := path("trees.json", of.Model), path("rows.csv", text)
	with, without = path("with.psi", ""), path("without.psi", "")
	mustRun(t, "import", trees, "--target", "y", "--rows", rows, "-o", with)
	mustRun(t, "import", trees, "--target", "y", "-o", without)
	return with, without, rows
}

// Every picture of imported trees is drawn or says why not, and none claims an interval of attributions.
func TestPlotsOfImportedTrees(t *testing.T) {
	with, without, rows := importedFiles(t)
	svg := filepath.Join(t.TempDir(), "p.svg")
	for _, model := range []string{with, without} {
		for _, k := range pictures() {
			args := []string{"plot", k.kind, model, rows, "-o", svg, "--json", "--force"}
			switch k.kind {
			case "groups":
				args = append(args, "--columns", "f")
			case "drift":
				args = append(args, "--since", rows)
			}
			o, name := run(t, args...), k.kind+" of "+filepath.Base(model)
			reason := map[string]string{"ranking": "is not known", "history": "was imported"}[k.kind]
			if model == without && k.kind == "calibration" {
				reason = "--rows TABLE"
			}
			if reason != "" {
				if o.code != failed || !strings.Contains(o.stderr, reason) {
					t.Errorf("%s: exit %d, %q does not say %q", name, o.code, o.stderr, reason)
				}
				continue
			}
			if o.code != 0 {
				t.Errorf("%s: exit %d: %s", name, o.code, o.stderr)
				continue
			}
			if read := fmt.Sprint(wantJSON(t, o, "psi.plot/v1")["read"]); strings.Contains(read, "±") || strings.Contains(read, "NaN") {
				t.Errorf("%s: %s", name, read)
			}
		}
	}
	if o := run(t, "plot", "bar", without, rows, "--by", "loss", "-o", svg, "--force"); o.code != failed || !strings.Contains(o.stderr, "--rows TABLE") {
		t.Errorf("importance in loss that nothing measured: exit %d, %q", o.code, o.stderr)
	}
}

// Pictures and reports can be in another game, of trees and of a network.
func TestGamesOfPlotsAndReports(t *testing.T) {
	model, _, rows := importedFiles(t)
	svg, page := filepath.Join(t.TempDir(), "p.svg"), filepath.Join(t.TempDir(), "r.html")
	for _, c := range []struct{ model, rows, own string }{{model, rows, "path-dependent"}, {fixtures.model, fixtures.table, "observational"}} {
		o := mustRun(t, "plot", "bar", c.model, c.rows, "--reference", c.rows, "-o", svg, "--json", "--force")
		if exact := fmt.Sprint(wantJSON(t, o, "psi.plot/v1")["exact"]); !strings.Contains(exact, "interventional game") {
			t.Errorf("the picture is in another game: %s", exact)
		}
		for _, args := range [][]string{nil, {"--game", "interventional", "--reference", c.rows}} {
			mustRun(t, append([]string{"report", c.model, c.rows, "-o", page, "--force"}, args...)...)
			content, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			want := []string{fmt.Sprintf(`"game":{"name":%q`, c.own), `"other":{"name":"interventional"`}
			if args != nil {
				want = []string{`"game":{"name":"interventional"`, fmt.Sprintf(`"other":{"name":%q`, c.own)}
			}
			for _, part := range want {
				if !strings.Contains(string(content), part) {
					t.Errorf("%s %v: the report lacks %s", filepath.Base(c.model), args, part)
				}
			}
		}
	}
	for says, args := range map[string][]string{
		"which this picture does not show": {"plot", "history", fixtures.model, fixtures.table, "--game", "baseline", "-o", svg},
		"needs reference rows":             {"plot", "bar", model, rows, "--game", "interventional", "-o", svg, "--force"},
		"does not have the game":           {"report", model, rows, "--game", "observational", "-o", page, "--force"},
		"give one row":                     {"report", model, rows, "--game", "baseline", "--reference", rows, "-o", page, "--force"},
	} {
		if o := run(t, args...); o.code == 0 || !strings.Contains(o.stderr, says) {
			t.Errorf("%v: exit %d, %q does not say %q", args, o.code, o.stderr, says)
		}
	}
}
