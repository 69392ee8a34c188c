package artifact

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
)

func sameTensors(a, b map[string]Tensor) bool {
	return maps.EqualFunc(a, b, func(x, y Tensor) bool {
		return slices.Equal(x.Dims, y.Dims) && slices.Equal(x.Ints, y.Ints) && (x.Ints == nil) == (y.Ints == nil) &&
			(x.Doubles == nil) == (y.Doubles == nil) &&
			slices.EqualFunc(x.Doubles, y.Doubles, func(v, w float64) bool { return math.Float64bits(v) == math.Float64bits(w) }) &&
			slices.EqualFunc(x.Floats, y.Floats, func(v, w float32) bool { return math.Float32bits(v) == math.Float32bits(w) })
	})
}

// testdata/reference.safetensors was written by safetensors 0.8.0 for Python:
//
//	import numpy as np
//	from safetensors.numpy import save_file
//	save_file({
//	    "weights": np.array([[1, -2.5, 3e38], [1e-45, -0.0, np.inf]], np.float32),
//	    "codes": np.array([-(2**63), 0, 2**63 - 1], np.int64),
//	    "edges": np.array([1.7976931348623157e308, -0.1], np.float64),
//	    "scale/é": np.array(0.1, np.float32),
//	    "empty": np.zeros((0, 4), np.float32),
//	}, "reference.safetensors")
func TestReferenceFile(t *testing.T) {
	content, err := os.ReadFile("testdata/reference.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]Tensor{
		"weights": {Dims: []int{2, 3}, Floats: []float32{1, -2.5, 3e38, 1e-45, float32(math.Copysign(0, -1)), float32(math.Inf(1))}},
		"codes":   {Dims: []int{3}, Ints: []int64{math.MinInt64, 0, math.MaxInt64}},
		"edges":   {Dims: []int{2}, Doubles: []float64{math.MaxFloat64, -0.1}},
		"scale/é": {Floats: []float32{.1}},
		"empty":   {Dims: []int{0, 4}, Floats: []float32{}},
	}
	got, err := DecodeTensors(content)
	if err != nil || !sameTensors(want, got) {
		t.Errorf("got %v, %v", got, err)
	}
	ours, err := EncodeTensors(want)
	if err != nil || !bytes.Equal(ours, content) {
		t.Errorf("got  %q, %v\nwant %q", ours, err, content)
	}
}

