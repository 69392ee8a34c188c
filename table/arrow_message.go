package table

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Limits of one Arrow message. Other programs write a whole table as one batch, so the limit on bodies is generous.
const (
	maxMetadataBytes = 16 << 20
	maxBodyBytes     = 2 << 30
	maxListed        = 1 << 18 // fields and key-value pairs in one message
)

// Kinds of messages that occur in tables.
const (
	schemaMessage     = 1
	dictionaryMessage = 2
	batchMessage      = 3
)

// arrowMessage is the header of a message.
type arrowMessage struct {
	metadata  []byte
	version   int16
	kind      byte
	header    flatTable // of that kind
	bodyBytes int64
}

// messageReader splits a stream into Arrow messages and checks them before they are decoded. The library's own reader
// allocates what lengths in a message claim, so a damaged message of a hundred bytes can end the process.
type messageReader struct {
	in   io.Reader
	file bool   // a file marks its last message; a stream may simply end
	last []byte // metadata of the message that Message returned
	held account
}

// next reads a message up to its body: marker, length of the metadata, metadata.
func (r *messageReader) next() (m arrowMessage, err error) {
	length, err := r.uint32()
	if r.file {
		err = noEOF(err)
	}
	if err != nil {
		return m, err
	}
	if length == 0xffffffff { // the marker, which old writers omit
		if length, err = r.uint32(); err != nil {
			return m, noEOF(err)
		}
	}
	if length == 0 {
		return m, io.EOF
	}
	if length > maxMetadataBytes {
		return m, fmt.Errorf("a message claims %d bytes of metadata", length)
	}
	metadata, err := r.bytes(int64(length), &account{})
	if err != nil {
		return m, err
	}
	return checkMessage(metadata)
}

// Message reads a message for the library, which decodes the schema.
func (r *messageReader) Message() (*ipc.Message, error) {
	m, err := r.next()
	if err != nil {
		return nil, err
	}
	const decoded = 8 // maximum expansion of decoded metadata
	length := int64(len(m.metadata))
	if err := r.held.takeUnpacked(decoded*length+m.bodyBytes, length); err != nil {
		return nil, err
	}
	body, err := r.bytes(m.bodyBytes, &account{})
	if err != nil {
		return nil, err
	}
	r.last = m.metadata
	return ipc.NewMessage(memory.NewBufferBytes(m.metadata), memory.NewBufferBytes(body)), nil
}

// Retain and Release do nothing: the garbage collector frees messages.
func (*messageReader) Retain()  {}
func (*messageReader) Release() {}

func (r *messageReader) uint32() (uint32, error) {
	var word [4]byte
	_, err := io.ReadFull(r.in, word[:])
	return binary.LittleEndian.Uint32(word[:]), err
}

// bytes reads n bytes. Its memory grows with the bytes present, not with the claimed length.
func (r *messageReader) bytes(n int64, held *account) ([]byte, error) {
	const least, limit = 8 << 20, 64 << 20
	var data []byte
	for have := int64(0); have < n; have = int64(len(data)) {
		step := min(n-have, max(least, min(have, limit)))
		if err := held.takeUnpacked(step, step); err != nil {
			return nil, err
		}
		data = slices.Grow(data, int(step))[:have+step]
		if _, err := io.ReadFull(r.in, data[have:]); err != nil {
			return nil, noEOF(err)
		}
	}
	return data, nil
}

// skip passes over a body.
func (r *messageReader) skip(n int64) error {
	_, err := io.CopyN(io.Discard, r.in, n)
	return noEOF(err)
}

