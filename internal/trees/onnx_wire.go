package trees

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// ONNX files are protobuf. The numbers of fields are those of onnx.proto. What is read takes a few times the bytes of the file at most.

var errProtobuf = errors.New("it ends early, or is not ONNX")

// wireField is a field of a message: a number, or bytes.
type wireField struct {
	number protowire.Number
	kind   protowire.Type
	bits   uint64
	bytes  []byte
}

// eachField reads the fields of a message in order.
func eachField(content []byte, take func(f wireField) error) error {
	for len(content) > 0 {
		f := wireField{}
		var n int
		if f.number, f.kind, n = protowire.ConsumeTag(content); n < 0 {
			return errProtobuf
		}
		content = content[n:]
		switch f.kind {
		case protowire.VarintType:
			f.bits, n = protowire.ConsumeVarint(content)
		case protowire.Fixed32Type:
			var bits uint32
			bits, n = protowire.ConsumeFixed32(content)
			f.bits = uint64(bits)
		case protowire.Fixed64Type:
			f.bits, n = protowire.ConsumeFixed64(content)
		case protowire.BytesType:
			f.bytes, n = protowire.ConsumeBytes(content)
		default:
			return errProtobuf
		}
		if n < 0 {
			return errProtobuf
		}
		content = content[n:]
		if err := take(f); err != nil {
			return err
		}
	}
	return nil
}

// integers appends a field of whole numbers, one or a packed list.
func (f *wireField) integers(list []int64) ([]int64, error) {
	if f.kind != protowire.BytesType {
		return append(list, int64(f.bits)), nil //nolint:gosec // the bits of a signed number
	}
	for rest := f.bytes; len(rest) > 0; {
		x, n := protowire.ConsumeVarint(rest)
		if n < 0 {
			return nil, errProtobuf
		}
		list, rest = append(list, int64(x)), rest[n:] //nolint:gosec // the bits of a signed number
	}
	return list, nil
}

// floats appends a field of 32-bit numbers, one or a packed list.
func (f *wireField) floats(list []float64) ([]float64, error) {
	switch {
	case f.kind == protowire.Fixed32Type:
		return append(list, float64(math.Float32frombits(uint32(f.bits)))), nil //nolint:gosec // 32 bits
	case f.kind != protowire.BytesType || len(f.bytes)%4 != 0:
		return nil, errProtobuf
	}
	for rest := f.bytes; len(rest) > 0; rest = rest[4:] {
		list = append(list, float64(math.Float32frombits(binary.LittleEndian.Uint32(rest))))
	}
	return list, nil
}

// doubles appends a field of 64-bit numbers, one or a packed list.
func (f *wireField) doubles(list []float64) ([]float64, error) {
	switch {
	case f.kind == protowire.Fixed64Type:
		return append(list, math.Float64frombits(f.bits)), nil
	case f.kind != protowire.BytesType || len(f.bytes)%8 != 0:
		return nil, errProtobuf
	}
	for rest := f.bytes; len(rest) > 0; rest = rest[8:] {
		list = append(list, math.Float64frombits(binary.LittleEndian.Uint64(rest)))
	}
	return list, nil
}

// onnxGraph is what psi reads of a GraphProto.
type onnxGraph struct {
	nodes     []onnxNode
	inputs    []onnxValue
	outputs   []string
	constants map[string][]float64
}

// onnxValue is an input of the graph. width is its number of columns, 0 if the file does not say it.
type onnxValue struct {
	name    string
	element int64
	width   int64
}

type onnxNode struct {
	kind, domain    string
	inputs, outputs []string
	attributes      map[string]*onnxAttribute
}

type onnxAttribute struct {
	number   float64
	integer  int64
	text     string
	integers []int64
	floats   []float64
	texts    []string
	tensor   []float64
}

// Elements of ONNX tensors.
const (
	onnxFloat  = 1
	onnxInt32  = 6
	onnxInt64  = 7
	onnxDouble = 11
)

// readONNXGraph reads a ModelProto.
func readONNXGraph(content []byte) (*onnxGraph, error) {
	var g *onnxGraph
	err := eachField(content, func(f wireField) error {
		if f.number != 7 || f.kind != protowire.BytesType {
			return nil
		}
		if g == nil {
			g = &onnxGraph{constants: map[string][]float64{}}
		}
		return eachField(f.bytes, g.field)
	})
	if err != nil {
		return nil, err
	}
	if g == nil {
		return nil, errors.New("it has no graph")
	}
	return g, nil
}

