package onnx

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/engine"
	"github.com/psi-shapley/psi/internal/link"
	"github.com/psi-shapley/psi/table"
)

func newRand(t *testing.T) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// call runs a graph on the backend in pure Go.
func call(t *testing.T, in []*tensors.Tensor, build func(in []*graph.Node) []*graph.Node) [][]float32 {
	t.Helper()
	b, _, err := engine.Open("go")
	if err != nil {
		t.Fatal(err)
	}
	f, err := b.Compile(model.NewStore(), engine.Final, func(_ *model.Scope, in []*graph.Node) []*graph.Node { return build(in) })
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out, err := f.Call(in...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// edgesOf are sorted and different.
func edgesOf(rng *rand.Rand, n int) []float64 {
	edges := make([]float64, n)
	for i := range edges {
		edges[i] = rng.NormFloat64() * math.Pow(10, float64(rng.IntN(5)))
	}
	slices.Sort(edges)
	return slices.Compact(edges)
}

// everyPlayer is an encoder with all that a player can have.
func everyPlayer(rng *rand.Rand) *encode.Encoder {
	all := []bool{true, true, true, true}
	e := &encode.Encoder{Bins: 40, Players: []encode.Player{
		{Name: "many", Edges: edgesOf(rng, 41), Centre: 1, Scale: 3},
		{Name: "level", Edges: edgesOf(rng, 7), Scale: 1e-9, Gap: true},
		{Name: "never", Scale: 1},
		{Name: "once", Edges: []float64{5}, Scale: 1},
		{Name: "wide", Edges: []float64{-1.7e308, 1.6e308}, Scale: 1e300},
		{Name: "yes", Kind: table.Boolean, Edges: []float64{0, 1}, Centre: .3, Scale: .46},
		{Name: "when", Kind: table.Time, Edges: []float64{-1e9, 0, 1e9}, Centre: 1e9, Scale: 1e7, Cycles: all},
		{Name: "then", Kind: table.Time, Edges: []float64{0, 1}, Scale: 1e7, Cycles: []bool{false, true, false, true}, Gap: true},
		{Name: "old", Kind: table.Time, Scale: 1},
		{Name: "colour", Kind: table.Category, Levels: []string{"blue", "green", "red"}},
		{Name: "none", Kind: table.Category, Gap: true},
		{Name: "town", Kind: table.Category, Levels: []string{"Aix", "Bonn"}, Gap: true},
	}}
	return e
}

// anyNumber of a player's kind: some lie on its edges, some far off.
func anyNumber(rng *rand.Rand, p *encode.Player) float64 {
	switch {
	case p.Kind == table.Boolean:
		return float64(rng.IntN(2))
	case p.Kind == table.Time:
		begin, end := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC).Unix(), time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC).Unix()
		seconds := float64(begin + rng.Int64N(end-begin))
		switch rng.IntN(4) {
		case 0: // within days of a change of month about a leap day
			return float64(time.Date(1600+100*rng.IntN(9), time.Month(1+rng.IntN(12)), rng.IntN(3), 0, 0, 0, 0, time.UTC).Unix())
		case 1:
			return seconds + float64(rng.IntN(1e6))/1e6
		}
		return seconds
	case len(p.Edges) > 0 && rng.IntN(3) == 0:
		return p.Edges[rng.IntN(len(p.Edges))]
	}
	return rng.NormFloat64() * math.Pow(10, float64(rng.IntN(8))) * []float64{1, 1, 1, 1e300}[rng.IntN(4)]
}

// The graph encodes cells as package encode does, to the bit; sines and cosines to their last.
func TestEncodesAsEncode(t *testing.T) {
	rng := newRand(t)
	e := everyPlayer(rng)
	if err := e.Validate(); err != nil {
		t.Fatal(err)
	}
	const rows = 400
	var columns []*table.Column
	var in []*tensors.Tensor
	for d := range e.Players {
		p := &e.Players[d]
		observed, numbers, labels := make([]bool, rows), make([]float64, rows), make([]string, rows)
		cells, codes := make([]float64, rows), make([]int64, rows)
		for i := range rows {
			observed[i], cells[i], codes[i] = rng.IntN(5) > 0, math.NaN(), gapCode
			if !observed[i] {
				continue
			}
			if p.Kind == table.Category {
				known := rng.IntN(len(p.Levels) + 1)
				labels[i], codes[i] = "unheard", int64(known)
				if known > 0 {
					labels[i] = p.Levels[known-1]
				}
				continue
			}
			numbers[i] = anyNumber(rng, p)
			cells[i] = numbers[i]
		}
		if p.Kind == table.Category {
			columns = append(columns, table.CategoryColumn(p.Name, labels, observed))
			in = append(in, tensors.FromFlatDataAndDimensions(codes, rows))
			continue
		}
		columns = append(columns, &table.Column{Name: p.Name, Kind: p.Kind, Numbers: numbers, Observed: observed})
		in = append(in, tensors.FromFlatDataAndDimensions(cells, rows))
	}
	given, err := table.New(columns...)
	if err != nil {
		t.Fatal(err)
	}
	want, err := e.Encode(given)
	if err != nil {
		t.Fatal(err)
	}
	got := call(t, in, func(in []*graph.Node) []*graph.Node {
		rows, observed := encoded(e, nil, in)
		return []*graph.Node{rows.Numbers, rows.Cycles, graph.ConvertDType(rows.Codes, dtypes.Float32), observed}
	})
	codes := make([]float32, len(want.Codes))
	for i, c := range want.Codes {
		codes[i] = float32(c)
	}
	for k, what := range []struct {
		name    string
		want    []float32
		allowed float64
		width   int
	}{{"numbers", want.Numbers, 0, 2 * want.Numeric}, {"cycles", want.Cycles, 1e-7, encode.CyclicParts * want.Times}, {"codes", codes, 0, want.Categorical}, {"observed", want.Observed, 0, want.Players()}} {
		if len(got[k]) != len(what.want) {
			t.Fatalf("%d %s, want %d", len(got[k]), what.name, len(what.want))
		}
		for i, w := range what.want {
			if off := math.Abs(float64(got[k][i]) - float64(w)); !(off <= what.allowed) {
				row, at := i/what.width, i%what.width
				t.Fatalf("%s %d of row %d: %v, want %v; cells %s", what.name, at, row, got[k][i], w, cellsOf(given, row))
			}
		}
	}
}

