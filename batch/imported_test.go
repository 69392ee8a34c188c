package batch

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/internal/trees/treestest"
	"github.com/psi-shapley/psi/table"
)

// forest is a model of XGBoost's, of two classes, and rows for it.
type forest struct {
	content []byte // of the model file
	rows    *table.Table
}

// imported is made once for all tests.
var imported = sync.OnceValues(func() (*forest, error) {
	c, err := treestest.Find("..", "xgboost", "two classes")
	if err != nil {
		return nil, err
	}
	f := &forest{rows: c.Table()}
	trees, err := psi.ReadTrees([]byte(c.Model), "")
	if err != nil {
		return nil, err
	}
	m, err := trees.Import(context.Background(), psi.ImportOptions{Target: "y"})
	if err != nil {
		return nil, err
	}
	defer m.Close()
	dir, err := os.MkdirTemp("", "psi-batch")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "m.psi")
	if err := m.Save(path); err != nil {
		return nil, err
	}
	f.content, err = os.ReadFile(path)
	return f, err
})

// importedScene has two files of rows, each row several times.
func importedScene(t *testing.T) (*scene, *forest) {
	t.Helper()
	f, err := imported()
	if err != nil {
		t.Fatal(err)
	}
	s := sceneOf(t, f.content)
	for i := range 2 {
		all := make([]int, fileRows)
		for k := range all {
			all[k] = (k + i) % f.rows.Rows()
		}
		s.write(i, f.rows.Select(all))
	}
	return s, f
}

// reference writes a table of reference rows and returns its path.
func (s *scene) reference(name string, rows *table.Table) string {
	s.Helper()
	format, err := table.FormatOf(name)
	if err != nil {
		s.Fatal(err)
	}
	var content bytes.Buffer
	sink, err := table.NewSink(&content, format)
	if err != nil {
		s.Fatal(err)
	}
	path := filepath.Join(s.TempDir(), name)
	if err := errors.Join(sink.Write(s.Context(), rows), sink.Close(), os.WriteFile(path, content.Bytes(), 0o600)); err != nil {
		s.Fatal(err)
	}
	return path
}

// Imported trees are explained as psi's own networks. What they do not know is null in the summary, and missing in parts.
func TestImportedTrees(t *testing.T) {
	s, _ := importedScene(t)
	job := smallUnits(t, s)
	status, summary := s.run(2)
	if status.State != Finished || status.Done != job.Units || !s.exists(successKey) {
		t.Fatalf("%s, %d of %d done", status.State, status.Done, job.Units)
	}
	s.wantExplained(0, 1)
	rows, _ := s.parts()
	if c := rows.Column("a__std"); c == nil || slices.Contains(c.Observed, true) {
		t.Errorf("the parts have a std: %v", c)
	}
	if summary.Rows != 2*fileRows || summary.Audit == nil || *summary.Audit.RelativeRMSE > 1e-5 {
		t.Errorf("%d rows, audit %+v", summary.Rows, summary.Audit)
	}
	for _, p := range summary.Outputs[0].Players {
		if p.Std != nil || p.Doubt != nil || p.Size == 0 {
			t.Errorf("%+v", p)
		}
	}
	content, err := os.ReadFile(filepath.Join(s.out, SummaryKey))
	if err != nil || !strings.Contains(string(content), `"mean_std": null`) {
		t.Errorf("%v: %s", err, content)
	}
}

