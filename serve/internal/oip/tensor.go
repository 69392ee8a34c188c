package oip

import (
	"encoding/binary"
	"math"

	"github.com/psi-shapley/psi/serve/internal/oip/inference"
)

// Datatype is the type of the elements of a tensor.
type Datatype uint8

// The datatypes of the protocol.
const (
	Bool Datatype = iota
	Uint8
	Uint16
	Uint32
	Uint64
	Int8
	Int16
	Int32
	Int64
	FP16
	FP32
	FP64
	Bytes
)

// datatypes holds the name of each datatype, its size in bytes (0 if that varies), and the range of its elements.
var datatypes = [...]struct {
	name      string
	size      int
	low, high float64
}{
	Bool:   {"BOOL", 1, 0, 1},
	Uint8:  {"UINT8", 1, 0, math.MaxUint8},
	Uint16: {"UINT16", 2, 0, math.MaxUint16},
	Uint32: {"UINT32", 4, 0, math.MaxUint32},
	Uint64: {"UINT64", 8, 0, math.MaxUint64},
	Int8:   {"INT8", 1, math.MinInt8, math.MaxInt8},
	Int16:  {"INT16", 2, math.MinInt16, math.MaxInt16},
	Int32:  {"INT32", 4, math.MinInt32, math.MaxInt32},
	Int64:  {"INT64", 8, math.MinInt64, math.MaxInt64},
	FP16:   {"FP16", 2, math.Inf(-1), math.Inf(1)},
	FP32:   {"FP32", 4, math.Inf(-1), math.Inf(1)},
	FP64:   {"FP64", 8, math.Inf(-1), math.Inf(1)},
	Bytes:  {"BYTES", 0, 0, 0},
}

func (d Datatype) String() string { return datatypes[d].name }

func (d Datatype) size() int { return datatypes[d].size }

// holds reports whether an element may have the value.
func (d Datatype) holds(v float64) bool {
	if d >= FP16 {
		return true
	}
	return v >= datatypes[d].low && v <= datatypes[d].high && v == math.Trunc(v)
}

func datatypeOf[T string | []byte](name T) (Datatype, bool) {
	for d := range datatypes {
		if datatypes[d].name == string(name) {
			return Datatype(d), true
		}
	}
	return 0, false
}

// half decodes an IEEE 754 half: a sign, five bits of exponent, ten of fraction.
func half(bits uint16) float64 {
	exponent, fraction := int(bits>>10&0x1f), float64(bits&0x3ff)
	var v float64
	switch exponent {
	case 0:
		v = math.Ldexp(fraction, -24)
	case 0x1f:
		if v = math.Inf(1); fraction != 0 {
			v = math.NaN()
		}
	default:
		v = math.Ldexp(1024+fraction, exponent-25)
	}
	if bits>>15 != 0 {
		return -v
	}
	return v
}

// Tensor is an input in its original encoding, checked against its shape but not decoded.
type Tensor struct {
	Name     string
	Datatype Datatype
	Shape    []int64

	elements int

	// One of these holds the elements.
	json  []byte // a list, or lists in it, known to be JSON with elements of the datatype
	raw   []byte // little endian; BYTES as four bytes of length before each
	typed *inference.InferTensorContents
}

const maxDimensions = 8

// count returns the product of the shape.
func (t *Tensor) count() error {
	if len(t.Shape) > maxDimensions {
		return invalid("send at most two", "the tensor %s has %d dimensions", quoted(t.Name), len(t.Shape))
	}
	product := int64(1)
	for _, n := range t.Shape {
		if n < 0 {
			return invalid("send the number of rows there are", "the shape %v of the tensor %s has a negative number", t.Shape, quoted(t.Name))
		}
		if n > 0 && product > math.MaxInt32/n {
			return &Error{Kind: TooLarge, Message: "the tensor " + quoted(t.Name) + " has too many elements", Remedy: "send fewer rows at a time"}
		}
		product *= n
	}
	t.elements = int(product)
	return nil
}

// size returns the bytes of the elements in their original encoding.
func (t *Tensor) size() int64 {
	n := len(t.json) + len(t.raw)
	for _, text := range t.typed.GetBytesContents() {
		n += len(text)
	}
	return int64(n)
}

// checkRaw checks binary data against the shape.
func (t *Tensor) checkRaw() error {
	if size := t.Datatype.size(); size != 0 {
		if len(t.raw) != t.elements*size {
			return t.contradiction("%d bytes of data, but its shape %v of %s needs %d", len(t.raw), t.Shape, t.Datatype, t.elements*size)
		}
		return nil
	}
	found := 0
	for rest := t.raw; len(rest) > 0; found++ {
		if len(rest) < 4 || uint64(binary.LittleEndian.Uint32(rest)) > uint64(len(rest)-4) {
			return t.contradiction("an element that reaches beyond its %d bytes of data", len(t.raw))
		}
		rest = rest[4+binary.LittleEndian.Uint32(rest):]
	}
	if found != t.elements {
		return t.contradiction("%d elements, but its shape %v needs %d", found, t.Shape, t.elements)
	}
	return nil
}

