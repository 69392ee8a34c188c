package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"

	"google.golang.org/protobuf/proto"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/serve/internal/oip/inference"
	"github.com/psi-shapley/psi/table"
)

// form is how a request is written.
type form string

const (
	gRPC       form = "grpc"
	jsonForm   form = "json"
	binaryForm form = "binary"
	rowsForm   form = "rows"
)

func (f form) MarshalText() ([]byte, error) { return []byte(f), nil }

func (f *form) UnmarshalText(text []byte) error {
	switch *f = form(text); *f {
	case gRPC, jsonForm, binaryForm, rowsForm:
		return nil
	}
	return fmt.Errorf("the form %q is none of grpc, json, binary and rows", text)
}

// pooled is how many requests of a kind are made; they are sent in turn.
const pooled = 32

// request is one that is ready to be sent.
type request struct {
	form  form
	path  string // of HTTP
	body  []byte
	head  int // bytes of JSON before binary tensors
	rows  int
	right [][]float64 // predictions that may be answered: those of each model
	whole bool        // attributions are asked for
}

// sheet is real rows that requests are made of.
type sheet struct {
	model   string // its name on the server
	columns []*table.Column
	rows    int
	random  *rand.Rand
}

// readSheet reads the columns that a model needs.
func readSheet(ctx context.Context, m *psi.Model, path string, seed uint64) (*sheet, error) {
	all, err := table.Read(ctx, path, m.ReadOptions())
	if err != nil {
		return nil, err
	}
	s := &sheet{rows: all.Rows(), random: rand.New(rand.NewPCG(seed, 0))}
	for _, in := range m.Inputs() {
		c := all.Column(in.Name)
		if c == nil {
			return nil, fmt.Errorf("%s has no column %q", path, in.Name)
		}
		if c.Kind != table.Number && c.Kind != table.Category {
			return nil, fmt.Errorf("column %q holds a %s: requests are made of numbers and categories", in.Name, c.Kind)
		}
		s.columns = append(s.columns, c)
	}
	return s, nil
}

// draw picks rows at random.
func (s *sheet) draw(n int) []int {
	picked := make([]int, n)
	for i := range picked {
		picked[i] = s.random.IntN(s.rows)
	}
	return picked
}

// table is some of the rows.
func (s *sheet) table(picked []int) (*table.Table, error) {
	columns := make([]*table.Column, len(s.columns))
	for j, c := range s.columns {
		numbers, labels, observed := make([]float64, len(picked)), make([]string, len(picked)), make([]bool, len(picked))
		for i, row := range picked {
			if observed[i] = c.Observed[row]; !observed[i] {
				continue
			}
			if c.Kind == table.Category {
				labels[i] = c.Levels[c.Codes[row]]
			} else {
				numbers[i] = c.Numbers[row]
			}
		}
		if c.Kind == table.Category {
			columns[j] = table.CategoryColumn(c.Name, labels, observed)
		} else {
			columns[j] = table.NumberColumn(c.Name, numbers, observed)
		}
	}
	return table.New(columns...)
}

// request writes rows down.
func (s *sheet) request(f form, depth psi.Depth, picked []int) (*request, error) {
	r := &request{form: f, rows: len(picked), whole: depth == psi.Attributions, path: "/v2/models/" + s.model + "/infer"}
	var err error
	switch f {
	case gRPC:
		r.body, err = s.message(depth, picked)
	case jsonForm, binaryForm:
		r.body, r.head, err = s.tensors(f == binaryForm, depth, picked)
	case rowsForm:
		r.path = "/explain"
		if !r.whole {
			r.path = "/predict"
		}
		list := make([]map[string]any, len(picked))
		for i, row := range picked {
			list[i] = make(map[string]any, len(s.columns))
			for _, c := range s.columns {
				list[i][c.Name] = cell(c, row)
			}
		}
		r.body, err = json.Marshal(map[string]any{"model": s.model, "rows": list})
	}
	return r, err
}

// checked draws rows for a request and notes what each of some models predicts for them.
func (s *sheet) checked(ctx context.Context, f form, depth psi.Depth, rows int, models ...*psi.Model) (*request, error) {
	picked := s.draw(rows)
	r, err := s.request(f, depth, picked)
	if err != nil {
		return nil, err
	}
	t, err := s.table(picked)
	if err != nil {
		return nil, err
	}
	for _, m := range models {
		p, err := m.Predict(ctx, t.Source())
		if err != nil {
			return nil, err
		}
		r.right = append(r.right, p.Mean)
	}
	return r, nil
}

// cell as JSON has it.
func cell(c *table.Column, row int) any {
	switch {
	case !c.Observed[row]:
		return nil
	case c.Kind == table.Category:
		return c.Levels[c.Codes[row]]
	}
	return c.Numbers[row]
}

// wanted are the outputs of a depth.
func wanted(d psi.Depth) []string {
	switch d {
	case psi.Values:
		return []string{"prediction"}
	case psi.Spread:
		return []string{"prediction", "prediction_std", "probability"}
	}
	return []string{"prediction", "base", "attribution_mean", "attribution_std"}
}

// raw is a column's cells as tensors have them.
func raw(c *table.Column, picked []int) (kind string, b []byte) {
	for _, row := range picked {
		switch {
		case c.Kind == table.Category:
			label := c.Text(row) // "" is missing
			b = append(binary.LittleEndian.AppendUint32(b, uint32(len(label))), label...)
		case c.Observed[row]:
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(c.Numbers[row]))
		default:
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(math.NaN()))
		}
	}
	return datatype(c), b
}

func datatype(c *table.Column) string {
	if c.Kind == table.Category {
		return "BYTES"
	}
	return "FP64"
}

// message is a request over gRPC, with a raw tensor for each column.
func (s *sheet) message(depth psi.Depth, picked []int) ([]byte, error) {
	m := &inference.ModelInferRequest{ModelName: s.model}
	for _, c := range s.columns {
		kind, cells := raw(c, picked)
		m.Inputs = append(m.Inputs, &inference.ModelInferRequest_InferInputTensor{Name: c.Name, Datatype: kind, Shape: []int64{int64(len(picked))}})
		m.RawInputContents = append(m.RawInputContents, cells)
	}
	for _, name := range wanted(depth) {
		m.Outputs = append(m.Outputs, &inference.ModelInferRequest_InferRequestedOutputTensor{Name: name})
	}
	return proto.Marshal(m)
}

// tensors is a request over HTTP, with the cells in JSON or behind it.
func (s *sheet) tensors(packed bool, depth psi.Depth, picked []int) (body []byte, head int, err error) {
	names := wanted(depth)
	inputs, outputs := make([]map[string]any, 0, len(s.columns)), make([]map[string]any, 0, len(names))
	var behind []byte
	for _, c := range s.columns {
		in := map[string]any{"name": c.Name, "datatype": datatype(c), "shape": []int{len(picked)}}
		if packed {
			_, cells := raw(c, picked)
			in["parameters"] = map[string]any{"binary_data_size": len(cells)}
			behind = append(behind, cells...)
		} else {
			cells := make([]any, len(picked))
			for i, row := range picked {
				cells[i] = cell(c, row)
			}
			in["data"] = cells
		}
		inputs = append(inputs, in)
	}
	for _, name := range names {
		outputs = append(outputs, map[string]any{"name": name, "parameters": map[string]any{"binary_data": packed}})
	}
	body, err = json.Marshal(map[string]any{"inputs": inputs, "outputs": outputs})
	return append(body, behind...), len(body), err
}
