package oip

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/psi-shapley/psi/serve/internal/oip/inference"
)

// inputs makes a request of members of its list of inputs.
func inputs(members string) string { return `{"inputs":[` + members + `]}` }

func TestWhatJSONRefuses(t *testing.T) {
	const fine = `{"name":"x","datatype":"FP64","shape":[2],"data":[1,2]}`
	member := func(rest string) string { return inputs(`{"name":"x","datatype":"FP64",` + rest + `}`) }
	for _, c := range []struct{ body, want string }{
		{``, "broken at byte 0"},
		{`[]`, "an object should be here"},
		{`{}`, "no inputs"},
		{inputs(``), "no inputs"},
		{`{"inputs":null}`, "a list should be here"},
		{inputs(fine) + `x`, "something follows"},
		{inputs(fine + `,`), "broken"},
		{`{"inputs":[` + fine + `],"inputs":[]}`, "twice"},
		{`{"inputs":[` + fine + `],"outputs":[],"outputs":[]}`, "twice"},
		{`{"inputs":[` + fine + `],"id":7}`, "double quotes"},
		{inputs(fine + `,` + fine), `two inputs are named "x"`},
		{`{"inputs":[` + fine + `],"outputs":[{"name":"base"},{"name":"base"}]}`, `"base" is asked for twice`},
		{`{"inputs":[` + fine + `],"outputs":[` + strings.Repeat(`{"name":"a"},`, 20) + `{"name":"b"}]}`, "more than 10 outputs"},
		{`{"inputs":[` + fine + `],"outputs":[{"name":"base","parameters":{"binary_data":1}}]}`, "true or false"},
		{`{"inputs":[` + fine + `],"outputs":[{"name":"base","parameters":{"classification":2}}]}`, "not offered"},
		{inputs(fine + `,` + fine + `,` + fine + `,` + fine + `,` + fine), "more than 4 inputs"},
		{inputs(`7`), "an object should be here"},
		{inputs(`{"datatype":"FP64","shape":[1],"data":[1]}`), "no name"},
		{inputs(`{"name":"x","shape":[1],"data":[1]}`), `datatype "", which is not known`},
		{inputs(`{"name":"x","datatype":"BF16","shape":[1],"data":[1]}`), `datatype "BF16", which is not known`},
		{inputs(`{"name":"x","datatype":"fp64","shape":[1],"data":[1]}`), `datatype "fp64"`},
		{member(`"data":[1]`), "no shape"},
		{member(`"shape":[1]`), "no data"},
		{member(`"shape":[1],"data":null`), "no data"},
		{member(`"shape":[1],"data":1`), "a list should be here"},
		{member(`"shape":1,"data":[1]`), "a list should be here"},
		{member(`"shape":[1.0],"data":[1]`), "whole numbers"},
		{member(`"shape":["1"],"data":[1]`), "a value should be here"},
		{member(`"shape":[-1],"data":[1]`), "negative"},
		{member(`"shape":[9223372036854775808],"data":[1]`), "whole numbers"},
		{member(`"shape":[1,1,1,1,1,1,1,1,1],"data":[1]`), "whole numbers"},
		{member(`"shape":[4294967296,4294967296],"data":[1]`), "too many elements"},
		{member(`"shape":[3037000500,3037000500,2],"data":[]`), "too many elements"},
		{member(`"shape":[3],"data":[1,2]`), "2 elements, but its shape [3] needs 3"},
		{member(`"shape":[1],"data":[1,2]`), "2 elements, but its shape [1] needs 1"},
		{member(`"shape":[2,2],"data":[[1,2],[3]]`), "differ in length"},
		{member(`"shape":[2,3],"data":[[1,2],[3,4],[5,6]]`), "data of shape [3 2], but its shape is said to be [2 3]"},
		{member(`"shape":[2],"data":[[1],[2]]`), "data of shape [2 1]"},
		{member(`"shape":[2],"data":[1,[2]]`), "in one list"},
		{member(`"shape":[2],"data":[[1],2]`), "in one list"},
		{member(`"shape":[2],"data":[[],1,2]`), "in one list"},
		{member(`"shape":[2],"data":[1,2,[]]`), "in one list"},
		{member(`"shape":[1],"data":[[[[[[[[[1]]]]]]]]]`), "too deeply"},
		{member(`"shape":[1],"data":["1"]`), "holds other values"},
		{member(`"shape":[1],"data":[true]`), "holds other values"},
		{member(`"shape":[1],"data":[{}]`), "a value should be here"},
		{inputs(`{"name":"x","datatype":"BYTES","shape":[1],"data":[1]}`), "holds other values"},
		{inputs(`{"name":"x","datatype":"BOOL","shape":[1],"data":["true"]}`), "holds other values"},
		{member(`"shape":[1],"data":[01]`), "broken"},
		{member(`"shape":[1],"data":[1.]`), "ends in its point"},
		{member(`"shape":[1],"data":[.5]`), "a value should be here"},
		{member(`"shape":[1],"data":[1e]`), "exponent"},
		{member(`"shape":[1],"data":[+1]`), "a value should be here"},
		{member(`"shape":[1],"data":[-]`), "a value should be here"},
		{member(`"shape":[1],"data":[-NaN]`), "a value should be here"},
		{member(`"shape":[1],"data":[0x10]`), "broken"},
		{member(`"shape":[1],"data":[nul]`), "a value should be here"},
		{member(`"shape":[1],"data":[1`), "broken"},
		{member(`"shape":[1],"data":[1],"parameters":{"binary_data_size":8}`), "in the JSON and behind it"},
		{member(`"shape":[1],"parameters":{"binary_data_size":8}`), "header Inference-Header-Content-Length is not there"},
		{member(`"shape":[1],"parameters":{"binary_data_size":-1}`), "not a number of bytes"},
		{member(`"shape":[1],"parameters":{"binary_data_size":"8"}`), "not a number of bytes"},
		{member(`"shape":[1],"parameters":{"binary_data_size":1e300}`), "not a number of bytes"},
		{member(`"shape":[1],"parameters":{"binary_data_size":NaN}`), "not a number of bytes"},
		{member(`"shape":[1],"parameters":{"shared_memory_region":"r"}`), "shared memory, which is not offered"},
		{member(`"shape":[1],"data":[1],"other":` + strings.Repeat("[", 100) + strings.Repeat("]", 100)), "too deeply"},
		{strings.Repeat(`{"a":`, 100000), "too deeply"},
		{inputs("{\"name\":\"\xff\"}"), "not UTF-8"},
		{inputs(`{"name":"\ud800"}`), "half a character"},
		{inputs(`{"name":"\ud800\u0041"}`), "half a character"},
		{inputs(`{"name":"\udc00\ud800"}`), "half a character"},
		{inputs(`{"name":"\u12g4"}`), "four hexadecimal"},
		{inputs(`{"name":"\u12`), "four hexadecimal"},
		{inputs(`{"name":"\x"}`), "no such escape"},
		{inputs("{\"name\":\"a\nb\"}"), "control character"},
		{`{"inputs":[{"name":"x`, "no end"},
		{`{"inputs":[` + fine + `],"parameters":{"z":0}}`, `"z" is not a number above 0`},
		{`{"inputs":[` + fine + `],"parameters":{"z":"wide"}}`, `"z" is not a number above 0`},
		{`{"inputs":[` + fine + `],"parameters":{"z":Infinity}}`, `"z" is not a number above 0`},
		{`{"inputs":[` + fine + `],"parameters":{"z":true}}`, `"z" is not a number above 0`},
		{`{"inputs":[` + fine + `],"parameters":{"unknown":1}}`, `"unknown" is not text`},
		{`{"inputs":[` + fine + `],"parameters":{"unknown":"a\"b"}}`, `"unknown" cannot be read`},
		{`{"inputs":[` + fine + `],"parameters":{"binary_data_output":"yes"}}`, `not a boolean`},
		{`{"inputs":[` + fine + `],"parameters":[]}`, `an object should be here`},
	} {
		_, err := ParseHTTP([]byte(c.body), -1, 4)
		kind := Invalid
		if strings.Contains(c.want, "more than") || strings.Contains(c.want, "too many") {
			kind = TooLarge
		}
		refusedWith(t, c.body[:min(len(c.body), 200)], err, kind, c.want)
	}
}

