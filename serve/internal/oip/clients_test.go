package oip

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/psi-shapley/psi/serve/internal/oip/inference"
	"github.com/psi-shapley/psi/table"
	"google.golang.org/protobuf/proto"
)

// adult is a model of what testdata/capture.py sends.
func adult() *Signature {
	return &Signature{
		Name: "adult", Version: "1", Versions: []string{"1"},
		Columns: []Column{
			{Name: "age", Kind: table.Number},
			{Name: "job", Kind: table.Category, Labels: []string{"Private", "State"}},
			{Name: "hours", Kind: table.Number},
			{Name: "member", Kind: table.Boolean},
			{Name: "city", Kind: table.Category},
		},
		Players: []string{"age", "job", "hours", "member", "city"}, Outputs: []string{">50K"}, Classes: true,
	}
}

func readFile(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// captured parses what a real client sent.
func captured(t testing.TB, name string) *Request {
	t.Helper()
	if strings.HasSuffix(name, ".grpc") {
		var m inference.ModelInferRequest
		if err := proto.Unmarshal(readFile(t, name), &m); err != nil {
			t.Fatal(err)
		}
		r, err := FromGRPC(&m, 100)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return r
	}
	length := -1
	if text, err := os.ReadFile(filepath.Join("testdata", strings.TrimSuffix(name, ".http")+".length")); err == nil {
		if length, err = strconv.Atoi(strings.TrimSpace(string(text))); err != nil {
			t.Fatal(err)
		}
	}
	r, err := ParseHTTP(readFile(t, name), length, 100)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return r
}

func TestRealClients(t *testing.T) {
	outputs := []string{"prediction", "probability", "attribution_mean"}
	for _, c := range []struct {
		file    string
		id      string
		outputs []string
		binary  bool
		z       float64
		unknown []string
		age     float64 // of the third row
	}{
		{"triton_binary.http", "a1", outputs, true, 1.96, nil, math.NaN()},
		{"triton_json.http", "a1", outputs, false, 1.96, nil, 39}, // it refuses to send NaN in JSON
		{"triton_no_outputs.http", "", nil, true, 2.5, []string{"city"}, math.NaN()},
		{"triton.grpc", "a1", outputs, true, 2.5, []string{"city"}, math.NaN()},
		{"kserve_binary.http", "a1", nil, false, 1.96, nil, math.NaN()},
		{"kserve_json.http", "a1", nil, false, 1.96, nil, math.NaN()},
		{"kserve_raw.grpc", "a1", nil, false, 1.96, nil, math.NaN()},
		{"kserve_typed.grpc", "a1", nil, false, 1.96, nil, math.NaN()},
	} {
		r := captured(t, c.file)
		if r.ID != c.id || r.Z != c.z || !slices.Equal(r.Unknown, c.unknown) {
			t.Errorf("%s: id %q, z %v, unknown %q", c.file, r.ID, r.Z, r.Unknown)
		}
		var names []string
		for _, w := range r.Outputs {
			names = append(names, w.Name)
			if w.Binary != c.binary {
				t.Errorf("%s: output %s has binary %v", c.file, w.Name, w.Binary)
			}
		}
		if !slices.Equal(names, c.outputs) || c.outputs == nil && r.BinaryOutputs != c.binary {
			t.Errorf("%s: outputs %q, binary %v", c.file, names, r.BinaryOutputs)
		}
		r.Unknown = []string{"city"}
		rows, err := r.Table(adult(), 3, nil)
		if err != nil {
			t.Errorf("%s: %v", c.file, err)
			continue
		}
		want, err := table.New(
			table.NumberColumn("age", []float64{39, 50, c.age}, nil),
			table.CategoryColumn("job", []string{"Private", "Self-émp", ""}, []bool{true, true, false}),
			table.NumberColumn("hours", []float64{40, 13, 45}, nil),
			table.BooleanColumn("member", []bool{true, false, true}, nil),
			table.CategoryColumn("city", []string{"", "", ""}, []bool{false, false, false}),
		)
		if err != nil {
			t.Fatal(err)
		}
		equalTables(t, c.file, rows, want)
	}
}

func equalTables(t testing.TB, what string, got, want *table.Table) {
	t.Helper()
	if _, err := table.New(got.Columns...); err != nil {
		t.Errorf("%s: the table contradicts itself: %v", what, err)
	}
	if len(got.Columns) != len(want.Columns) {
		t.Fatalf("%s: %d columns, want %d", what, len(got.Columns), len(want.Columns))
	}
	for j, w := range want.Columns {
		g := got.Columns[j]
		if g.Name != w.Name || g.Kind != w.Kind || !slices.Equal(g.Observed, w.Observed) || !slices.Equal(g.Numbers, w.Numbers) ||
			!slices.Equal(g.Codes, w.Codes) || !slices.Equal(g.Levels, w.Levels) {
			t.Errorf("%s: column %+v\nwant %+v", what, *g, *w)
		}
	}
}
