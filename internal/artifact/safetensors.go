package artifact

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"
	"unicode/utf8"

	"github.com/psi-shapley/psi/table"
)

// Limits of tensors, the same for encoding and decoding.
const (
	MaxTensors           = 1 << 14
	MaxDims              = 32
	MaxTensorHeaderBytes = 4 << 20
)

// metadataName is the only key of a header that is not a tensor.
const metadataName = "__metadata__"

// Tensor is an array of numbers in row-major order. Exactly one of Floats, Doubles and Ints is not nil; its length is the
// product of Dims, 1 if there are no Dims.
type Tensor struct {
	Dims    []int
	Floats  []float32 // F32
	Doubles []float64 // F64
	Ints    []int64   // I64
}

// tensorInfo is the entry of a tensor in a header.
type tensorInfo struct {
	DType   string   `json:"dtype"`
	Shape   []int    `json:"shape"`
	Offsets [2]int64 `json:"data_offsets"` // from the end of the header
}

// size returns the number of bytes of a tensor. Dims that overflow fail even beside a 0: multiplying them in another
// order must not overflow either.
func (t tensorInfo) size() (int64, error) {
	width := map[string]uint64{"F32": 4, "F64": 8, "I64": 8}[t.DType]
	if width == 0 {
		return 0, fmt.Errorf("its type %q is none of F32, F64 and I64", shorten(t.DType))
	}
	if len(t.Shape) > MaxDims {
		return 0, fmt.Errorf("it has %d dimensions, more than %d", len(t.Shape), MaxDims)
	}
	product, empty := width, false
	for _, dim := range t.Shape {
		if dim < 0 {
			return 0, fmt.Errorf("it has a dimension of %d", dim)
		}
		empty = empty || dim == 0
		high, low := bits.Mul64(product, uint64(max(dim, 1)))
		if high != 0 || low > math.MaxInt64 {
			return 0, fmt.Errorf("its dimensions multiply to too much")
		}
		product = low
	}
	if empty {
		product = 0
	}
	return int64(product), nil
}

// info describes a tensor without its offsets.
func (t Tensor) info() (tensorInfo, int64, error) {
	info := tensorInfo{DType: "F32", Shape: append([]int{}, t.Dims...)}
	have, lists := 4*int64(len(t.Floats)), 0
	for _, has := range []bool{t.Floats != nil, t.Doubles != nil, t.Ints != nil} {
		if has {
			lists++
		}
	}
	switch {
	case lists != 1:
		return info, 0, fmt.Errorf("it must have one of Floats, Doubles and Ints")
	case t.Doubles != nil:
		info.DType, have = "F64", 8*int64(len(t.Doubles))
	case t.Ints != nil:
		info.DType, have = "I64", 8*int64(len(t.Ints))
	}
	size, err := info.size()
	if err == nil && size != have {
		err = fmt.Errorf("its numbers do not fit its dimensions %v", t.Dims)
	}
	return info, size, err
}

// EncodeTensors writes tensors in the safetensors format: the length of a header, the header in JSON, the numbers. The
// same tensors give the same bytes.
func EncodeTensors(tensors map[string]Tensor) ([]byte, error) {
	if len(tensors) > MaxTensors {
		return nil, tooLarge("there are %d tensors, more than %d", len(tensors), MaxTensors)
	}
	names := slices.SortedFunc(maps.Keys(tensors), func(a, b string) int {
		// Wider numbers come first, so that all are at multiples of their width, which programs that map the file into
		// memory need.
		if narrow := tensors[a].Floats != nil; narrow != (tensors[b].Floats != nil) {
			if narrow {
				return 1
			}
			return -1
		}
		return cmp.Compare(a, b)
	})
	header := []byte{'{'}
	var end int64
	for i, name := range names {
		if name == metadataName || !utf8.ValidString(name) {
			return nil, &table.Error{Row: -1, Message: fmt.Sprintf("no tensor can be named %q", name)}
		}
		info, size, err := tensors[name].info()
		if err != nil {
			return nil, &table.Error{Row: -1, Message: fmt.Sprintf("tensor %q cannot be written: %v", name, err), Err: err}
		}
		info.Offsets = [2]int64{end, end + size}
		end += size
		key, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(info)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			header = append(header, ',')
		}
		header = append(append(append(header, key...), ':'), value...)
	}
	header = append(header, '}')
	for len(header)%8 != 0 {
		header = append(header, ' ')
	}
	if len(header) > MaxTensorHeaderBytes {
		return nil, tooLarge("the header of the tensors has %d bytes, more than %d", len(header), MaxTensorHeaderBytes)
	}

	out := make([]byte, 0, 8+int64(len(header))+end)
	out = binary.LittleEndian.AppendUint64(out, uint64(len(header)))
	out = append(out, header...)
	for _, name := range names {
		for _, v := range tensors[name].Floats {
			out = binary.LittleEndian.AppendUint32(out, math.Float32bits(v))
		}
		for _, v := range tensors[name].Doubles {
			out = binary.LittleEndian.AppendUint64(out, math.Float64bits(v))
		}
		for _, v := range tensors[name].Ints {
			out = binary.LittleEndian.AppendUint64(out, uint64(v))
		}
	}
	return out, nil
}