func TestWhatJSONTakes(t *testing.T) {
	body := "\n" + `{"model_name":"m","extra":[{"a":[null,true,-1.5e-7,"\u00e9"]},{}],"id":null,"outputs":null,"parameters":{"list":[1],"none":null,"unknown":"a, \"b, c\"","z":3},` +
		`"inputs":[{"name":"x","shape":[2,1],"datatype":"FP64","data":[[1],[2]],"extra":{}}]}` + "\t \r\n"
	r, err := ParseHTTP([]byte(body), -1, 1)
	if err != nil {
		t.Fatal(err)
	}
	if r.ID != "" || r.Z != 3 || len(r.Unknown) != 2 || r.Unknown[1] != "b, c" || r.Outputs != nil {
		t.Errorf("%+v", r)
	}
}

// An output that does not say how it is wanted comes as the request says.
func TestHowOutputsAreWanted(t *testing.T) {
	for request, want := range map[string][3]bool{`{}`: {false, false, true}, `{"binary_data_output":true}`: {true, false, true}} {
		r, err := ParseHTTP([]byte(`{"outputs":[{"name":"a"},{"name":"b","parameters":{"binary_data":false}},{"name":"c","parameters":{"binary_data":true}}],`+
			`"parameters":`+request+`,"inputs":[{"name":"x","shape":[1],"datatype":"FP64","data":[1]}]}`), -1, 1)
		if err != nil {
			t.Fatal(err)
		}
		if got := [3]bool{r.Outputs[0].Binary, r.Outputs[1].Binary, r.Outputs[2].Binary}; got != want {
			t.Errorf("%s: binary %v, want %v", request, got, want)
		}
	}
}

