//go:build onnx

package psi_test

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/gomlx/compute"
	onnxbackend "github.com/gomlx/compute-onnx"
	onnx "github.com/gomlx/compute-onnx/support/protos"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"google.golang.org/protobuf/proto"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/internal/engine"
	"github.com/psi-shapley/psi/table"
)

// exportedModel is a file of ExportONNX in ONNX Runtime. The engine's binding has no texts: labels are encoded here, by the
// table that the file has for them, and scripts/check_onnx.py has ONNX Runtime do it.
type exportedModel struct {
	file    *onnx.ModelProto
	labels  map[string]*onnx.NodeProto // by input
	run     compute.Executable
	backend compute.Backend
}

func exportedOf(t *testing.T, m *psi.Model) *exportedModel {
	t.Helper()
	b, _, err := engine.Open("onnx")
	if err != nil {
		t.Skip(err)
	}
	var content bytes.Buffer
	if err := m.ExportONNX(&content); err != nil {
		t.Fatal(err)
	}
	x := &exportedModel{file: &onnx.ModelProto{}, labels: map[string]*onnx.NodeProto{}, backend: b.Backend}
	if err := proto.Unmarshal(content.Bytes(), x.file); err != nil {
		t.Fatal(err)
	}
	bare := proto.Clone(x.file).(*onnx.ModelProto)
	var rest []*onnx.NodeProto
	for _, n := range bare.Graph.Node {
		if n.OpType != "LabelEncoder" {
			rest = append(rest, n)
			continue
		}
		x.labels[n.Input[0]] = n
		for _, in := range bare.Graph.Input {
			if in.Name == n.Input[0] {
				in.Name = n.Output[0]
				in.Type.GetTensorType().ElemType = int32(onnx.TensorProto_INT64)
			}
		}
	}
	bare.Graph.Node = rest
	stripped, err := proto.Marshal(bare)
	if err != nil {
		t.Fatal(err)
	}
	if x.run, err = onnxbackend.LoadModel(b.Backend, bytes.NewReader(stripped)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.run.Finalize)
	return x
}

// said is a property of the file.
func (x *exportedModel) said(key string) string {
	for _, p := range x.file.MetadataProps {
		if p.Key == key {
			return p.Value
		}
	}
	return ""
}

// code is what the file's table makes of a label.
func code(n *onnx.NodeProto, label string) int64 {
	keys, values := n.Attribute[0].Strings, n.Attribute[1].Ints
	at := slices.IndexFunc(keys, func(k []byte) bool { return string(k) == label })
	if at < 0 {
		return n.Attribute[2].I
	}
	return values[at]
}