// A job holds the reference rows of its game, whatever becomes of the file.
func TestGames(t *testing.T) {
	for name, c := range map[string]struct {
		game psi.Game
		file string
		rows []int
	}{
		"baseline":       {psi.BaselineGame, "one.parquet", []int{3}},
		"interventional": {"", "some.rows.csv", []int{0, 1, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			s, f := importedScene(t)
			reference := f.rows.Select(c.rows)
			request := s.request()
			request.unitRows, request.Options.Game, request.Reference = 2*groupRows, c.game, s.reference(c.file, reference)
			job, _, err := s.job().Plan(t.Context(), request)
			if err != nil {
				t.Fatal(err)
			}
			if r := job.Reference; r == nil || r.Rows != len(c.rows) || !strings.HasPrefix(r.Digest, "sha256:") || job.Options.Game != psi.Game(name) {
				t.Fatalf("%+v in the game %q", r, job.Options.Game)
			}
			again, old, err := s.job().Plan(t.Context(), request)
			if err != nil || !old || again.ID != job.ID {
				t.Errorf("the same request is not the same job: %v", err)
			}
			other := request
			other.Reference = s.reference("other.csv", f.rows.Select([]int{5}))
			if _, _, err := s.job().Plan(t.Context(), other); !errors.Is(err, ErrOtherBatch) {
				t.Errorf("other reference rows: %v", err)
			}
			if err := os.Remove(request.Reference); err != nil {
				t.Fatal(err)
			}
			status, summary := s.run(2)
			if status.State != Finished {
				t.Fatal(status.State, summary.Failures)
			}
			s.wantExplainedAs(psi.ExplainOptions{Game: psi.Game(name), Reference: reference}, 0, 1)
			if summary.Audit != nil || summary.Outputs[0].NDCG != nil || summary.Outputs[0].Players[0].Trained != nil || summary.Job.Reference.Digest != job.Reference.Digest {
				t.Errorf("the summary compares with another game: %+v", summary)
			}

			path := filepath.Join(s.out, filepath.FromSlash(job.Reference.Key))
			if err := os.WriteFile(path, []byte("a,b\n1,2\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := open(t.Context(), s.out, "auto"); err == nil || !strings.Contains(err.Error(), "digest") {
				t.Errorf("other reference rows in the results: %v", err)
			}
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if _, err := open(t.Context(), s.out, "auto"); err == nil || !strings.Contains(err.Error(), "are missing") {
				t.Errorf("no reference rows in the results: %v", err)
			}
		})
	}
}

// A game that cannot be played is refused before anything is written.
func TestRefusedGames(t *testing.T) {
	s, f := importedScene(t)
	many := make([]int, 1001)
	for i := range many {
		many[i] = i % f.rows.Rows()
	}
	less := &table.Table{Columns: f.rows.Columns[1:]}
	texts := slices.Clone(f.rows.Columns)
	texts[0] = table.CategoryColumn(texts[0].Name, slices.Repeat([]string{"text"}, f.rows.Rows()), nil)
	for says, c := range map[string]struct {
		game psi.Game
		file string
	}{
		"needs reference rows":                 {psi.InterventionalGame, ""},
		"has no reference rows":                {psi.PathDependentGame, s.reference("a.csv", f.rows.Select([]int{0}))},
		"the trees did not learn":              {psi.ObservationalGame, ""},
		"there is no such game":                {"chess", ""},
		"has one reference row, not 2":         {psi.BaselineGame, s.reference("b.csv", f.rows.Select([]int{0, 1}))},
		"more than 1000":                       {"", s.reference("c.csv", f.rows.Select(many))},
		"there are no reference rows":          {"", s.reference("d.parquet", f.rows.Select([]int{}))},
		"e.csv, column \"a\": the table lacks": {"", s.reference("e.csv", less)},
		"number":                               {"", s.reference("f.csv", &table.Table{Columns: texts})},
		"no such file":                         {"", filepath.Join(s.TempDir(), "none.csv")},
	} {
		request := s.request()
		request.Options.Game, request.Reference = c.game, c.file
		if _, _, err := s.job().Plan(t.Context(), request); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
		if s.exists("_psi") {
			t.Fatalf("%s: something was written", says)
		}
	}
}

// Reference rows make units and chunks smaller.
func TestUnitsOfGames(t *testing.T) {
	s, f := importedScene(t)
	request := s.request()
	own, _, err := s.job().Plan(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	request.Reference = s.reference("a.csv", f.rows.Select([]int{0, 1, 2, 3}))
	job, _, err := (&Runner{Out: filepath.Join(t.TempDir(), "out")}).Plan(t.Context(), request)
	if err != nil || math.Abs(float64(own.UnitRows)/float64(job.UnitRows)-4) > .01 {
		t.Fatalf("units of %d rows with 4 reference rows, %d without: %v", job.UnitRows, own.UnitRows, err)
	}
	for references, want := range map[int]int{1: 8192, 100: 1000, 1000: 100} {
		if got := (&task{Job: &Job{Reference: &Reference{Rows: references}}}).chunkRows(); got != want {
			t.Errorf("%d reference rows: chunks of %d rows, want %d", references, got, want)
		}
	}
	if got := (&task{Job: &Job{}}).chunkRows(); got != 0 {
		t.Errorf("chunks of %d rows without reference rows", got)
	}
}