func TestWhatBinaryDataRefuses(t *testing.T) {
	tensor := func(datatype, shape string, size int) string {
		return inputs(fmt.Sprintf(`{"name":"x","datatype":%q,"shape":%s,"parameters":{"binary_data_size":%d}}`, datatype, shape, size))
	}
	for _, c := range []struct {
		head, data string
		length     int // 0 for that of the head
		want       string
	}{
		{tensor("FP64", "[1]", 8), "1234567", 0, "binary_data_size of 8, but 7 bytes"},
		{tensor("FP64", "[1]", 8), "123456789", 0, "1 bytes of binary data are left over"},
		{tensor("FP64", "[2]", 8), "12345678", 0, "8 bytes of data, but its shape [2] of FP64 needs 16"},
		{tensor("FP64", "[2147483647]", 8), "12345678", 0, "needs 17179869176"},
		{tensor("FP64", "[1]", 1<<53), "12345678", 0, "binary_data_size of 9007199254740992"},
		{tensor("BYTES", "[1]", 4), "\x01\x00\x00\x00", 0, "reaches beyond its 4 bytes"},
		{tensor("BYTES", "[1]", 4), "\xff\xff\xff\xff", 0, "reaches beyond its 4 bytes"},
		{tensor("BYTES", "[1]", 3), "\x00\x00\x00", 0, "reaches beyond its 3 bytes"},
		{tensor("BYTES", "[1]", 8), "\x00\x00\x00\x00\x00\x00\x00\x00", 0, "2 elements, but its shape [1] needs 1"},
		{tensor("BYTES", "[3]", 8), "\x00\x00\x00\x00\x00\x00\x00\x00", 0, "2 elements, but its shape [3] needs 3"},
		{tensor("FP64", "[1]", 8), "12345678", 10_000, "Inference-Header-Content-Length is 10000, but the body has"},
		{tensor("FP64", "[1]", 8), "12345678", -2, "Inference-Header-Content-Length is -2"},
		{tensor("FP64", "[1]", 8), "12345678", 5, "broken"},
		{inputs(`{"name":"x","datatype":"FP64","shape":[1],"data":[1]}`), "12345678", 0, "8 bytes of binary data are left over"},
	} {
		length := c.length
		if length == 0 {
			length = len(c.head)
		}
		_, err := ParseHTTP([]byte(c.head+c.data), length, 1)
		refusedWith(t, c.head, err, Invalid, c.want)
	}
}

