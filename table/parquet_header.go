package table

import (
	"bufio"
	"errors"
	"fmt"
)

// pageHeader is the header of a Parquet page, with the names and numbers of parquet.thrift.
type pageHeader struct {
	kind             int64
	unpacked, stored int64 // bytes
	values           int64 // including missing ones
	encoding         int64
	defEncoding      int64
	repEncoding      int64
	nulls, rows      int64 // version 2 only
	defBytes         int64
	repBytes         int64
	notPacked        bool
}

const (
	dataPage       = 0
	dictionaryPage = 2
	dataPage2      = 3
)

// readPageHeader reads a header and returns its size.
func readPageHeader(in *bufio.Reader) (h pageHeader, bytes int64, err error) {
	t := &thriftReader{in: in, left: 16 << 20}
	data := map[int64]*int64{1: &h.values, 2: &h.encoding, 3: &h.defEncoding, 4: &h.repEncoding}
	dictionary := map[int64]*int64{1: &h.values, 2: &h.encoding}
	data2 := map[int64]*int64{1: &h.values, 2: &h.nulls, 3: &h.rows, 4: &h.encoding, 5: &h.defBytes, 6: &h.repBytes}
	plain := map[int64]*int64{1: &h.kind, 2: &h.unpacked, 3: &h.stored}
	t.structure(func(id int64, kind byte) {
		switch id {
		case 5:
			t.numbers(kind, data)
		case 7:
			t.numbers(kind, dictionary)
		case 8:
			t.structure(func(id int64, kind byte) {
				if id == 7 {
					h.notPacked = kind == thriftFalse
					return
				}
				t.number(kind, data2[id])
			})
		default:
			t.number(kind, plain[id])
		}
	})
	bytes = 16<<20 - t.left
	for _, n := range []int64{h.unpacked, h.stored, h.values, h.nulls, h.rows, h.defBytes, h.repBytes} {
		if n < 0 && t.err == nil {
			t.err = fmt.Errorf("the header of a page holds %d", n)
		}
	}
	return h, bytes, t.err
}

// Types of Thrift's compact protocol.
const (
	thriftTrue   = 1
	thriftFalse  = 2
	thriftByte   = 3
	thriftInt64  = 6 // also 4 and 5, with fewer bits
	thriftDouble = 7
	thriftBinary = 8
	thriftList   = 9
	thriftSet    = 10
	thriftMap    = 11
	thriftStruct = 12
)

// thriftReader reads Thrift's compact protocol. After an error it reads zeros.
type thriftReader struct {
	in    *bufio.Reader
	left  int64 // bytes that may be read
	depth int
	err   error
}

func (t *thriftReader) fail(err error) {
	if t.err == nil {
		t.err = err
	}
}

func (t *thriftReader) byte() byte {
	if t.left--; t.left < 0 {
		t.fail(errors.New("the header of a page is too long"))
	}
	if t.err != nil {
		return 0
	}
	b, err := t.in.ReadByte()
	if err != nil {
		t.fail(err)
	}
	return b
}

func (t *thriftReader) varint() uint64 {
	value := uint64(0)
	for shift := 0; shift < 64; shift += 7 {
		b := t.byte()
		value |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return value
		}
	}
	t.fail(errors.New("the header of a page holds a number that is too long"))
	return 0
}

func (t *thriftReader) zigzag() int64 {
	v := t.varint()
	return int64(v>>1) ^ -int64(v&1)
}

// structure calls visit for each field; visit must read the field.
func (t *thriftReader) structure(visit func(id int64, kind byte)) {
	const deepest = 16
	if t.depth++; t.depth > deepest {
		t.fail(errors.New("the header of a page is nested too deeply"))
	}
	id := int64(0)
	for t.err == nil {
		head := t.byte()
		if head == 0 {
			break
		}
		if step := head >> 4; step != 0 {
			id += int64(step)
		} else {
			id = t.zigzag()
		}
		visit(id, head&0xf)
	}
	t.depth--
}

// numbers reads the wanted fields of a structure.
func (t *thriftReader) numbers(kind byte, into map[int64]*int64) {
	if kind != thriftStruct {
		t.skip(kind)
		return
	}
	t.structure(func(id int64, kind byte) { t.number(kind, into[id]) })
}

// number reads a field if it is an integer and wanted.
func (t *thriftReader) number(kind byte, into *int64) {
	if into == nil || kind <= thriftByte || kind > thriftInt64 {
		t.skip(kind)
		return
	}
	*into = t.zigzag()
}

func (t *thriftReader) skip(kind byte) {
	switch kind {
	case thriftTrue, thriftFalse:
	case thriftByte:
		t.byte()
	case 4, 5, thriftInt64:
		t.varint()
	case thriftDouble:
		t.discard(8)
	case thriftBinary:
		t.discard(t.varint())
	case thriftList, thriftSet:
		head := t.byte()
		n := uint64(head >> 4)
		if n == 15 {
			n = t.varint()
		}
		for ; n > 0 && t.err == nil; n-- {
			t.element(head & 0xf)
		}
	case thriftMap:
		n := t.varint()
		if n == 0 {
			return
		}
		kinds := t.byte()
		for ; n > 0 && t.err == nil; n-- {
			t.element(kinds >> 4)
			t.element(kinds & 0xf)
		}
	case thriftStruct:
		t.structure(func(_ int64, kind byte) { t.skip(kind) })
	default:
		t.fail(fmt.Errorf("the header of a page holds a field of type %d", kind))
	}
}

// element skips an entry of a list, where a boolean takes a byte.
func (t *thriftReader) element(kind byte) {
	if kind == thriftTrue || kind == thriftFalse {
		kind = thriftByte
	}
	t.skip(kind)
}

func (t *thriftReader) discard(n uint64) {
	if t.err != nil {
		return
	}
	if n > uint64(t.left) {
		t.fail(errors.New("the header of a page is too long"))
		return
	}
	t.left -= int64(n)
	if _, err := t.in.Discard(int(n)); err != nil {
		t.fail(noEOF(err))
	}
}
