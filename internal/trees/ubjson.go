package trees

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
)

// UBJSON is the binary form of JSON that XGBoost saves by default (ubjson.org, draft 12).

// maxNesting of lists and objects.
const maxNesting = 64

var errUBJSON = errors.New("it ends early, or is not UBJSON")

// jsonOf is the JSON of a UBJSON document. What it returns is a few times as long as content at most.
func jsonOf(content []byte) ([]byte, error) {
	d := ubjson{in: content}
	kind, err := d.kind()
	if err == nil {
		err = d.value(kind, 0)
	}
	if err != nil {
		return nil, err
	}
	return d.out, nil
}

// ubjson turns what is left of in into JSON.
type ubjson struct{ in, out []byte }

// take is the next n bytes.
func (d *ubjson) take(n int) ([]byte, error) {
	if n < 0 || n > len(d.in) {
		return nil, errUBJSON
	}
	taken := d.in[:n]
	d.in = d.in[n:]
	return taken, nil
}

// kind is the next marker that is not a no-op.
func (d *ubjson) kind() (byte, error) {
	for {
		b, err := d.take(1)
		if err != nil || b[0] != 'N' {
			return first(b), err
		}
	}
}

func first(b []byte) byte {
	if len(b) == 0 {
		return 0
	}
	return b[0]
}

// peeked takes the next byte if it is this one.
func (d *ubjson) peeked(b byte) bool {
	if first(d.in) != b || len(d.in) == 0 {
		return false
	}
	d.in = d.in[1:]
	return true
}

// value writes a value of a kind.
func (d *ubjson) value(kind byte, depth int) error {
	if depth > maxNesting {
		return fmt.Errorf("it nests more than %d deep", maxNesting)
	}
	switch kind {
	case 'Z':
		d.out = append(d.out, "null"...)
	case 'T':
		d.out = append(d.out, "true"...)
	case 'F':
		d.out = append(d.out, "false"...)
	case 'i', 'U', 'I', 'l', 'L':
		n, err := d.integer(kind)
		d.out = strconv.AppendInt(d.out, n, 10)
		return err
	case 'd', 'D':
		return d.float(kind)
	case 'S', 'H':
		return d.text()
	case '[', '{':
		return d.container(kind, depth)
	default:
		return errUBJSON
	}
	return nil
}

// integer is a whole number of a kind.
func (d *ubjson) integer(kind byte) (int64, error) {
	size := map[byte]int{'i': 1, 'U': 1, 'I': 2, 'l': 4, 'L': 8}[kind]
	b, err := d.take(size)
	if err != nil || size == 0 {
		return 0, errUBJSON
	}
	//nolint:gosec // the bits of a signed number
	switch kind {
	case 'i':
		return int64(int8(b[0])), nil
	case 'U':
		return int64(b[0]), nil
	case 'I':
		return int64(int16(binary.BigEndian.Uint16(b))), nil
	case 'l':
		return int64(int32(binary.BigEndian.Uint32(b))), nil
	default:
		return int64(binary.BigEndian.Uint64(b)), nil
	}
}

// length is a whole number with its marker, not below 0.
func (d *ubjson) length() (int, error) {
	kind, err := d.kind()
	if err != nil {
		return 0, err
	}
	n, err := d.integer(kind)
	if err != nil || n < 0 || n > int64(len(d.in)) {
		return 0, errUBJSON // every element has a byte at least
	}
	return int(n), nil
}

func (d *ubjson) float(kind byte) error {
	bits, size := 64, 8
	if kind == 'd' {
		bits, size = 32, 4
	}
	b, err := d.take(size)
	if err != nil {
		return err
	}
	var x float64
	if bits == 32 {
		x = float64(math.Float32frombits(binary.BigEndian.Uint32(b)))
	} else {
		x = math.Float64frombits(binary.BigEndian.Uint64(b))
	}
	if !finite(x) {
		return fmt.Errorf("it has the number %v", x)
	}
	d.out = strconv.AppendFloat(d.out, x, 'g', -1, bits)
	return nil
}

func (d *ubjson) text() error {
	n, err := d.length()
	if err != nil {
		return err
	}
	b, err := d.take(n)
	if err != nil {
		return err
	}
	quoted, err := json.Marshal(string(b))
	d.out = append(d.out, quoted...)
	return err
}

// container writes a list or an object, whose elements may be of one kind and of a number that stand before them.
func (d *ubjson) container(open byte, depth int) error {
	closing := byte(']')
	if open == '{' {
		closing = '}'
	}
	common, count := byte(0), -1
	if d.peeked('$') {
		b, err := d.take(1)
		if err != nil {
			return err
		}
		if common = b[0]; first(d.in) != '#' || common == 'Z' || common == 'T' || common == 'F' || common == 'N' {
			return errUBJSON // elements without a byte could be any number
		}
	}
	if d.peeked('#') {
		var err error
		if count, err = d.length(); err != nil {
			return err
		}
	}
	d.out = append(d.out, open)
	for i := 0; i != count; i++ {
		if count < 0 && d.closes(closing) {
			break
		}
		if i > 0 {
			d.out = append(d.out, ',')
		}
		if err := d.element(open, common, depth); err != nil {
			return err
		}
	}
	d.out = append(d.out, closing)
	return nil
}

// closes takes the end of a list or an object, and no-ops before it.
func (d *ubjson) closes(closing byte) bool {
	for d.peeked('N') {
	}
	return d.peeked(closing)
}

// element writes an element of a list, or a member of an object.
func (d *ubjson) element(open, kind byte, depth int) (err error) {
	if open == '{' {
		if err := d.text(); err != nil {
			return err
		}
		d.out = append(d.out, ':')
	}
	if kind == 0 {
		if kind, err = d.kind(); err != nil {
			return err
		}
	}
	return d.value(kind, depth+1)
}