func TestWhatMessagesRefuse(t *testing.T) {
	type (
		message = inference.ModelInferRequest
		input   = inference.ModelInferRequest_InferInputTensor
		output  = inference.ModelInferRequest_InferRequestedOutputTensor
		values  = inference.InferTensorContents
	)
	eight := [][]byte{[]byte("12345678")}
	one := []*input{{Name: "x", Datatype: "FP64", Shape: []int64{1}}}
	text := func(s string) map[string]*inference.InferParameter {
		return map[string]*inference.InferParameter{s: {ParameterChoice: &inference.InferParameter_StringParam{StringParam: "?"}}}
	}
	for _, c := range []struct {
		m    *message
		kind Kind
		want string
	}{
		{nil, Invalid, "no inputs"},
		{&message{RawInputContents: eight}, Invalid, "no inputs"},
		{&message{Inputs: []*input{nil}}, Invalid, "no name"},
		{&message{Inputs: []*input{one[0], one[0], one[0]}}, TooLarge, "more than 2 inputs"},
		{&message{Inputs: one}, Invalid, "no data"},
		{&message{Inputs: one, RawInputContents: append(eight, nil)}, Invalid, "1 inputs but 2 raw contents"},
		{&message{Inputs: append(one, &input{Name: "y", Datatype: "FP64", Shape: []int64{1}}), RawInputContents: eight}, Invalid, `"y" has no raw contents`},
		{&message{Inputs: append(one, one...), RawInputContents: append(eight, eight...)}, Invalid, `two inputs are named "x"`},
		{&message{Inputs: []*input{{Name: "x", Datatype: "FP64", Shape: []int64{1}, Contents: &values{}}}, RawInputContents: eight}, Invalid, "has contents in a request with raw"},
		{&message{Inputs: []*input{{Name: "x", Datatype: "FP64", Shape: []int64{2}, Contents: &values{Fp64Contents: []float64{1}}}}}, Invalid, "1 elements of FP64, but its shape [2] needs 2"},
		{&message{Inputs: []*input{{Name: "x", Datatype: "FP64", Shape: []int64{1}, Contents: &values{Fp32Contents: []float32{1}}}}}, Invalid, "0 elements of FP64"},
		{&message{Inputs: []*input{{Name: "x", Datatype: "FP32", Shape: []int64{1}}}, RawInputContents: eight}, Invalid, "8 bytes of data, but its shape [1] of FP32 needs 4"},
		{&message{Inputs: []*input{{Name: "x", Datatype: "FP32", Shape: []int64{-2, -1}}}, RawInputContents: eight}, Invalid, "negative"},
		{&message{Inputs: []*input{{Name: "x", Datatype: "FP32", Shape: []int64{1 << 62, 4}}}, RawInputContents: eight}, TooLarge, "too many"},
		{&message{Inputs: []*input{{Name: "x", Datatype: "FP32", Shape: make([]int64, 9)}}, RawInputContents: eight}, Invalid, "9 dimensions"},
		{&message{Inputs: []*input{{Name: "x", Datatype: "TYPE_FP32"}}, RawInputContents: eight}, Invalid, "not known"},
		{&message{Inputs: []*input{{Name: "x", Datatype: "FP64", Shape: []int64{1}, Parameters: text("shared_memory_region")}}, RawInputContents: eight}, Invalid, "not offered"},
		{&message{Inputs: one, RawInputContents: eight, Parameters: text("z")}, Invalid, `"z" is not a number`},
		{&message{Inputs: one, RawInputContents: eight, Outputs: make([]*output, 11)}, TooLarge, "more than 10 outputs"},
		{&message{Inputs: one, RawInputContents: eight, Outputs: []*output{{Name: "base", Parameters: text("classification")}}}, Invalid, "not offered"},
		{&message{Inputs: one, RawInputContents: eight, Outputs: []*output{{Name: "base"}, {Name: "base"}}}, Invalid, "twice"},
	} {
		_, err := FromGRPC(c.m, 2)
		refusedWith(t, fmt.Sprint(c.m), err, c.kind, c.want)
	}
}