// outputs of rows, by their names.
func (x *exportedModel) outputs(t *testing.T, rows *table.Table) map[string][]float32 {
	t.Helper()
	var columns []struct{ Name, Input string }
	if err := json.Unmarshal([]byte(x.said("psi.columns")), &columns); err != nil {
		t.Fatal(err)
	}
	n := rows.Rows()
	var in []compute.Buffer
	for i, c := range columns {
		if x.file.Graph.Input[i].Name != c.Input {
			t.Fatalf("input %d is %q, the file says %q", i, x.file.Graph.Input[i].Name, c.Input)
		}
		cells := rows.Column(c.Name)
		var flat any
		dtype := dtypes.Float64
		if cells.Kind == table.Category {
			codes := make([]int64, n)
			for row := range codes {
				codes[row] = code(x.labels[c.Input], cells.Text(row))
			}
			flat, dtype = codes, dtypes.Int64
		} else {
			numbers := slices.Clone(cells.Numbers)
			for row, seen := range cells.Observed {
				if !seen {
					numbers[row] = math.NaN()
				}
			}
			flat = numbers
		}
		b, err := x.backend.BufferFromFlatData(0, flat, shapes.Make(dtype, n))
		if err != nil {
			t.Fatal(err)
		}
		in = append(in, b)
	}
	out, err := x.run.Execute(in, make([]bool, len(in)), 0)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]float32{}
	for i, o := range x.file.Graph.Output {
		shape, err := out[i].Shape()
		if err != nil {
			t.Fatal(err)
		}
		for axis, d := range o.Type.GetTensorType().Shape.Dim[1:] {
			if int64(shape.Dimensions[axis+1]) != d.GetDimValue() {
				t.Fatalf("%s is %v, the file says %v", o.Name, shape, d)
			}
		}
		all[o.Name] = make([]float32, shape.Size())
		if err := out[i].ToFlatData(all[o.Name]); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// strange are rows as no training has seen them: other labels, times of all the calendar, numbers far off, gaps anywhere.
func strange(t *testing.T, rng *rand.Rand, rows *table.Table) *table.Table {
	t.Helper()
	n := rows.Rows()
	begin, end := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC).Unix(), time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC).Unix()
	var columns []*table.Column
	for _, c := range rows.Columns {
		observed, numbers, labels := slices.Clone(c.Observed), slices.Clone(c.Numbers), make([]string, n)
		for i := range n {
			labels[i] = c.Text(i)
			far := rng.IntN(8) == 0
			switch {
			case far && c.Kind == table.Number:
				numbers[i], observed[i] = rng.NormFloat64()*1e12, true
			case far && c.Kind == table.Time:
				numbers[i], observed[i] = float64(begin+rng.Int64N(end-begin))+.25, true
			case far && c.Kind == table.Category && c.Name != "y":
				labels[i], observed[i] = "elsewhere", true
			}
			if c.Name != "y" && (i == 0 || rng.IntN(8) == 0) { // all of the first row
				observed[i] = false
			}
		}
		if c.Kind == table.Category {
			columns = append(columns, table.CategoryColumn(c.Name, labels, observed))
			continue
		}
		columns = append(columns, &table.Column{Name: c.Name, Kind: c.Kind, Numbers: numbers, Observed: observed})
	}
	made, err := table.New(columns...)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// members adds a boolean whose name an output has too.
