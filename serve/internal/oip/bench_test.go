package oip

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/psi-shapley/psi/serve/internal/oip/inference"
	"github.com/psi-shapley/psi/table"
	"google.golang.org/protobuf/proto"
)

const (
	benchRows    = 64
	benchColumns = 14
)

// benchSignature has eight categories, as many as adult.
func benchSignature(categories int) *Signature {
	sig := &Signature{Name: "adult", Version: "1", Outputs: []string{">50K"}, Classes: true}
	for j := range benchColumns {
		c := Column{Name: fmt.Sprintf("column_%d", j)}
		if j < categories {
			c.Kind = table.Category
			for k := range 5 + 5*j {
				c.Labels = append(c.Labels, fmt.Sprintf("label %d of %d", k, j))
			}
		}
		sig.Columns = append(sig.Columns, c)
		sig.Players = append(sig.Players, c.Name)
	}
	return sig
}

// benchMessage is a request by raw tensors of single columns.
func benchMessage(sig *Signature) *inference.ModelInferRequest {
	random := rand.New(rand.NewPCG(1, 2))
	m := &inference.ModelInferRequest{ModelName: sig.Name}
	for _, c := range sig.Columns {
		datatype, raw := "FP64", []byte(nil)
		for range benchRows {
			if c.Kind == table.Category {
				datatype = "BYTES"
				label := c.Labels[random.IntN(len(c.Labels))]
				raw = append(binary.LittleEndian.AppendUint32(raw, uint32(len(label))), label...)
			} else {
				raw = binary.LittleEndian.AppendUint64(raw, math.Float64bits(random.NormFloat64()))
			}
		}
		m.Inputs = append(m.Inputs, &inference.ModelInferRequest_InferInputTensor{Name: c.Name, Datatype: datatype, Shape: []int64{benchRows}})
		m.RawInputContents = append(m.RawInputContents, raw)
	}
	return m
}

func benchResults(sig *Signature) *Results {
	random := rand.New(rand.NewPCG(3, 4))
	draw := func(n int) []float64 {
		list := make([]float64, n)
		for i := range list {
			list[i] = math.Abs(random.NormFloat64())
		}
		return list
	}
	cells, all := benchRows*len(sig.Outputs), benchRows*len(sig.Outputs)*len(sig.Players)
	return &Results{
		Rows: benchRows, Prediction: draw(cells), PredictionStd: draw(cells), Probability: draw(cells), Base: draw(cells),
		Mean: draw(all), Std: draw(all),
	}
}

func BenchmarkGRPCToTable(b *testing.B) {
	for _, categories := range []int{0, 8} {
		sig := benchSignature(categories)
		m := benchMessage(sig)
		b.Run(fmt.Sprintf("categories=%d", categories), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				benchTable(b, sig, func() (*Request, error) { return FromGRPC(m, 100) })
			}
		})
	}
	// What the server's codec does before.
	b.Run("unmarshal", func(b *testing.B) {
		wire, err := proto.Marshal(benchMessage(benchSignature(8)))
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			var m inference.ModelInferRequest
			if err := proto.Unmarshal(wire, &m); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func benchTable(b *testing.B, sig *Signature, parse func() (*Request, error)) {
	r, err := parse()
	if err != nil {
		b.Fatal(err)
	}
	if _, err := r.Table(sig, benchRows, nil); err != nil {
		b.Fatal(err)
	}
}

func BenchmarkRowsToTable(b *testing.B) {
	sig := benchSignature(0)
	raw := make([]byte, 4*benchRows*benchColumns)
	m := &inference.ModelInferRequest{
		Inputs: []*inference.ModelInferRequest_InferInputTensor{
			{Name: "rows", Datatype: "FP32", Shape: []int64{benchRows, benchColumns}},
			{Name: "observed", Datatype: "BOOL", Shape: []int64{benchRows, benchColumns}},
		},
		RawInputContents: [][]byte{raw, bytes.Repeat([]byte{1}, benchRows*benchColumns)},
	}
	b.ReportAllocs()
	for b.Loop() {
		benchTable(b, sig, func() (*Request, error) { return FromGRPC(m, 100) })
	}
}

func BenchmarkHTTPToTable(b *testing.B) {
	sig := benchSignature(8)
	m := benchMessage(sig)
	written, packed, behind := []byte(`{"inputs":[`), []byte(`{"inputs":[`), []byte(nil)
	for i, in := range m.Inputs {
		if i > 0 {
			written, packed = append(written, ','), append(packed, ',')
		}
		head := fmt.Sprintf(`{"name":%q,"datatype":%q,"shape":[%d],`, in.Name, in.Datatype, benchRows)
		written, packed = append(written, head...), append(packed, head...)
		raw := m.RawInputContents[i]
		packed = fmt.Appendf(packed, `"parameters":{"binary_data_size":%d}}`, len(raw))
		behind = append(behind, raw...)
		written = append(written, `"data":[`...)
		for k := range benchRows {
			if k > 0 {
				written = append(written, ',')
			}
			if in.Datatype == "BYTES" {
				size := binary.LittleEndian.Uint32(raw)
				written = strconv.AppendQuote(written, string(raw[4:4+size]))
				raw = raw[4+size:]
			} else {
				written = strconv.AppendFloat(written, math.Float64frombits(binary.LittleEndian.Uint64(raw[8*k:])), 'g', -1, 64)
			}
		}
		written = append(written, `]}`...)
	}
	written, packed = append(written, `]}`...), append(packed, `]}`...)
	length := len(packed)
	packed = append(packed, behind...)
	b.Run("json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			benchTable(b, sig, func() (*Request, error) { return ParseHTTP(written, -1, 100) })
		}
	})
	b.Run("binary", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			benchTable(b, sig, func() (*Request, error) { return ParseHTTP(packed, length, 100) })
		}
	})
}

func BenchmarkResponse(b *testing.B) {
	sig := benchSignature(0)
	res := benchResults(sig)
	few := []Wanted{{"prediction", true}, {"prediction_std", true}, {"base", true}, {"attribution_mean", true}, {"attribution_std", true}}
	var all []Wanted
	for _, name := range outputNames {
		all = append(all, Wanted{name, true})
	}
	for _, c := range []struct {
		name   string
		wanted []Wanted
	}{{"few", few}, {"all", all}} {
		r := &Request{Z: 1.96, Outputs: c.wanted}
		b.Run("grpc/"+c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := r.GRPC(sig, res); err != nil {
					b.Fatal(err)
				}
			}
		})
		var body []byte
		b.Run("binary/"+c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				body, _, _ = r.AppendHTTP(body[:0], sig, res)
			}
		})
		written := &Request{Z: 1.96}
		for _, w := range c.wanted {
			written.Outputs = append(written.Outputs, Wanted{Name: w.Name})
		}
		b.Run("json/"+c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				body, _, _ = written.AppendHTTP(body[:0], sig, res)
			}
		})
	}
}