// Names in messages are cut, whatever they are made of.
func TestMessagesStayShort(t *testing.T) {
	long := strings.Repeat("é", 100_000)
	_, err := ParseHTTP([]byte(inputs(`{"name":"`+long+`","datatype":"`+long+`","shape":[1],"data":[1]}`)), -1, 1)
	if err == nil || len(err.Error()) > 400 || !strings.Contains(err.Error(), "ééé…") {
		t.Errorf("%.1000v", err)
	}
	r, err := ParseHTTP([]byte(inputs(`{"name":"x","datatype":"BYTES","shape":[1],"data":["`+long+`"]}`)), -1, 1)
	if err != nil {
		t.Fatal(err)
	}
	r.Unknown = []string{"b", "t"}
	if _, err := r.Table(kinds(), 1, nil); err == nil || len(err.Error()) > 400 {
		t.Errorf("%.1000v", err)
	}
}

// What a shape says costs nothing until the data is there.
func TestShapesCostNothing(t *testing.T) {
	small := []byte(inputs(`{"name":"rows","datatype":"FP64","shape":[700000000,3],"data":[1]}`))
	head := inputs(`{"name":"rows","datatype":"BYTES","shape":[700000000,3],"parameters":{"binary_data_size":8}}`)
	zero := []byte(inputs(`{"name":"rows","datatype":"FP64","shape":[0,9007199254740992],"data":[]}`))
	raw := &inference.ModelInferRequest{
		Inputs:           []*inference.ModelInferRequest_InferInputTensor{{Name: "rows", Datatype: "FP64", Shape: []int64{700000000, 3}}},
		RawInputContents: [][]byte{[]byte("12345678")},
	}
	used := allocated(func() {
		for range 100 {
			if _, err := ParseHTTP(small, -1, 10); err == nil {
				t.Error("taken")
			}
			if _, err := ParseHTTP([]byte(head+"12345678"), len(head), 10); err == nil {
				t.Error("taken")
			}
			if _, err := FromGRPC(raw, 10); err == nil {
				t.Error("taken")
			}
			if r, err := ParseHTTP(zero, -1, 10); err == nil {
				if _, err := r.Table(kinds(), 1000, nil); err == nil {
					t.Error("taken")
				}
			}
		}
	})
	if used > 4<<20 {
		t.Errorf("400 refusals took %d bytes", used)
	}
}

// A body of a million inputs is refused at the first too many; one full of brackets costs no more than itself.
func TestManyInputs(t *testing.T) {
	many := append(bytes.Repeat([]byte(`{"name":"x","datatype":"FP64","shape":[1],"data":[1]},`), 1_000_000), `{}]}`...)
	many = append([]byte(`{"inputs":[`), many...)
	used := allocated(func() {
		_, err := ParseHTTP(many, -1, 1000)
		refusedWith(t, "many", err, TooLarge, "more than 1000 inputs")
	})
	if used > 1<<20 {
		t.Errorf("a million inputs took %d bytes", used)
	}
	for _, filler := range []string{"[", "[1,", `{"":`, `"\u0000`, `{"name":`} {
		body := []byte(`{"inputs":[{"data":` + strings.Repeat(filler, 1_000_000))
		used := allocated(func() {
			if _, err := ParseHTTP(body, -1, 1000); err == nil {
				t.Errorf("%q was taken", filler)
			}
		})
		if used > 1<<20 {
			t.Errorf("%q took %d bytes", filler, used)
		}
	}
}

func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// The hot path makes few garbage: as many pieces as there are columns, and a dozen.
func TestFewAllocations(t *testing.T) {
	sig := benchSignature(8)
	m := benchMessage(sig)
	res := benchResults(sig)
	for _, c := range []struct {
		what string
		most float64
		f    func() error
	}{
		{"request", 12 + 14, func() error {
			r, err := FromGRPC(m, 100)
			if err != nil {
				return err
			}
			_, err = r.Table(sig, 64, nil)
			return err
		}},
		{"response", 12, func() error {
			r := Request{Z: 1.96, Outputs: []Wanted{{Name: "prediction"}, {Name: "base"}, {Name: "attribution_mean"}, {Name: "attribution_std"}}}
			_, err := r.GRPC(sig, res)
			return err
		}},
	} {
		got := testing.AllocsPerRun(100, func() {
			if err := c.f(); err != nil {
				t.Fatal(err)
			}
		})
		if got > c.most {
			t.Errorf("a %s makes %v allocations, more than %v", c.what, got, c.most)
		}
	}
}