// DecodeTensors reads tensors of types F32, F64 and I64 in the safetensors format from any
// bytes. Metadata is ignored. Errors are of type [*table.Error].
func DecodeTensors(b []byte) (map[string]Tensor, error) {
	if len(b) < 8 {
		return nil, damaged("its tensors have no header")
	}
	length := binary.LittleEndian.Uint64(b)
	if b = b[8:]; length > uint64(len(b)) {
		return nil, damaged("the header of its tensors claims %d bytes of %d", length, len(b))
	}
	if length > MaxTensorHeaderBytes {
		return nil, tooLarge("the header of the tensors has %d bytes, more than %d", length, MaxTensorHeaderBytes)
	}
	header, data := b[:length], b[length:]
	if length == 0 || header[0] != '{' {
		return nil, damaged("the header of its tensors does not begin with {")
	}
	infos, err := decodeHeader(header)
	if err != nil {
		return nil, damaged("the header of its tensors cannot be read: %v", err)
	}

	// The numbers of a tensor are contiguous, in any order of names, without holes.
	names := slices.SortedFunc(maps.Keys(infos), func(a, b string) int {
		x, y := infos[a].Offsets, infos[b].Offsets
		return slices.Compare(x[:], y[:])
	})
	var end int64
	for _, name := range names {
		offsets := infos[name].Offsets
		size, err := infos[name].size()
		if err != nil {
			return nil, damaged("tensor %q: %v", shorten(name), err)
		}
		if offsets[0] != end || offsets[1]-offsets[0] != size || offsets[1] > int64(len(data)) {
			return nil, damaged("tensor %q is said to lie in bytes %d to %d, which is not its place", shorten(name), offsets[0], offsets[1])
		}
		end = offsets[1]
	}
	if end != int64(len(data)) {
		return nil, damaged("its tensors have %d bytes, not %d", len(data), end)
	}
	tensors := make(map[string]Tensor, len(infos))
	for name, info := range infos {
		tensors[name] = decodeTensor(info, data[info.Offsets[0]:info.Offsets[1]])
	}
	return tensors, nil
}

func decodeHeader(header []byte) (map[string]tensorInfo, error) {
	fields, err := object(header, MaxTensors+1)
	if err != nil {
		return nil, err
	}
	delete(fields, metadataName)
	infos := make(map[string]tensorInfo, len(fields))
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		info, err := decodeInfo(fields[name])
		if err != nil {
			return nil, fmt.Errorf("tensor %q: %w", shorten(name), err)
		}
		infos[name] = info
	}
	return infos, nil
}

func decodeInfo(value json.RawMessage) (info tensorInfo, err error) {
	fields, err := record(value, "dtype", "shape", "data_offsets")
	if err != nil {
		return info, err
	}
	if info.DType, err = text(fields["dtype"]); err != nil {
		return info, err
	}
	shape, err := counts(fields["shape"])
	if err != nil {
		return info, err
	}
	offsets, err := counts(fields["data_offsets"])
	if err != nil {
		return info, err
	}
	if len(offsets) != 2 {
		return info, fmt.Errorf("it has %d offsets, not 2", len(offsets))
	}
	info.Offsets = [2]int64(offsets)
	info.Shape = make([]int, len(shape))
	for i, dim := range shape {
		if dim > math.MaxInt {
			return info, fmt.Errorf("it has a dimension of %d", dim)
		}
		info.Shape[i] = int(dim)
	}
	return info, nil
}

func decodeTensor(info tensorInfo, data []byte) Tensor {
	t := Tensor{Dims: info.Shape}
	switch info.DType {
	case "I64":
		t.Ints = make([]int64, len(data)/8)
		for i := range t.Ints {
			t.Ints[i] = int64(binary.LittleEndian.Uint64(data[8*i:]))
		}
	case "F64":
		t.Doubles = make([]float64, len(data)/8)
		for i := range t.Doubles {
			t.Doubles[i] = math.Float64frombits(binary.LittleEndian.Uint64(data[8*i:]))
		}
	default:
		t.Floats = make([]float32, len(data)/4)
		for i := range t.Floats {
			t.Floats[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
		}
	}
	return t
}