func members(t *testing.T, rng *rand.Rand, rows *table.Table) *table.Table {
	t.Helper()
	values, seen := make([]bool, rows.Rows()), make([]bool, rows.Rows())
	for i := range values {
		values[i], seen[i] = rng.IntN(2) == 0, rng.IntN(9) > 0
	}
	made, err := table.New(append([]*table.Column{table.BooleanColumn("base", values, seen)}, rows.Columns...)...)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// same holds the graph to the explanation: 1e-5 of the largest number, or of 1.
func (x *exportedModel) same(t *testing.T, m *psi.Model, rows *table.Table) {
	t.Helper()
	e := explained(t, m, rows, psi.ExplainOptions{})
	got := x.outputs(t, rows)
	want := map[string][]float64{
		"prediction": e.Link().Responses(e.Prediction), "prediction_std": e.Link().Deviations(e.Prediction, e.PredictionStd), "base": e.Base, "attribution_mean": e.Mean, "attribution_std": e.Std,
	}
	if e.Probability != nil {
		want["probability"] = e.Probability
	}
	if len(got) != len(want) {
		t.Fatalf("%d outputs, want %d", len(got), len(want))
	}
	for name, list := range want {
		if len(got[name]) != len(list) {
			t.Fatalf("%s has %d numbers, want %d", name, len(got[name]), len(list))
		}
		largest, worst := 1., 0.
		for i, w := range list {
			largest, worst = max(largest, math.Abs(w)), max(worst, math.Abs(w-float64(got[name][i])))
			if math.IsNaN(float64(got[name][i])) {
				t.Fatalf("%s %d is not a number", name, i)
			}
		}
		if worst > 1e-5*largest {
			t.Errorf("%s is off by %.1e, the largest being %.3g", name, worst, largest)
		}
	}
}

// A graph says of any rows what the model says.
func TestExportONNX(t *testing.T) {
	with := func(change ...func(*psi.Settings)) func(*psi.Settings) {
		return func(s *psi.Settings) {
			moment(s)
			for _, c := range change {
				c(s)
			}
		}
	}
	two := func(s *psi.Settings) { s.Members = 2 }
	train := func(s *psi.Settings) { s.Form, s.Rank = "tensor-train", 2 }
	smooth := func(s *psi.Settings) { s.Frequencies = 0 }
	pairs := func(s *psi.Settings) { s.Channels, s.Pairs, s.PairRank = 32, 2, 2 }
	gaps := []string{"age", "town", "visit"}
	for _, c := range []struct {
		name    string
		classes int // 0 is a number
		config  psi.Config
	}{
		{"number", 0, psi.Config{Change: with()}},
		{"number of learned head", 0, psi.Config{Head: "learned", Change: with(smooth)}},
		{"two classes", 2, psi.Config{Change: with(smooth)}},
		{"two classes, gaps are levels, members", 2, psi.Config{MissingAsLevel: gaps, Change: with(two)}},
		{"four classes", 4, psi.Config{Change: with()}},
		{"three classes of groups", 3, psi.Config{Groups: body(), Change: with()}},
		{"three classes of pairs, members", 3, psi.Config{Change: with(pairs, two)}},
		{"number of pairs of groups", 0, psi.Config{Groups: body(), Change: with(pairs)}},
		{"three classes of groups, learned head, members", 3, psi.Config{Groups: body(), Head: "learned", Change: with(two)}},
		{"three classes of tensor-train, members", 3, psi.Config{Change: with(train, two)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			rng := newRand(t, rand.Uint64())
			var rows *table.Table
			if c.classes == 0 {
				rows = members(t, rng, gappyPeople(t, rng, 150))
			} else {
				rows = members(t, rng, people(t, rng, 150, c.classes))
			}
			m := trained(t, rows, c.config)
			x := exportedOf(t, m)
			odd := strange(t, rng, rows)
			x.same(t, m, rows)
			x.same(t, m, odd)
			x.same(t, m, head(t, odd, 1)) // the number of rows is open
			var players, outputs []string
			if err := json.Unmarshal([]byte(x.said("psi.players")), &players); err != nil || !slices.Equal(players, m.Players()) {
				t.Errorf("players %q %v, want %q", players, err, m.Players())
			}
			if err := json.Unmarshal([]byte(x.said("psi.outputs")), &outputs); err != nil || len(outputs) == 0 {
				t.Errorf("outputs %q %v", outputs, err)
			}
			if scale := x.said("psi.scale"); (scale == string(explain.Identity)) != (c.classes == 0) {
				t.Errorf("scale %q", scale)
			}
		})
	}
}

// A graph clips predictions as the model does.
func TestExportONNXOfANonNegativeTarget(t *testing.T) {
	rows := riders(t, 400, 0)
	m := trained(t, rows, psi.Config{Change: quick})
	exportedOf(t, m).same(t, m, rows)
}

// gappyPeople is people with a number to predict.
func gappyPeople(t *testing.T, rng *rand.Rand, n int) *table.Table {
	t.Helper()
	rows := people(t, rng, n, 4)
	y := make([]float64, n)
	for i := range y {
		y[i] = 1000 + 50*rng.NormFloat64() + rows.Column("size").Numbers[i]*100
	}
	made, err := table.New(append(slices.Clone(rows.Columns[:4]), table.NumberColumn("y", y, nil))...)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// head are the first rows.
func head(t *testing.T, rows *table.Table, n int) *table.Table {
	t.Helper()
	first := make([]int, n)
	for i := range first {
		first[i] = i
	}
	return rows.Select(first)
}

// The same model gives the same file, and it names only operators that all programs know.
func TestExportedFile(t *testing.T) {
	rows := people(t, newRand(t, 3), 150, 3)
	m := trained(t, rows, psi.Config{Change: moment})
	path, _ := saved(t, m)
	again, err := psi.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	first, second := exportedOf(t, m), exportedOf(t, again)
	if !proto.Equal(first.file, second.file) {
		t.Error("two exports of a model differ")
	}
	if digest := first.said("psi.model"); digest != m.Digest() || digest == "" {
		t.Errorf("the file is of model %q, not %q", digest, m.Digest())
	}
	for _, n := range first.file.Graph.Node {
		if n.Domain != "" && n.Domain != "ai.onnx.ml" {
			t.Errorf("operator %s of %s", n.OpType, n.Domain)
		}
	}
}
