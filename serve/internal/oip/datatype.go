package oip

import "math"

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
