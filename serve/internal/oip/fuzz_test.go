package oip

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/psi-shapley/psi/serve/internal/oip/inference"
	"github.com/psi-shapley/psi/table"
	"google.golang.org/protobuf/proto"
)

// fuzzed is a model with a column of every kind, whose names the seeds have.
func fuzzed() *Signature {
	return &Signature{
		Name: "m", Version: "1", Classes: true, Outputs: []string{"y"}, Players: []string{"age", "job", "hours", "member", "t"},
		Columns: []Column{
			{Name: "age", Kind: table.Number},
			{Name: "job", Kind: table.Category, Labels: []string{"Private", "State", "?"}},
			{Name: "hours", Kind: table.Number},
			{Name: "member", Kind: table.Boolean},
			{Name: "t", Kind: table.Time},
		},
	}
}

const fuzzRows = 50

// hold checks what must be true of whatever was parsed: either an *Error, or a request whose table is one.
func hold(t *testing.T, r *Request, err error, size int) {
	t.Helper()
	if err != nil {
		if _, ok := errors.AsType[*Error](err); !ok || r != nil {
			t.Fatalf("%v, %T", r, err)
		}
		if len(err.Error()) > 2000 {
			t.Fatalf("an error of %d bytes", len(err.Error()))
		}
		return
	}
	for _, in := range r.Inputs {
		if in.elements > size {
			t.Fatalf("%d elements out of %d bytes", in.elements, size)
		}
	}
	for _, sig := range []*Signature{fuzzed(), {Columns: []Column{{Name: "age", Kind: table.Number}, {Name: "hours", Kind: table.Number}}}} {
		for _, all := range []bool{false, true} {
			asked := *r
			if all {
				asked.Unknown = nil
				for _, c := range sig.Columns {
					asked.Unknown = append(asked.Unknown, c.Name)
				}
			}
			rows, err := asked.Table(sig, fuzzRows, nil)
			if err != nil {
				if _, ok := errors.AsType[*Error](err); !ok {
					t.Fatalf("%T: %v", err, err)
				}
				continue
			}
			if _, err := table.New(rows.Columns...); err != nil || rows.Rows() == 0 || rows.Rows() > fuzzRows || len(rows.Columns) != len(sig.Columns) {
				t.Fatalf("%d rows of %d columns: %v", rows.Rows(), len(rows.Columns), err)
			}
			for _, c := range rows.Columns {
				for i, observed := range c.Observed {
					if !observed && (c.Kind == table.Category && c.Codes[i] != -1 || c.Kind != table.Category && c.Numbers[i] != 0) {
						t.Fatalf("the missing cell %d of %q has a value", i, c.Name)
					}
				}
			}
		}
	}
	answer(t, r)
}

// answer writes a response, whose JSON another reader must take.
func answer(t *testing.T, r *Request) {
	t.Helper()
	sig := fuzzed()
	if _, err := r.Depth(sig); err != nil {
		return
	}
	five := []float64{1, -2, math.Inf(1), math.NaN(), 1e-300}
	res := &Results{Rows: 1, Prediction: five[:1], PredictionStd: five[1:2], Probability: five[2:3], Base: five[3:4], Mean: five, Std: five}
	body, length, err := r.AppendHTTP(nil, sig, res)
	if err != nil {
		t.Fatal(err)
	}
	if length == -1 {
		length = len(body)
	}
	var document struct {
		ID      string `json:"id"`
		Outputs []struct {
			Data       []*float32
			Parameters struct {
				Size int `json:"binary_data_size"`
			}
		}
	}
	if err := json.Unmarshal(body[:length], &document); err != nil {
		t.Fatalf("%v: %s", err, body[:length])
	}
	behind := 0
	for _, out := range document.Outputs {
		behind += out.Parameters.Size
	}
	if document.ID != r.ID || behind != len(body)-length {
		t.Fatalf("id %q for %q, %d bytes for %d", document.ID, r.ID, behind, len(body)-length)
	}
	if _, err := r.GRPC(sig, res); err != nil {
		t.Fatal(err)
	}
}

func seeds(f *testing.F, pattern string) []string {
	names, err := filepath.Glob(filepath.Join("testdata", pattern))
	if err != nil || len(names) == 0 {
		f.Fatal(names, err)
	}
	return names
}

