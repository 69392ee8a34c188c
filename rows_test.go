package psi

import (
	"context"
	"errors"
	"io"
	"math"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/internal/artifact"
	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/table"
)

// waiting gives its table once; the next call waits for the end of its context, as a network source does.
type waiting struct {
	table.Source
	first *table.Table
}

func (w *waiting) Next(ctx context.Context) (*table.Table, error) {
	if t := w.first; t != nil {
		w.first = nil
		return t, nil
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

// Breaking out of a range over results releases a source that waits on its context.
func TestBreakingOutReleasesTheSource(t *testing.T) {
	rows := small(t, 60)
	m := trainSmall(t, rows, "number", "label", 1)
	for name, first := range map[string]func(source Source) error{
		"Explanations": func(source Source) error {
			for _, err := range m.Explanations(t.Context(), source, ExplainOptions{}) {
				return err
			}
			return nil
		},
		"Predictions": func(source Source) error {
			for _, err := range m.Predictions(t.Context(), source) {
				return err
			}
			return nil
		},
		"Outcomes": func(source Source) error {
			for _, err := range m.Outcomes(t.Context(), source) {
				return err
			}
			return nil
		},
	} {
		ended := make(chan error, 1)
		go func() { ended <- first(&waiting{Source: rows.Source(), first: rows}) }()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%s hangs", name)
		}
	}
}

func TestPassWithoutRows(t *testing.T) {
	m := trainSmall(t, small(t, 60), "number", "label", 1)
	if answers, err := m.Pass(t.Context(), Attributions); len(answers) != 0 || err != nil {
		t.Errorf("%d answers, %v", len(answers), err)
	}
}

// chunked hands out tables, one after the other.
type chunked struct {
	table.Source
	left []*table.Table
}

func (c *chunked) Next(context.Context) (*table.Table, error) {
	if len(c.left) == 0 {
		return nil, io.EOF
	}
	next := c.left[0]
	c.left = c.left[1:]
	return next, nil
}

// inChunks are the rows of a table, a few at a time.
func inChunks(rows *table.Table, size int) *chunked {
	c := &chunked{Source: rows.Source()}
	for from := 0; from < rows.Rows(); from += size {
		c.left = append(c.left, part(rows, from, min(from+size, rows.Rows())))
	}
	return c
}

// What passes at once say of the chunks of a table is what one says of the whole, to the bit.
func TestConcurrentChunksAnswerAsTheWhole(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	rows := small(t, 300)
	m := trainSmall(t, rows, "number", "label", 1)
	if err := m.Save(filepath.Join(t.TempDir(), "m.psi")); err != nil {
		t.Fatal(err)
	}
	groups := []Group{{Name: "both", Columns: []string{"a", "b"}}}
	explained := func(source table.Source, groups []Group) *explain.Explanation {
		e, err := m.Explain(t.Context(), source, ExplainOptions{Groups: groups})
		if err != nil {
			t.Error(err)
			return &explain.Explanation{}
		}
		return e
	}
	want, grouped := explained(rows.Source(), nil), explained(rows.Source(), groups)
	var callers sync.WaitGroup
	for range 3 {
		callers.Go(func() {
			for name, c := range map[string]struct{ got, want *explain.Explanation }{
				"own players": {explained(inChunks(rows, 17), nil), want}, "groups": {explained(inChunks(rows, 17), groups), grouped},
			} {
				if !slices.Equal(c.got.Mean, c.want.Mean) || !slices.Equal(c.got.Std, c.want.Std) || !slices.Equal(c.got.Prediction, c.want.Prediction) || c.got.Model != c.want.Model {
					t.Errorf("%s: chunks say something else", name)
				}
			}
		})
	}
	callers.Wait()
	p, err := m.Predict(t.Context(), inChunks(rows, 17))
	if err != nil || !slices.Equal(p.Mean, want.Prediction) {
		t.Errorf("chunks predict something else: %v", err)
	}
	got, err := m.Evaluate(t.Context(), inChunks(rows, 17))
	if err != nil {
		t.Fatal(err)
	}
	one, err := m.Evaluate(t.Context(), rows.Source())
	if err != nil || !reflect.DeepEqual(got, one) {
		t.Errorf("chunks evaluate to %+v, the whole to %+v: %v", got, one, err)
	}
}

// huge sets weights to the largest numbers that a file may hold.
func huge(weights []float32) {
	for i := range weights {
		weights[i] = 3e38
	}
}

// A model whose numbers are all finite, but whose answers are not, is refused when it is opened.
func TestModelsThatOverflowAreRefused(t *testing.T) {
	file := smallest(t)
	tensors, err := artifact.DecodeTensors(file.Parts[weightsPart])
	if err != nil {
		t.Fatal(err)
	}
	for _, names := range [][]string{nil, {"channel"}, {"sigma_out"}, {"sigma0"}, {"noise_scale"}} {
		changed := map[string]artifact.Tensor{}
		for name, w := range tensors {
			w.Floats = slices.Clone(w.Floats)
			if names == nil || slices.Contains(names, name[len("0/"):]) {
				huge(w.Floats)
			}
			changed[name] = w
		}
		weights, err := artifact.EncodeTensors(changed)
		if err != nil {
			t.Fatal(err)
		}
		path := t.TempDir() + "/m.psi"
		packModel(t, path, file.Content, map[string][]byte{weightsPart: weights}, "", 0)
		m, err := Open(path)
		if err == nil {
			m.Close()
			t.Errorf("%v: a model that overflows was accepted", names)
		} else if !errors.Is(err, ErrDamaged) {
			t.Errorf("%v: %v", names, err)
		}
	}
	for name, content := range map[string][]byte{
		"a huge spread of the target": changed(t, file.Content, 1e308, "scale", "std"),
		"a target that is far off":    changed(t, file.Content, -1e308, "scale", "mean"),
		"huge noise":                  changed(t, file.Content, 1e308, "calibration", "noise"),
		"a tiny temperature":          changed(t, file.Content, 1e-308, "calibration", "temperature"),
	} {
		path := t.TempDir() + "/m.psi"
		packModel(t, path, content, file.Parts, "", 0)
		if m, err := Open(path); err == nil {
			m.Close()
			t.Errorf("%s: the model was accepted", name)
		}
	}
}

// A label whose weights are huge is found among many.
func TestHeaviestLabelsAreChecked(t *testing.T) {
	c := made{
		players: append(numberPlayers(2), categoryPlayer("c", 10_000)),
		change:  func(s *Settings) { s.Embedding, s.Channels, s.Bins, s.Hidden = 4, 4, 4, 0 },
		weights: func(w map[string][]float32) {
			huge(w["levels"][4*7000 : 4*7001])
			for _, name := range []string{"sigma_in", "sigma_out"} {
				for i := range w[name] {
					w[name][i] = 1
				}
			}
		},
	}
	if m, err := Open(c.save(t)); err == nil {
		m.Close()
		t.Error("a model with a label that overflows was accepted")
	}
}

// overflowing is a model of 300 columns whose answer is infinite where all of them are at their upper end, which opening
// it does not see, and rows of which one is such.
func overflowing(t *testing.T) (*Model, *table.Table) {
	t.Helper()
	const columns, rows, bad = 300, 100, 70
	c := made{
		players: numberPlayers(columns),
		change:  func(s *Settings) { s.Embedding, s.Channels, s.Bins, s.Hidden, s.Frequencies = 1, 1, 2, 0, 0 },
		weights: func(w map[string][]float32) { // a factor of 1, or 1.36 in the upper bin
			for _, name := range []string{"bins", "bins_bias", "slope", "factor_bias", "factor_absent"} {
				clear(w[name])
			}
			for d := range columns {
				w["bins"][2*d+1], w["factor"][d] = 1, .377
			}
			w["channel"][0] = 1
		},
	}
	m, err := Open(c.save(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	var list []*table.Column
	for _, name := range append(m.Columns(), "y") {
		cells := make([]float64, rows)
		if cells[bad] = 1; name == "y" {
			cells[bad] = 0
		}
		list = append(list, table.NumberColumn(name, cells, nil))
	}
	all, err := table.New(list...)
	if err != nil {
		t.Fatal(err)
	}
	return m, all
}

// A row whose answer is not finite is an error that names it, wherever rows are answered; others are answered.
func TestRowsThatOverflowAreErrors(t *testing.T) {
	m, rows := overflowing(t)
	ctx := t.Context()
	isRow := func(what string, err error, row int) {
		t.Helper()
		if at, is := errors.AsType[*table.Error](err); !is || at.Row != row {
			t.Errorf("%s: %v, want an error of row %d", what, err, row)
		}
	}
	_, err := m.Predict(ctx, rows.Source())
	isRow("Predict", err, 70)
	_, err = m.Explain(ctx, rows.Source(), ExplainOptions{})
	isRow("Explain", err, 70)
	_, err = m.Explain(ctx, rows.Source(), ExplainOptions{From: 40})
	isRow("Explain of some rows", err, 70)
	_, err = m.Evaluate(ctx, rows.Source())
	isRow("Evaluate", err, 70)

	first, err := m.Read(part(rows, 0, 60))
	if err != nil {
		t.Fatal(err)
	}
	second, err := m.Read(part(rows, 60, 100))
	if err != nil {
		t.Fatal(err)
	}
	for _, depth := range []Depth{Values, Spread, Attributions} {
		_, err = m.Pass(ctx, depth, first, second)
		isRow("Pass of two requests", err, 10)
		answers, err := m.Pass(ctx, depth, first)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range answers[0].Prediction().Mean {
			if v-v != 0 {
				t.Errorf("depth %v gives %v", depth, v)
			}
		}
	}
	e, err := m.Explain(ctx, rows.Source(), ExplainOptions{To: 70})
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range [][]float64{e.Prediction, e.PredictionStd, e.Mean, e.Std} {
		if slices.ContainsFunc(list, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }) {
			t.Error("an explanation is not finite")
		}
	}
}

// The rows that a model is checked with have every edge and level of its columns, what lies beyond them, and gaps.
func TestCheckRowsHaveEveryValue(t *testing.T) {
	players := append(numberPlayers(1),
		encode.Player{Name: "b", Kind: table.Boolean}, encode.Player{Name: "t", Kind: table.Time, Cycles: []bool{true, true, false, false}},
		categoryPlayer("c", 5), categoryPlayer("many", 1000))
	players[0].Gap, players[3].Gap = true, true
	m, err := Open(made{players: players, change: func(s *Settings) { s.Embedding, s.Channels, s.Bins = 2, 2, 6 }}.save(t))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	rows, err := m.checkRows(checkColumns)
	if err != nil {
		t.Fatal(err)
	}
	if rows.Rows > checkRows {
		t.Errorf("%d rows", rows.Rows)
	}
	for d := range 3 {
		seen, gaps := map[float32]bool{}, 0
		for i := range rows.Rows {
			cell := rows.Numbers[(i*rows.Numeric+d)*2:]
			if rows.Observed[i*rows.Players()+d] == 0 {
				gaps++
				continue
			}
			seen[cell[0]] = true
			seen[cell[1]] = seen[cell[1]] || math.Abs(float64(cell[1])) == encode.MaxStandardised
		}
		for position := range 7 {
			if !seen[float32(position)] {
				t.Errorf("column %d is never at edge %d", d, position)
			}
		}
		if !seen[encode.MaxStandardised] || !seen[-encode.MaxStandardised] || (gaps == 0) == (d != 0) || d == 0 && !seen[encode.GapPosition] {
			t.Errorf("column %d lacks an extreme or a gap", d)
		}
	}
	codes := []map[int32]bool{{}, {}}
	for i := range rows.Rows {
		for k := range codes {
			codes[k][rows.Codes[i*rows.Categorical+k]] = true
		}
	}
	if len(codes[0]) != 5+2 || len(codes[1]) < 250 {
		t.Errorf("%d of 7 and %d of 1,001 labels are seen", len(codes[0]), len(codes[1]))
	}
}

// Numbers are drawn evenly from all below the limit, each once and in order; those of one limit are always the same.
func TestDrawNumbers(t *testing.T) {
	const limit, n = 24 * 500, 480
	got := drawNumbers(limit, n)
	tenths, hours := make([]float64, 10), make([]float64, 24)
	for i, x := range got {
		if x < 0 || x >= limit || i > 0 && x <= got[i-1] {
			t.Fatalf("number %d is %d", i, x)
		}
		tenths[x*10/limit]++
		hours[x%24]++
	}
	for _, counts := range [][]float64{tenths, hours} {
		for i, count := range counts {
			if want := n / float64(len(counts)); math.Abs(count-want) > 5*math.Sqrt(want) {
				t.Errorf("%g in part %d of %d, want about %g", count, i, len(counts), want)
			}
		}
	}
	if len(got) != n || !slices.Equal(got, drawNumbers(limit, n)) {
		t.Errorf("%d numbers, or others the second time", len(got))
	}
	if all := drawNumbers(5, 5); !slices.Equal(all, []int{0, 1, 2, 3, 4}) {
		t.Errorf("all of 5: %v", all)
	}
}
