package oip

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/psi-shapley/psi/serve/internal/oip/inference"
	"github.com/psi-shapley/psi/table"
)

// kinds is a model with a column of each kind but a category.
func kinds() *Signature {
	return &Signature{Columns: []Column{{Name: "x", Kind: table.Number}, {Name: "b", Kind: table.Boolean}, {Name: "t", Kind: table.Time}}}
}

func parsed(t testing.TB, inputs string) *Request {
	t.Helper()
	r, err := ParseHTTP([]byte(`{"inputs":[`+inputs+`]}`), -1, 100)
	if err != nil {
		t.Fatalf("%s: %v", inputs, err)
	}
	return r
}

// One table, written in many ways.
func TestFormsOfOneTable(t *testing.T) {
	want, err := table.New(
		table.NumberColumn("x", []float64{1, -2, math.NaN()}, nil),
		table.BooleanColumn("b", []bool{true, false, false}, []bool{true, false, true}),
		&table.Column{Name: "t", Kind: table.Time, Numbers: []float64{0, 86400, 1e9}, Observed: []bool{true, true, true}},
	)
	if err != nil {
		t.Fatal(err)
	}
	const (
		x    = `{"name":"x","datatype":"FP64","shape":[3],"data":[1,-2,null]}`
		b    = `{"name":"b","datatype":"BOOL","shape":[3,1],"data":[[true],[null],[false]]}`
		when = `{"name":"t","datatype":"INT64","shape":[3],"data":[0,86400,1000000000]}`
	)
	for _, inputs := range []string{
		x + "," + b + "," + when,
		when + "," + x + "," + b,
		strings.ReplaceAll(x, "FP64", "FP16") + "," + strings.NewReplacer("BOOL", "INT8", "true", "1", "false", "0").Replace(b) + "," + strings.ReplaceAll(when, "INT64", "FP64"),
		` { "shape" : [ 3 ] , "data" : [ 1.0e0 , -20E-1 , NaN ] , "datatype" : "FP32" , "name" : "\u0078" , "parameters":null } ,` + b + "," + when,
		`{"name":"x","datatype":"BYTES","shape":[3],"data":["1.0"," -2 ","n/a"]},` +
			`{"name":"b","datatype":"BYTES","shape":[3],"data":["Yes",null,"f"]},` +
			`{"name":"t","datatype":"BYTES","shape":[3],"data":["1970-01-01","1970/01/02 00:00","2001-09-09T01:46:40Z"]}`,
		`{"name":"rows","datatype":"FP64","shape":[3,3],"data":[1,1,0,-2,null,86400,NaN,0,1e9]}`,
		`{"name":"rows","datatype":"INT64","shape":[3,3],"data":[[1,1,0],[-2,7,86400],[0,0,1000000000]]},` +
			`{"name":"observed","datatype":"BOOL","shape":[3,3],"data":[1,1,1,true,false,1,0,1,1]}`,
		`{"name":"x","datatype":"FP64","shape":[3],"data":[1,-2,Infinity]},{"name":"b","datatype":"FP64","shape":[3],"data":[1,5,0]},` + when +
			`,{"name":"observed","datatype":"BOOL","shape":[3,3],"data":[[1,1,1],[1,0,1],[0,1,1]]}`,
	} {
		got, err := parsed(t, inputs).Table(kinds(), 3, nil)
		if err != nil {
			t.Errorf("%s: %v", inputs, err)
			continue
		}
		equalTables(t, inputs, got, want)
	}
}

// Text is read as in training, and missing if it does not fit.
func TestReadings(t *testing.T) {
	s := &Signature{Columns: []Column{{Name: "x", Kind: table.Number, Reading: &table.Reading{Decimal: ".", Unit: "$"}}}}
	want, err := table.New(table.NumberColumn("x", []float64{1200.5, math.NaN(), -3, math.NaN()}, nil))
	if err != nil {
		t.Fatal(err)
	}
	got, err := parsed(t, `{"name":"x","datatype":"BYTES","shape":[4],"data":["$1,200.50","€5","(3)","n/a"]}`).Table(s, 4, nil)
	if err != nil {
		t.Fatal(err)
	}
	equalTables(t, "readings", got, want)
}

