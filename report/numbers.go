package report

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"strconv"
)

// Floats are written as base64 of single-precision numbers, the lowest byte first: a third of the size of digits, and
// more exact than anybody reads. NaN stays NaN.
type Floats []float64

// MarshalText packs the numbers.
func (f Floats) MarshalText() ([]byte, error) {
	packed := make([]byte, 4*len(f))
	for i, v := range f {
		binary.LittleEndian.PutUint32(packed[4*i:], math.Float32bits(float32(v)))
	}
	return base64.StdEncoding.AppendEncode(nil, packed), nil
}

// Attributions are Floats without their lowest byte: off by 2e-5 of themselves at most, and four characters each.
type Attributions []float64

// MarshalText packs the numbers.
func (a Attributions) MarshalText() ([]byte, error) {
	packed := make([]byte, 3*len(a))
	for i, v := range a {
		bits := math.Float32bits(float32(v)) + 1<<7 // rounded; a number so near infinity is none of ours
		packed[3*i], packed[3*i+1], packed[3*i+2] = byte(bits>>8), byte(bits>>16), byte(bits>>24)
	}
	return base64.StdEncoding.AppendEncode(nil, packed), nil
}

// Bits are written as base64, eight to a byte, the lowest first.
type Bits []bool

// MarshalText packs the bits.
func (b Bits) MarshalText() ([]byte, error) {
	packed := make([]byte, (len(b)+7)/8)
	for i, set := range b {
		if set {
			packed[i/8] |= 1 << (i % 8)
		}
	}
	return base64.StdEncoding.AppendEncode(nil, packed), nil
}

// Digits are numbers of a table with at most nine digits, null for NaN: what people read, in few bytes.
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

// known is v, or nil if it is not a number.
func known(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}