// noEOF turns an end of input inside a message into an error.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// checkMessage checks the lengths that determine allocations. Slot numbers are those of Message.fbs and Schema.fbs in
// the Arrow format. Positions outside the metadata panic here as they would in the library.
func checkMessage(metadata []byte) (m arrowMessage, err error) {
	message := flatTable{metadata, int(binary.LittleEndian.Uint32(metadata))}
	budget := maxListed
	m.metadata, m.version, m.bodyBytes = metadata, message.int16(0), message.int64(3)
	if m.bodyBytes < 0 || m.bodyBytes > maxBodyBytes {
		return m, fmt.Errorf("a message claims a body of %d bytes", m.bodyBytes)
	}
	if _, err := message.list(4, &budget); err != nil {
		return m, err
	}
	m.kind = message.byte(1)
	if at, ok := message.slot(2); ok {
		m.header = message.follow(at)
	}
	if m.kind != schemaMessage || m.header.data == nil {
		return m, nil
	}
	if _, err := m.header.list(2, &budget); err != nil {
		return m, err
	}
	return m, m.header.checkFields(1, &budget)
}

// flatTable is a FlatBuffers table at a position of a buffer.
type flatTable struct {
	data []byte
	at   int
}

// slot finds the position of a field, if the table has it.
func (t flatTable) slot(number int) (at int, ok bool) {
	layout := t.at - int(int32(binary.LittleEndian.Uint32(t.data[t.at:])))
	entry := 4 + 2*number
	if entry >= int(binary.LittleEndian.Uint16(t.data[layout:])) {
		return 0, false
	}
	offset := int(binary.LittleEndian.Uint16(t.data[layout+entry:]))
	return t.at + offset, offset != 0
}

// byte, int16 and int64 return fields of the table, 0 if they are absent.
func (t flatTable) byte(number int) byte {
	if at, ok := t.slot(number); ok {
		return t.data[at]
	}
	return 0
}

func (t flatTable) int16(number int) int16 {
	if at, ok := t.slot(number); ok {
		return int16(binary.LittleEndian.Uint16(t.data[at:]))
	}
	return 0
}

func (t flatTable) int64(number int) int64 {
	if at, ok := t.slot(number); ok {
		return int64(binary.LittleEndian.Uint64(t.data[at:]))
	}
	return 0
}

// flatVector is a list whose entries consist of 64-bit integers.
type flatVector struct {
	data   []byte
	length int
	words  int // integers per entry
	next   int // index of the next entry
}

func (t flatTable) vector(number, words int) flatVector {
	at, ok := t.slot(number)
	if !ok {
		return flatVector{}
	}
	list := t.follow(at).at
	length := int(binary.LittleEndian.Uint32(t.data[list:]))
	return flatVector{t.data[list+4:][:8*words*length], length, words, 0}
}

// take returns the next entry. It panics past the end.
func (v *flatVector) take() (first, second int64) {
	entry := v.data[8*v.words*v.next:][:8*v.words]
	v.next++
	first = int64(binary.LittleEndian.Uint64(entry))
	if v.words > 1 {
		second = int64(binary.LittleEndian.Uint64(entry[8:]))
	}
	return first, second
}

// follow returns the table that the offset at the position points to.
func (t flatTable) follow(at int) flatTable {
	return flatTable{t.data, at + int(binary.LittleEndian.Uint32(t.data[at:]))}
}

// list returns the tables of a list field and charges them to the budget. Offsets may share tables, so a short message
// can expand without bound.
func (t flatTable) list(number int, budget *int) ([]flatTable, error) {
	at, ok := t.slot(number)
	if !ok {
		return nil, nil
	}
	list := t.follow(at)
	length := int(binary.LittleEndian.Uint32(t.data[list.at:]))
	if *budget -= length; *budget < 0 || length > len(t.data)/4 {
		return nil, fmt.Errorf("a message claims a list of %d entries", length)
	}
	tables := make([]flatTable, length)
	for i := range tables {
		tables[i] = t.follow(list.at + 4 + 4*i)
	}
	return tables, nil
}

// checkFields checks the fields listed in a slot, their metadata and their children.
func (t flatTable) checkFields(number int, budget *int) error {
	fields, err := t.list(number, budget)
	if err != nil {
		return err
	}
	for _, field := range fields {
		if _, err := field.list(6, budget); err != nil {
			return err
		}
		if err := field.checkFields(5, budget); err != nil {
			return err
		}
	}
	return nil
}