func TestLabels(t *testing.T) {
	sig := &Signature{Columns: []Column{{Name: "c", Kind: table.Category, Labels: []string{"b", "NA", "a"}}}}
	labels, observed := []string{}, []bool{}
	data := []string{}
	add := func(cell, label string, seen bool) {
		data, labels, observed = append(data, cell), append(labels, label), append(observed, seen)
	}
	add(`"a"`, "a", true)
	add(`"new"`, "new", true)
	add(`null`, "", false)
	add(`""`, "", false)
	add(`"?"`, "", false)
	add(`"NA"`, "NA", true) // for the model knows it
	add(`"na"`, "", false)
	add(`"b"`, "b", true)
	add(`"\ud83d\ude00\n\"\/\\ \t\r\b\f"`, "😀\n\"/\\ \t\r\b\f", true)
	add(`"new"`, "new", true)
	for i := range 50 {
		add(fmt.Sprintf(`"other %d"`, i%20), fmt.Sprintf("other %d", i%20), true)
	}
	r := parsed(t, fmt.Sprintf(`{"name":"c","datatype":"BYTES","shape":[%d],"data":[%s]}`, len(data), strings.Join(data, ",")))
	for range 2 { // the second finds what the first left behind
		got, err := r.Table(sig, len(data), nil)
		if err != nil {
			t.Fatal(err)
		}
		equalTables(t, "labels", got, &table.Table{Columns: []*table.Column{table.CategoryColumn("c", labels, observed)}})
	}
}

// A counter that an error left is not used again.
func TestLabelsAfterAnError(t *testing.T) {
	sig := &Signature{Columns: []Column{{Name: "c", Kind: table.Category, Labels: []string{"a", "b"}}}}
	bad := &Request{Inputs: []Tensor{{Name: "c", Datatype: Bytes, Shape: []int64{2}, elements: 2, raw: []byte("\x01\x00\x00\x00b\x01\x00\x00\x00\xff")}}}
	good := &Request{Inputs: []Tensor{{Name: "c", Datatype: Bytes, Shape: []int64{1}, elements: 1, raw: []byte("\x01\x00\x00\x00b")}}}
	for range 20 {
		if _, err := bad.Table(sig, 2, nil); err == nil || !strings.Contains(err.Error(), "UTF-8") {
			t.Fatal(err)
		}
		got, err := good.Table(sig, 2, nil)
		if err != nil {
			t.Fatal(err)
		}
		equalTables(t, "after", got, &table.Table{Columns: []*table.Column{table.CategoryColumn("c", []string{"b"}, nil)}})
	}
}