// checkTyped checks the contents of a message against the shape and the datatype.
func (t *Tensor) checkTyped() error {
	c := t.typed
	found := 0
	switch t.Datatype {
	case Bool:
		found = len(c.BoolContents)
	case Int8, Int16, Int32:
		found = len(c.IntContents)
	case Int64:
		found = len(c.Int64Contents)
	case Uint8, Uint16, Uint32:
		found = len(c.UintContents)
	case Uint64:
		found = len(c.Uint64Contents)
	case FP16:
		return invalid("send it in raw_input_contents", "the tensor %s is FP16, which contents cannot hold", quoted(t.Name))
	case FP32:
		found = len(c.Fp32Contents)
	case FP64:
		found = len(c.Fp64Contents)
	case Bytes:
		found = len(c.BytesContents)
	}
	if found != t.elements {
		return t.contradiction("%d elements of %s, but its shape %v needs %d", found, t.Datatype, t.Shape, t.elements)
	}
	return nil
}

func (t *Tensor) contradiction(format string, args ...any) error {
	return invalid("make data and shape agree", "the tensor "+quoted(t.Name)+" has "+format, args...)
}

// numbers decodes the elements of any datatype but BYTES. Missing elements become NaN.
func (t *Tensor) numbers(into []float64) error {
	switch {
	case t.json != nil:
		return t.jsonNumbers(into)
	case t.typed != nil:
		t.typedNumbers(into)
	default:
		t.rawNumbers(into)
	}
	if t.Datatype < FP16 {
		for _, v := range into {
			if !t.Datatype.holds(v) {
				return t.misfit(v)
			}
		}
	}
	return nil
}

func (t *Tensor) misfit(v float64) error {
	return invalid("send another datatype", "the tensor %s holds %v, which is no %s", quoted(t.Name), v, t.Datatype)
}

func (t *Tensor) rawNumbers(into []float64) {
	raw, order := t.raw, binary.LittleEndian
	switch t.Datatype {
	case Bool, Uint8:
		for i := range into {
			into[i] = float64(raw[i])
		}
	case Int8:
		for i := range into {
			into[i] = float64(int8(raw[i]))
		}
	case Uint16:
		for i := range into {
			into[i] = float64(order.Uint16(raw[2*i:]))
		}
	case Int16:
		for i := range into {
			into[i] = float64(int16(order.Uint16(raw[2*i:])))
		}
	case FP16:
		for i := range into {
			into[i] = half(order.Uint16(raw[2*i:]))
		}
	case Uint32:
		for i := range into {
			into[i] = float64(order.Uint32(raw[4*i:]))
		}
	case Int32:
		for i := range into {
			into[i] = float64(int32(order.Uint32(raw[4*i:])))
		}
	case FP32:
		for i := range into {
			into[i] = float64(math.Float32frombits(order.Uint32(raw[4*i:])))
		}
	case Uint64:
		for i := range into {
			into[i] = float64(order.Uint64(raw[8*i:]))
		}
	case Int64:
		for i := range into {
			into[i] = float64(int64(order.Uint64(raw[8*i:])))
		}
	case FP64:
		for i := range into {
			into[i] = math.Float64frombits(order.Uint64(raw[8*i:]))
		}
	}
}

func (t *Tensor) typedNumbers(into []float64) {
	c := t.typed
	switch t.Datatype {
	case Bool:
		for i, v := range c.BoolContents {
			if into[i] = 0; v {
				into[i] = 1
			}
		}
	case Int8, Int16, Int32:
		widen(into, c.IntContents)
	case Int64:
		widen(into, c.Int64Contents)
	case Uint8, Uint16, Uint32:
		widen(into, c.UintContents)
	case Uint64:
		widen(into, c.Uint64Contents)
	case FP32:
		widen(into, c.Fp32Contents)
	case FP64:
		copy(into, c.Fp64Contents)
	}
}

func widen[T int32 | int64 | uint32 | uint64 | float32](into []float64, from []T) {
	for i, v := range from {
		into[i] = float64(v)
	}
}

// texts iterates over the elements of a BYTES tensor.
type texts struct {
	tensor *Tensor
	next   int // element
	rest   []byte
	json   scanner
	plain  []byte // the last JSON text that had escapes, without them
}

func (t *Tensor) texts() texts {
	return texts{tensor: t, rest: t.raw, json: scanner{text: t.json}}
}

// cell returns the next element, which is valid until the next call. Only JSON has null elements.
func (x *texts) cell() (cell []byte, null bool) {
	switch t := x.tensor; {
	case t.json != nil:
		x.json.toElement()
		if x.json.peek() == 'n' {
			x.json.at += len("null")
			return nil, true
		}
		span, escaped, _ := x.json.quoted()
		if escaped {
			x.plain = unescape(x.plain[:0], span)
			return x.plain, false
		}
		return span, false
	case t.typed != nil:
		cell = t.typed.BytesContents[x.next]
		x.next++
	default:
		size := binary.LittleEndian.Uint32(x.rest)
		cell, x.rest = x.rest[4:4+size], x.rest[4+size:]
	}
	return cell, false
}