func (g *onnxGraph) field(f wireField) error {
	if f.kind != protowire.BytesType {
		return nil
	}
	switch f.number {
	case 1:
		n := onnxNode{attributes: map[string]*onnxAttribute{}}
		if err := eachField(f.bytes, n.field); err != nil {
			return err
		}
		g.nodes = append(g.nodes, n)
	case 5:
		name, list, err := onnxTensor(f.bytes)
		if err != nil {
			return err
		}
		g.constants[name] = list
	case 11, 12:
		v, err := readONNXValue(f.bytes)
		if err != nil {
			return err
		}
		if f.number == 12 {
			g.outputs = append(g.outputs, v.name)
		} else {
			g.inputs = append(g.inputs, v)
		}
	}
	return nil
}

func (n *onnxNode) field(f wireField) error {
	if f.kind != protowire.BytesType {
		return nil
	}
	switch f.number {
	case 1:
		n.inputs = append(n.inputs, string(f.bytes))
	case 2:
		n.outputs = append(n.outputs, string(f.bytes))
	case 4:
		n.kind = string(f.bytes)
	case 5:
		a, name := &onnxAttribute{}, ""
		err := eachField(f.bytes, func(f wireField) (err error) {
			switch f.number {
			case 1:
				name = string(f.bytes)
			case 2:
				a.number = float64(math.Float32frombits(uint32(f.bits))) //nolint:gosec // 32 bits
			case 3:
				a.integer = int64(f.bits) //nolint:gosec // the bits of a signed number
			case 4:
				a.text = string(f.bytes)
			case 5:
				_, a.tensor, err = onnxTensor(f.bytes)
			case 7:
				a.floats, err = f.floats(a.floats)
			case 8:
				a.integers, err = f.integers(a.integers)
			case 9:
				a.texts = append(a.texts, string(f.bytes))
			}
			return err
		})
		if err != nil {
			return err
		}
		n.attributes[name] = a
	case 7:
		n.domain = string(f.bytes)
	}
	return nil
}

// onnxTensor is the name of a TensorProto and its numbers; nil of kinds that are neither 32-bit nor 64-bit numbers.
func onnxTensor(content []byte) (name string, list []float64, err error) {
	element := int64(0)
	var raw []byte
	err = eachField(content, func(f wireField) (err error) {
		switch f.number {
		case 2:
			element = int64(f.bits) //nolint:gosec // the bits of a signed number
		case 4:
			list, err = f.floats(list)
		case 8:
			name = string(f.bytes)
		case 9:
			raw = f.bytes
		case 10:
			list, err = f.doubles(list)
		}
		return err
	})
	if err != nil {
		return "", nil, err
	}
	packed := wireField{kind: protowire.BytesType, bytes: raw}
	switch element {
	case onnxFloat:
		list, err = packed.floats(list)
	case onnxDouble:
		list, err = packed.doubles(list)
	default:
		list = nil
	}
	return name, list, err
}

// readONNXValue reads a ValueInfoProto of a tensor [rows, columns].
func readONNXValue(content []byte) (onnxValue, error) {
	v := onnxValue{}
	var widths []int64
	dimension := func(f wireField) error {
		if f.number == 1 {
			width := int64(0)
			err := eachField(f.bytes, func(f wireField) error {
				if f.number == 1 {
					width = int64(f.bits) //nolint:gosec // the bits of a signed number
				}
				return nil
			})
			widths = append(widths, width)
			return err
		}
		return nil
	}
	tensor := func(f wireField) error {
		switch f.number {
		case 1:
			v.element = int64(f.bits) //nolint:gosec // the bits of a signed number
		case 2:
			return eachField(f.bytes, dimension)
		}
		return nil
	}
	err := eachField(content, func(f wireField) error {
		switch f.number {
		case 1:
			v.name = string(f.bytes)
		case 2:
			return eachField(f.bytes, func(f wireField) error {
				if f.number == 1 {
					return eachField(f.bytes, tensor)
				}
				return nil
			})
		}
		return nil
	})
	if len(widths) == 2 {
		v.width = widths[1]
	}
	if v.width < 0 || v.width > MaxColumns {
		return v, fmt.Errorf("input %.100q has %d columns", v.name, v.width)
	}
	return v, err
}
