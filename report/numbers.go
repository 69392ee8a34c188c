package report

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"strconv"
)

// Floats are encoded as base64 of little-endian single-precision numbers: a third of the size of decimal digits, with
// sufficient precision. NaN stays NaN.
type Floats []float64

// MarshalText encodes the numbers.
func (f Floats) MarshalText() ([]byte, error) {
	packed := make([]byte, 4*len(f))
	for i, v := range f {
		binary.LittleEndian.PutUint32(packed[4*i:], math.Float32bits(float32(v)))
	}
	return base64.StdEncoding.AppendEncode(nil, packed), nil
}

// Attributions are Floats without their lowest byte: four characters each, with a relative error of at most 2e-5.
type Attributions []float64

// MarshalText encodes the numbers.
func (a Attributions) MarshalText() ([]byte, error) {
	packed := make([]byte, 3*len(a))
	for i, v := range a {
		bits := math.Float32bits(float32(v)) + 1<<7 // rounds; overflow to infinity does not occur in attributions
		packed[3*i], packed[3*i+1], packed[3*i+2] = byte(bits>>8), byte(bits>>16), byte(bits>>24)
	}
	return base64.StdEncoding.AppendEncode(nil, packed), nil
}

// Bits are encoded as base64, eight to a byte, the lowest first.
type Bits []bool

// MarshalText encodes the bits.
func (b Bits) MarshalText() ([]byte, error) {
	packed := make([]byte, (len(b)+7)/8)
	for i, set := range b {
		if set {
			packed[i/8] |= 1 << (i % 8)
		}
	}
	return base64.StdEncoding.AppendEncode(nil, packed), nil
}

// Digits are numbers with at most nine digits, null for NaN, which is readable and short.
type Digits []float64

// MarshalJSON writes a list.
func (d Digits) MarshalJSON() ([]byte, error) {
	text := []byte{'['}
	for i, v := range d {
		if i > 0 {
			text = append(text, ',')
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			text = append(text, "null"...)
			continue
		}
		short, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 9, 64), 64)
		if err != nil {
			return nil, err
		}
		format := byte('f')
		if size := math.Abs(short); size != 0 && (size < 1e-6 || size >= 1e15) {
			format = 'e'
		}
		text = strconv.AppendFloat(text, short, format, -1, 64)
	}
	return append(text, ']'), nil
}

// known returns v, or nil if v is NaN.
func known(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}