func TestTensorsRoundTrip(t *testing.T) {
	rng := newRand(t)
	for range 30 {
		want := map[string]Tensor{}
		for i := range rng.IntN(8) {
			tensor, n := Tensor{Dims: []int{}}, 1
			for range rng.IntN(4) {
				dim := rng.IntN(5)
				tensor.Dims = append(tensor.Dims, dim)
				n *= dim
			}
			switch rng.IntN(3) {
			case 0:
				tensor.Floats = make([]float32, n)
				for j := range tensor.Floats {
					tensor.Floats[j] = math.Float32frombits(rng.Uint32()) // NaNs among them
				}
			case 1:
				tensor.Doubles = make([]float64, n)
				for j := range tensor.Doubles {
					tensor.Doubles[j] = math.Float64frombits(rng.Uint64())
				}
			default:
				tensor.Ints = make([]int64, n)
				for j := range tensor.Ints {
					tensor.Ints[j] = int64(rng.Uint64())
				}
			}
			want[fmt.Sprint([]string{"", `"<é>\`, "layer/0.", "\x00"}[rng.IntN(4)], i)] = tensor
		}
		content, err := EncodeTensors(want)
		if err != nil {
			t.Fatal(err)
		}
		again, err := EncodeTensors(maps.Clone(want))
		if err != nil || !bytes.Equal(content, again) {
			t.Fatal("the same tensors gave other bytes:", err)
		}
		if length := binary.LittleEndian.Uint64(content); length%8 != 0 {
			t.Fatalf("a header of %d bytes", length)
		}
		got, err := DecodeTensors(content)
		if err != nil || !sameTensors(want, got) {
			t.Fatalf("got %v, %v\nwant %v", got, err, want)
		}
		for cut := range content {
			if _, err := DecodeTensors(content[:cut]); !errors.Is(err, ErrDamaged) {
				t.Fatalf("%d bytes of %d: %v", cut, len(content), err)
			}
		}
	}
}

func TestEncodeTensorsRefuses(t *testing.T) {
	for _, c := range []struct {
		want   string
		tensor Tensor
	}{
		{`it must have one of Floats, Doubles and Ints`, Tensor{}},
		{`it must have one of Floats, Doubles and Ints`, Tensor{Floats: []float32{1}, Ints: []int64{1}}},
		{`its numbers do not fit its dimensions [2]`, Tensor{Dims: []int{2}, Floats: []float32{1}}},
		{`its numbers do not fit its dimensions []`, Tensor{Ints: []int64{}}},
		{`it has 33 dimensions, more than 32`, Tensor{Dims: make([]int, 33), Floats: []float32{}}},
		{`it has a dimension of -1`, Tensor{Dims: []int{-1}, Floats: []float32{}}},
		{`its dimensions multiply to too much`, Tensor{Dims: []int{0, math.MaxInt, 4}, Floats: []float32{}}},
		{`its dimensions multiply to too much`, Tensor{Dims: []int{1 << 30, 1 << 30, 64}, Floats: []float32{}}},
		{`its numbers do not fit its dimensions [65536 65536]`, Tensor{Dims: []int{1 << 16, 1 << 16}, Floats: []float32{}}},
	} {
		_, err := EncodeTensors(map[string]Tensor{"w": c.tensor})
		if want := `tensor "w" cannot be written: ` + c.want; err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
	for _, name := range []string{metadataName, "\xff"} {
		_, err := EncodeTensors(map[string]Tensor{name: {Floats: []float32{1}}})
		if want := fmt.Sprintf("no tensor can be named %q", name); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
	many := map[string]Tensor{}
	for i := range MaxTensors + 1 {
		many[fmt.Sprint(i)] = Tensor{Floats: []float32{1}}
	}
	if _, err := EncodeTensors(many); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
	if _, err := EncodeTensors(map[string]Tensor{strings.Repeat("n", MaxTensorHeaderBytes): {Floats: []float32{1}}}); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
}

// tensors returns a header with its length, and zeros.
func tensors(header string, zeros int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), make([]byte, zeros)...)
}

func TestDecodeTensorsTakes(t *testing.T) {
	for _, c := range []struct {
		content []byte
		tensors int
	}{
		{tensors(`{}`, 0), 0},
		{tensors(`{"__metadata__":{"format":"pt"}}`, 0), 0},
		{tensors(`{"__metadata__":null,"b":{"shape":[1],"data_offsets":[4,8],"dtype":"F32"},"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}   `, 8), 2},
	} {
		if got, err := DecodeTensors(c.content); err != nil || len(got) != c.tensors {
			t.Errorf("%q: %v, %v", c.content, got, err)
		}
	}
}

func TestDecodeTensorsRefuses(t *testing.T) {
	f32 := func(shape, offsets string) string {
		return `{"dtype":"F32","shape":` + shape + `,"data_offsets":` + offsets + `}`
	}
	one := f32(`[1]`, `[0,4]`)
	var many []string
	for i := range MaxTensors + 2 {
		many = append(many, fmt.Sprintf(`"%d":0`, i))
	}
	for _, c := range []struct {
		content []byte
		want    string
	}{
		{nil, `its tensors have no header`},
		{[]byte("1234567"), `its tensors have no header`},
		{tensors(``, 0), `the header of its tensors does not begin with {`},
		{tensors(` {}`, 0), `the header of its tensors does not begin with {`},
		{append(bytes.Repeat([]byte{255}, 8), `{}`...), `the header of its tensors claims 18446744073709551615 bytes of 2`},
		{tensors(`{}`, 0)[:9], `the header of its tensors claims 2 bytes of 1`},
		{tensors(`{"a":`, 0), `cannot be read: it is not valid JSON`},
		{tensors(`{}x`, 0), `cannot be read: it is not valid JSON`},
		{tensors("{\"\xff\":"+one+`}`, 4), `cannot be read: it is not valid JSON`},
		{tensors(`{`+strings.Join(many, ",")+`}`, 0), `it has more than 16385 fields`},
		{tensors(`{"a":`+one+`,"a":`+one+`}`, 4), `field "a" is there twice`},
		{tensors(`{"a":`+one+`,"\u0061":`+one+`}`, 4), `field "a" is there twice`},
		{tensors(`{"__metadata__":{},"__metadata__":{}}`, 0), `field "__metadata__" is there twice`},
		{tensors(`{"a":null}`, 0), `tensor "a": it is not a JSON object`},
		{tensors(`{"a":{"dtype":"F32","shape":[1]}}`, 4), `tensor "a": it has no "data_offsets"`},
		{tensors(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":1}}`, 4), `tensor "a": it has an unknown field "x"`},
		{tensors(`{"a":{"dtype":"F32","shape":[1],"shape":[1]}}`, 4), `tensor "a": field "shape" is there twice`},
		{tensors(`{"a":{"dtype":"F16","shape":[2],"data_offsets":[0,4]}}`, 4), `tensor "a": its type "F16" is none of F32, F64 and I64`},
		{tensors(`{"a":{"dtype":null,"shape":[2],"data_offsets":[0,4]}}`, 4), `tensor "a": null is not a text`},
		{tensors(`{"a":`+f32(`null`, `[0,4]`)+`}`, 4), `tensor "a": null is not a list of counts`},
		{tensors(`{"a":`+f32(`[null]`, `[0,0]`)+`}`, 0), `tensor "a": null is not a count`},
		{tensors(`{"a":`+f32(`["1"]`, `[0,4]`)+`}`, 4), `tensor "a": "1" is not a count`},
		{tensors(`{"a":`+f32(`[1e0]`, `[0,4]`)+`}`, 4), `tensor "a": 1e0 is not a count`},
		{tensors(`{"a":`+f32(`[-1]`, `[0,4]`)+`}`, 4), `tensor "a": -1 is not a count`},
		{tensors(`{"a":`+f32(`[9223372036854775808]`, `[0,4]`)+`}`, 4), `tensor "a": 9223372036854775808 is not a count`},
		{tensors(`{"a":`+f32(`[1]`, `[0]`)+`}`, 4), `tensor "a": it has 1 offsets, not 2`},
		{tensors(`{"a":`+f32(`[4294967296,4294967296]`, `[0,0]`)+`}`, 0), `tensor "a": its dimensions multiply to too much`},
		{tensors(`{"a":`+f32(`[4611686018427387904]`, `[0,0]`)+`}`, 0), `tensor "a": its dimensions multiply to too much`},
		{tensors(`{"a":`+f32(`[0,4294967296,4294967296]`, `[0,0]`)+`}`, 0), `tensor "a": its dimensions multiply to too much`},
		{tensors(`{"a":`+f32(`[`+strings.Repeat("0,", 32)+`0]`, `[0,0]`)+`}`, 0), `tensor "a": it has 33 dimensions, more than 32`},
		{tensors(`{"a":`+f32(`[`+strings.Repeat("0,", 600)+`0]`, `[0,0]`)+`}`, 0), `tensor "a": a list of counts has 1203 bytes`},
		{tensors(`{"a":`+f32(`[2]`, `[0,4]`)+`}`, 4), `tensor "a" is said to lie in bytes 0 to 4, which is not its place`},
		{tensors(`{"a":`+f32(`[1]`, `[4,0]`)+`}`, 4), `tensor "a" is said to lie in bytes 4 to 0`},
		{tensors(`{"a":`+f32(`[1]`, `[4,8]`)+`}`, 8), `tensor "a" is said to lie in bytes 4 to 8`},
		{tensors(`{"a":`+one+`,"b":`+one+`}`, 4), `is said to lie in bytes 0 to 4`},
		{tensors(`{"a":`+f32(`[2]`, `[0,8]`)+`,"b":`+f32(`[2]`, `[4,12]`)+`}`, 12), `tensor "b" is said to lie in bytes 4 to 12`},
		{tensors(`{"a":`+one+`,"b":`+f32(`[1]`, `[8,12]`)+`}`, 12), `tensor "b" is said to lie in bytes 8 to 12`},
		{tensors(`{"a":`+f32(`[1000000000]`, `[0,4000000000]`)+`}`, 4), `tensor "a" is said to lie in bytes 0 to 4000000000`},
		{tensors(`{"a":`+one+`}`, 5), `its tensors have 5 bytes, not 4`},
	} {
		got, err := DecodeTensors(c.content)
		if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), c.want) || got != nil {
			t.Errorf("%.80q:\ngot  %v\nwant %s", c.content, err, c.want)
		}
	}
	_, err := DecodeTensors(tensors("{"+strings.Repeat(" ", MaxTensorHeaderBytes)+"}", 0))
	if want := "the header of the tensors has 4194306 bytes, more than 4194304"; !errors.Is(err, ErrTooLarge) || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