// A column called as one of the tensors for all columns is a column.
func TestColumnsNamedAsTheProtocolsOwn(t *testing.T) {
	sig := &Signature{Columns: []Column{{Name: "rows", Kind: table.Number}, {Name: "observed", Kind: table.Boolean}}}
	r := parsed(t, `{"name":"rows","datatype":"FP32","shape":[1],"data":[2]},{"name":"observed","datatype":"BOOL","shape":[1],"data":[false]}`)
	got, err := r.Table(sig, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	equalTables(t, "rows", got, &table.Table{Columns: []*table.Column{table.NumberColumn("rows", []float64{2}, nil), table.BooleanColumn("observed", []bool{false}, nil)}})
	if sig.takes("rows") || sig.takes("observed") {
		t.Error("metadata would offer them for all columns")
	}
}

// Columns that training left out may be sent, as anything.
func TestIgnoredColumns(t *testing.T) {
	sig := kinds()
	sig.Ignored = []string{"id", "name"}
	const columns = `{"name":"x","datatype":"FP64","shape":[1],"data":[7]},{"name":"b","datatype":"BOOL","shape":[1],"data":[true]},{"name":"t","datatype":"INT64","shape":[1],"data":[0]}`
	const id = `{"name":"id","datatype":"BYTES","shape":[2],"data":["u","v"]},`
	got, err := parsed(t, id+columns).Table(sig, 3, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got.Rows() != 1 || len(got.Columns) != 3 || got.Column("x").Numbers[0] != 7 {
		t.Errorf("%d rows, %d columns", got.Rows(), len(got.Columns))
	}
	if _, err := parsed(t, id+columns).Table(kinds(), 3, nil); err == nil || !strings.Contains(err.Error(), `no column "id"`) {
		t.Errorf("a model that knows no such column says %v", err)
	}
}

func TestWhatTableRefuses(t *testing.T) {
	const (
		x    = `{"name":"x","datatype":"FP64","shape":[2],"data":[1,2]}`
		b    = `{"name":"b","datatype":"BOOL","shape":[2],"data":[true,false]}`
		when = `{"name":"t","datatype":"INT64","shape":[2],"data":[0,1]}`
	)
	for _, c := range []struct {
		inputs, unknown string
		kind            Kind
		want            string
	}{
		{x + "," + b, "", Invalid, `lacks the column "t"; send a tensor of that name, or list it in the request's parameter "unknown"`},
		{x, "t", Invalid, `lacks the column "b"`},
		{x + "," + b + "," + when + `,{"name":"y","datatype":"FP64","shape":[2],"data":[1,2]}`, "", Invalid, `no column "y"`},
		{x, "b,t,z", Invalid, `names "z"`},
		{x + "," + b + `,{"name":"t","datatype":"INT64","shape":[3],"data":[0,1,2]}`, "", Invalid, `"t" has 3 rows, but "x" has 2`},
		{strings.ReplaceAll(x, "[2]", "[1,2]"), "b,t", Invalid, `"x" has the shape [1 2], not [n] or [n, 1]`},
		{strings.ReplaceAll(x, "[2]", "[2,1,1]"), "b,t", Invalid, `"x" has the shape`},
		{`{"name":"x","datatype":"FP64","shape":[],"data":[1]}`, "b,t", Invalid, `"x" has the shape []`},
		{`{"name":"x","datatype":"FP64","shape":[0],"data":[]}`, "b,t", Invalid, "no rows"},
		{`{"name":"x","datatype":"FP64","shape":[4],"data":[1,2,3,4]}`, "b,t", TooLarge, "4 rows, but the server takes 3 at once"},
		{`{"name":"x","datatype":"FP64","shape":[1],"data":[Infinity]}`, "b,t", Invalid, `row 0, column "x": +Inf is infinite`},
		{`{"name":"x","datatype":"FP64","shape":[1],"data":[1e999]}`, "b,t", Invalid, `row 0, column "x": +Inf is infinite`},
		{`{"name":"x","datatype":"BYTES","shape":[1],"data":["-inf"]}`, "b,t", Invalid, `row 0, column "x": -Inf is infinite`},
		{`{"name":"x","datatype":"BYTES","shape":[2],"data":["1","1,5"]}`, "b,t", Invalid, `row 1, column "x": "1,5" is not a number`},
		{`{"name":"x","datatype":"INT8","shape":[1],"data":[128]}`, "b,t", Invalid, `holds 128, which is no INT8`},
		{`{"name":"x","datatype":"INT32","shape":[1],"data":[1.5]}`, "b,t", Invalid, `holds 1.5, which is no INT32`},
		{`{"name":"x","datatype":"UINT64","shape":[1],"data":[-1]}`, "b,t", Invalid, `holds -1, which is no UINT64`},
		{`{"name":"b","datatype":"FP64","shape":[2],"data":[0,0.5]}`, "x,t", Invalid, `row 1, column "b": 0.5 is not a boolean`},
		{`{"name":"b","datatype":"BYTES","shape":[1],"data":["perhaps"]}`, "x,t", Invalid, `column "b": "perhaps" is not a boolean`},
		{`{"name":"t","datatype":"FP64","shape":[1],"data":[1e12]}`, "x,b", Invalid, `column "t": the time 1e+12 lies outside`},
		{`{"name":"t","datatype":"BYTES","shape":[1],"data":["01/02/2003"]}`, "x,b", Invalid, `column "t": "01/02/2003" is not a time`},
		{`{"name":"rows","datatype":"FP64","shape":[1,2],"data":[1,2]}`, "", Invalid, `"rows" has the shape [1 2], not [n, 3]`},
		{`{"name":"rows","datatype":"FP64","shape":[3],"data":[1,2,3]}`, "", Invalid, `"rows" has the shape [3], not [n, 3]`},
		{`{"name":"rows","datatype":"BYTES","shape":[1,3],"data":["1","2","3"]}`, "", Invalid, `"rows" is BYTES`},
		{`{"name":"rows","datatype":"FP64","shape":[2,3],"data":[1,1,0,1,2,0]}`, "", Invalid, `row 1, column "b": 2 is not`},
		{x + `,{"name":"rows","datatype":"FP64","shape":[1,3],"data":[1,1,1]}`, "", Invalid, `"rows" and tensors of single columns`},
		{x + `,{"name":"observed","datatype":"UINT8","shape":[2,3],"data":[1,1,1,1,1,1]}`, "b,t", Invalid, `"observed" is UINT8`},
		{x + `,{"name":"observed","datatype":"BOOL","shape":[2,3],"data":[1,1,1,1,1,null]}`, "b,t", Invalid, `"observed" has a missing element`},
		{x + `,{"name":"observed","datatype":"BOOL","shape":[2,2],"data":[1,1,1,1]}`, "b,t", Invalid, `"observed" has the shape`},
		{x + `,{"name":"observed","datatype":"BOOL","shape":[1,3],"data":[1,1,1]}`, "b,t", Invalid, `"observed" has 1 rows, but "x" has 2`},
		{`{"name":"rows","datatype":"BOOL","shape":[1,3],"data":[2,0,0]}`, "", Invalid, `holds 2, which is no BOOL`},
	} {
		r := parsed(t, c.inputs)
		if c.unknown != "" {
			r.Unknown = strings.Split(c.unknown, ",")
		}
		_, err := r.Table(kinds(), 3, nil)
		refusedWith(t, c.inputs, err, c.kind, c.want)
	}
	sig := &Signature{Columns: []Column{{Name: "x", Kind: table.Number}, {Name: "c", Kind: table.Category}}}
	_, err := parsed(t, x+`,{"name":"c","datatype":"INT64","shape":[2],"data":[1,2]}`).Table(sig, 3, nil)
	refusedWith(t, "numbers", err, Invalid, `"c" is a category, but the tensor is INT64; send its labels as BYTES`)
	_, err = parsed(t, `{"name":"rows","datatype":"FP64","shape":[1,2],"data":[1,2]}`).Table(sig, 3, nil)
	refusedWith(t, "rows", err, Invalid, `column "c" is a category`)
}

func refusedWith(t *testing.T, what string, err error, kind Kind, want string) {
	t.Helper()
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Kind != kind || !strings.Contains(e.Error(), want) {
		t.Errorf("%s: %v\nwant %s", what, err, want)
	}
}

func TestAllColumnsUnknown(t *testing.T) {
	r := parsed(t, `{"name":"observed","datatype":"BOOL","shape":[2,3],"data":[0,0,0,0,0,0]}`)
	r.Unknown = []string{"x", "b", "t"}
	got, err := r.Table(kinds(), 2, nil)
	if err != nil || got.Rows() != 2 || len(got.Columns) != 3 {
		t.Errorf("%v, %v", got, err)
	}
}

// Each datatype, raw and typed, by bytes and messages written here.
func TestDatatypes(t *testing.T) {
	for _, c := range []struct {
		datatype string
		raw      string
		typed    *inference.InferTensorContents
		want     []float64
	}{
		{"BOOL", "\x00\x01", &inference.InferTensorContents{BoolContents: []bool{false, true}}, []float64{0, 1}},
		{"UINT8", "\x07\xff", &inference.InferTensorContents{UintContents: []uint32{7, 255}}, []float64{7, 255}},
		{"INT8", "\x07\xff", &inference.InferTensorContents{IntContents: []int32{7, -1}}, []float64{7, -1}},
		{"UINT16", "\x01\x02\xff\xff", &inference.InferTensorContents{UintContents: []uint32{513, 65535}}, []float64{513, 65535}},
		{"INT16", "\x01\x02\xfe\xff", &inference.InferTensorContents{IntContents: []int32{513, -2}}, []float64{513, -2}},
		{"UINT32", "\x00\x00\x00\x80\x01\x00\x00\x00", &inference.InferTensorContents{UintContents: []uint32{1 << 31, 1}}, []float64{1 << 31, 1}},
		{"INT32", "\x00\x00\x00\x80\x01\x00\x00\x00", &inference.InferTensorContents{IntContents: []int32{math.MinInt32, 1}}, []float64{-1 << 31, 1}},
		{"UINT64", "\x00\x00\x00\x00\x00\x00\x20\x00\xff\xff\xff\xff\xff\xff\x1f\x00", &inference.InferTensorContents{Uint64Contents: []uint64{1 << 53, 1<<53 - 1}}, []float64{1 << 53, 1<<53 - 1}},
		{"INT64", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x1f\x00", &inference.InferTensorContents{Int64Contents: []int64{-1, 1<<53 - 1}}, []float64{-1, 1<<53 - 1}},
		{"FP32", "\x00\x00\x80\x3f\x00\x00\x20\xc0", &inference.InferTensorContents{Fp32Contents: []float32{1, -2.5}}, []float64{1, -2.5}},
		{"FP64", "\x00\x00\x00\x00\x00\x00\xf0\x3f\x9a\x99\x99\x99\x99\x99\xb9\x3f", &inference.InferTensorContents{Fp64Contents: []float64{1, 0.1}}, []float64{1, 0.1}},
		{"FP16", "\x00\x3c\x01\x80", nil, []float64{1, -math.Exp2(-24)}},
		{"FP16", "\xff\x7b\x00\xc1", nil, []float64{65504, -2.5}},
		{"BYTES", "\x01\x00\x00\x007\x04\x00\x00\x00-2.5", &inference.InferTensorContents{BytesContents: [][]byte{[]byte("7"), []byte("-2.5")}}, []float64{7, -2.5}},
	} {
		sig := &Signature{Columns: []Column{{Name: "x", Kind: table.Number}}}
		want := &table.Table{Columns: []*table.Column{table.NumberColumn("x", c.want, nil)}}
		in := &inference.ModelInferRequest_InferInputTensor{Name: "x", Datatype: c.datatype, Shape: []int64{2}}
		m := &inference.ModelInferRequest{Inputs: []*inference.ModelInferRequest_InferInputTensor{in}, RawInputContents: [][]byte{[]byte(c.raw)}}
		checkMessage(t, c.datatype+" raw", m, sig, want)
		head := fmt.Sprintf(`{"inputs":[{"name":"x","datatype":%q,"shape":[2],"parameters":{"binary_data_size":%d}}]}`, c.datatype, len(c.raw))
		r, err := ParseHTTP([]byte(head+c.raw), len(head), 1)
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.Table(sig, 2, nil)
		if err != nil {
			t.Fatal(err)
		}
		equalTables(t, c.datatype+" binary", got, want)
		m.RawInputContents = nil
		in.Contents = c.typed
		if c.typed == nil {
			in.Contents = &inference.InferTensorContents{}
			_, err := FromGRPC(m, 1)
			refusedWith(t, c.datatype, err, Invalid, "raw_input_contents")
			continue
		}
		checkMessage(t, c.datatype+" typed", m, sig, want)
	}
}

func checkMessage(t *testing.T, what string, m *inference.ModelInferRequest, sig *Signature, want *table.Table) {
	t.Helper()
	r, err := FromGRPC(m, 1)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	got, err := r.Table(sig, 2, nil)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	equalTables(t, what, got, want)
}

// All halves, against the float32 of the same bits moved to their places there.
func TestHalf(t *testing.T) {
	for bits := range 1 << 16 {
		sign, rest := uint32(bits>>15)<<31, uint32(bits&0x7fff)
		want := float64(math.Float32frombits(sign|rest<<13)) * math.Exp2(112)
		if rest >= 0x7c00 {
			want = float64(math.Float32frombits(sign | 0x7f800000 | rest&0x3ff<<13))
		}
		if got := half(uint16(bits)); got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Fatalf("half(%#04x) = %v, want %v", bits, got, want)
		}
	}
}