func cellsOf(t *table.Table, row int) (text string) {
	for _, c := range t.Columns {
		text += fmt.Sprintf("%s=%q ", c.Name, c.Text(row))
	}
	return text
}

// Texts of missing cells that are numbers hold for numbers, not for booleans and times.
func TestNumbersThatMeanMissing(t *testing.T) {
	e := &encode.Encoder{Bins: 2, Players: []encode.Player{
		{Name: "number", Edges: []float64{0, 1}, Scale: 1}, {Name: "boolean", Kind: table.Boolean, Edges: []float64{0, 1}, Scale: 1},
	}}
	m := Model{Missing: []string{"unknown", "-9", "1"}}
	got := call(t, []*tensors.Tensor{tensors.FromFlatDataAndDimensions([]float64{-9, 1, 2}, 3), tensors.FromFlatDataAndDimensions([]float64{1, 0, 1}, 3)},
		func(in []*graph.Node) []*graph.Node {
			_, observed := encoded(e, m.missingNumbers(), in)
			return []*graph.Node{observed}
		})
	if want := []float32{0, 1, 0, 1, 1, 1}; !slices.Equal(got[0], want) {
		t.Errorf("observed %v, want %v", got[0], want)
	}
}

// An infinite number, which psi refuses, is the farthest one here: a graph cannot refuse.
func TestInfiniteNumbersAreTheFarthest(t *testing.T) {
	e := &encode.Encoder{Bins: 2, Players: []encode.Player{{Name: "x", Edges: []float64{0, 1, 3}, Scale: 2}}}
	got := call(t, []*tensors.Tensor{tensors.FromFlatDataAndDimensions([]float64{math.Inf(1), math.Inf(-1)}, 2)}, func(in []*graph.Node) []*graph.Node {
		rows, observed := encoded(e, nil, in)
		return []*graph.Node{rows.Numbers, observed}
	})
	if want := []float32{2, encode.MaxStandardised, 0, -encode.MaxStandardised}; !slices.Equal(got[0], want) || !slices.Equal(got[1], []float32{1, 1}) {
		t.Errorf("%v, observed %v", got[0], got[1])
	}
}

func TestProbabilitiesAreLinks(t *testing.T) {
	rng := newRand(t)
	const rows = 50
	for _, classes := range []int{1, 4} {
		score, variance, want := make([]float64, rows*classes), make([]float64, rows*classes), make([]float64, rows*classes)
		for i := range score {
			score[i], variance[i] = 5*rng.NormFloat64(), 4*rng.Float64()*float64(rng.IntN(4))
			want[i] = link.LogisticNormal(score[i], math.Sqrt(variance[i]))
		}
		for i := 0; classes > 1 && i < len(score); i += classes {
			link.SoftmaxNormal(score[i:i+classes], variance[i:i+classes], want[i:i+classes])
		}
		in := []*tensors.Tensor{tensors.FromFlatDataAndDimensions(score, rows, classes), tensors.FromFlatDataAndDimensions(variance, rows, classes)}
		got := call(t, in, func(in []*graph.Node) []*graph.Node { return []*graph.Node{float(probabilities(in[0], in[1]))} })
		for i, p := range want {
			if math.Abs(p-float64(got[0][i])) > 1e-7 {
				t.Errorf("%d scores, %d: %v, want %v", classes, i, got[0][i], p)
			}
		}
	}
}

func TestInputNames(t *testing.T) {
	e := &encode.Encoder{}
	m := Model{Encoder: e, Units: Units{Probability: true}}
	for i, name := range []string{"age", "base", "input_base", "psi/code_1", "probability", "input_psi/x"} {
		e.Players = append(e.Players, encode.Player{Name: name})
		m.Columns = append(m.Columns, i)
	}
	want := []string{"age", "input_input_base", "input_base", "input_psi/code_1", "input_probability", "input_psi/x"}
	if got := m.inputNames(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestTextsOfMissingCells(t *testing.T) {
	m := Model{Missing: []string{" Unknown value ", "-"}}
	got := m.missingTexts()
	for _, text := range []string{"", "NA", "na", "N/A", "NaN", "nan", "NAN", "null", "NULL", "Null", "?", "-", "Unknown value", "unknown value"} {
		if !slices.Contains(got, text) {
			t.Errorf("%q is not among %q", text, got)
		}
	}
	for _, text := range got {
		if !table.Missing([]byte(text)) && !slices.Contains(spellings("Unknown value"), text) && text != "-" {
			t.Errorf("%q means missing", text)
		}
	}
}