// A body that is all JSON. What is taken must be JSON to the standard library too, but for NaN and the infinities.
func FuzzInferJSON(f *testing.F) {
	for _, name := range seeds(f, "*json.http") {
		f.Add(readFile(f, filepath.Base(name)))
	}
	f.Add([]byte(`{"id":"\ud83d\ude00","inputs":[{"name":"age","datatype":"FP16","shape":[2,1],"data":[[NaN],[-Infinity]]},{"name":"job","datatype":"BYTES","shape":[2],"data":["\n",null]}],"parameters":{"unknown":"t,hours","z":1e0}}`))
	f.Add([]byte(`{"inputs":[{"name":"rows","datatype":"FP64","shape":[1,2],"data":[1,2]},{"name":"observed","datatype":"BOOL","shape":[1,2],"data":[true,0]}],"outputs":[{"name":"p_positive"},{"name":"base","parameters":{"binary_data":true}}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := ParseHTTP(body, -1, 20)
		if err == nil && !bytes.Contains(body, []byte("NaN")) && !bytes.Contains(body, []byte("Infinity")) && !json.Valid(body) {
			t.Fatalf("taken, but not JSON: %q", body)
		}
		hold(t, r, err, len(body))
	})
}

// JSON and binary data behind it.
func FuzzBinaryTensors(f *testing.F) {
	for _, name := range seeds(f, "*.length") {
		body := readFile(f, strings.TrimSuffix(filepath.Base(name), ".length")+".http")
		f.Add(body, bytes.LastIndexByte(body, '}')+1)
	}
	f.Fuzz(func(t *testing.T, body []byte, length int) {
		r, err := ParseHTTP(body, length, 20)
		hold(t, r, err, len(body))
	})
}

func FuzzGRPCRequest(f *testing.F) {
	for _, name := range seeds(f, "*.grpc") {
		f.Add(readFile(f, filepath.Base(name)))
	}
	f.Fuzz(func(t *testing.T, wire []byte) {
		var m inference.ModelInferRequest
		if proto.Unmarshal(wire, &m) != nil {
			return
		}
		r, err := FromGRPC(&m, 20)
		hold(t, r, err, len(wire))
	})
}

// One column of any kind by one tensor of any datatype.
func FuzzTable(f *testing.F) {
	f.Add(uint8(table.Number), uint8(FP64), []byte("\x00\x00\x00\x00\x00\x00\xf0\x3f"), []byte{1}, int64(1), false)
	f.Add(uint8(table.Category), uint8(Bytes), []byte("\x01\x00\x00\x00a\x00\x00\x00\x00"), []byte{1, 0}, int64(2), true)
	f.Add(uint8(table.Time), uint8(Bytes), []byte("\x0a\x00\x00\x002001-02-03"), []byte{1}, int64(1), false)
	f.Add(uint8(table.Boolean), uint8(Uint8), []byte("\x00\x01\x01"), []byte{1, 1, 0}, int64(3), true)
	f.Fuzz(func(t *testing.T, kind, datatype uint8, raw, mask []byte, rows int64, masked bool) {
		sig := &Signature{Columns: []Column{{Name: "x", Kind: table.Kind(kind % 4), Labels: []string{"a", "NA"}}}}
		m := &inference.ModelInferRequest{
			Inputs:           []*inference.ModelInferRequest_InferInputTensor{{Name: "x", Datatype: Datatype(datatype % uint8(len(datatypes))).String(), Shape: []int64{rows}}},
			RawInputContents: [][]byte{raw},
		}
		if masked {
			m.Inputs = append(m.Inputs, &inference.ModelInferRequest_InferInputTensor{Name: "observed", Datatype: "BOOL", Shape: []int64{rows, 1}})
			m.RawInputContents = append(m.RawInputContents, mask)
		}
		r, err := FromGRPC(m, 2)
		if err != nil {
			return
		}
		got, err := r.Table(sig, fuzzRows, nil)
		if err != nil {
			if _, ok := errors.AsType[*Error](err); !ok {
				t.Fatal(err)
			}
			return
		}
		if _, err := table.New(got.Columns...); err != nil || int64(got.Rows()) != rows {
			t.Fatalf("%d rows of %d: %v", got.Rows(), rows, err)
		}
		for i, observed := range got.Columns[0].Observed {
			if observed && masked && mask[i] == 0 {
				t.Fatalf("row %d is observed, but was said not to be", i)
			}
		}
	})
}
