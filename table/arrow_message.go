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

// What one Arrow message may claim. Other programs write a whole table as one
// batch, so the bound on bodies is generous.
const (
	mostMetadataBytes = 16 << 20
	mostBodyBytes     = 2 << 30
	mostListed        = 1 << 20 // fields and key-value pairs in one message
)

// boundedAllocator refuses what only a damaged file would ask for. Running out of
// memory cannot be caught; this panic is, by guard.
type boundedAllocator struct{ memory.GoAllocator }

func (a *boundedAllocator) Allocate(size int) []byte {
	if size > mostBodyBytes {
		panic(fmt.Sprintf("%d bytes are claimed at once", size))
	}
	return a.GoAllocator.Allocate(size)
}

func (a *boundedAllocator) Reallocate(size int, old []byte) []byte {
	if size > mostBodyBytes {
		panic(fmt.Sprintf("%d bytes are claimed at once", size))
	}
	return a.GoAllocator.Reallocate(size, old)
}

// messageReader cuts a stream into Arrow messages and checks them before the
// library decodes them. The library's own reader allocates what lengths in a
// message claim, so a damaged one of a hundred bytes can end the process.
type messageReader struct {
	in   io.Reader
	file bool // a file marks its last message; a stream may just end
}

// Message reads the next message: a marker, the metadata's length, metadata, body.
func (r messageReader) Message() (*ipc.Message, error) {
	length, err := r.uint32()
	if r.file {
		err = noEOF(err)
	}
	if err != nil {
		return nil, err
	}
	if length == 0xffffffff { // the marker, which old writers left out
		if length, err = r.uint32(); err != nil {
			return nil, noEOF(err)
		}
	}
	if length == 0 {
		return nil, io.EOF
	}
	if length > mostMetadataBytes {
		return nil, fmt.Errorf("a message claims %d bytes of metadata", length)
	}
	metadata, err := r.bytes(int64(length))
	if err != nil {
		return nil, err
	}
	bodyLength, err := checkMessage(metadata)
	if err != nil {
		return nil, err
	}
	body, err := r.bytes(bodyLength)
	if err != nil {
		return nil, err
	}
	return ipc.NewMessage(memory.NewBufferBytes(metadata), memory.NewBufferBytes(body)), nil
}

// Retain and Release have nothing to count: the collector frees messages.
func (messageReader) Retain()  {}
func (messageReader) Release() {}

func (r messageReader) uint32() (uint32, error) {
	var word [4]byte
	_, err := io.ReadFull(r.in, word[:])
	return binary.LittleEndian.Uint32(word[:]), err
}

// bytes reads n bytes, growing with what is there and not with what is claimed.
func (r messageReader) bytes(n int64) ([]byte, error) {
	const mostAtOnce = 64 << 20
	var data []byte
	for have := int64(0); have < n; have = int64(len(data)) {
		step := min(n-have, mostAtOnce)
		data = slices.Grow(data, int(step))[:have+step]
		if _, err := io.ReadFull(r.in, data[have:]); err != nil {
			return nil, noEOF(err)
		}
	}
	return data, nil
}

// noEOF makes an end of input inside a message an error.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// checkMessage checks the lengths the library allocates by, and returns the body's.
// Slots are those of Message.fbs and Schema.fbs in the Arrow format. Positions
// outside the metadata panic here as they would in the library.
func checkMessage(metadata []byte) (bodyLength int64, err error) {
	const isSchema = 1
	message := flatTable{metadata, int(binary.LittleEndian.Uint32(metadata))}
	budget := mostListed
	if at, ok := message.slot(3); ok {
		bodyLength = int64(binary.LittleEndian.Uint64(metadata[at:]))
	}
	if bodyLength < 0 || bodyLength > mostBodyBytes {
		return 0, fmt.Errorf("a message claims a body of %d bytes", bodyLength)
	}
	if _, err := message.list(4, &budget); err != nil {
		return 0, err
	}
	if at, ok := message.slot(1); ok && metadata[at] == isSchema {
		if at, ok := message.slot(2); ok {
			schema := message.follow(at)
			if _, err := schema.list(2, &budget); err != nil {
				return 0, err
			}
			return bodyLength, schema.checkFields(1, &budget)
		}
	}
	return bodyLength, nil
}

// flatTable is a FlatBuffers table at a position of a buffer.
type flatTable struct {
	data []byte
	at   int
}

// slot finds where the table keeps the field of that number, if it has it.
func (t flatTable) slot(number int) (at int, ok bool) {
	layout := t.at - int(int32(binary.LittleEndian.Uint32(t.data[t.at:])))
	entry := 4 + 2*number
	if entry >= int(binary.LittleEndian.Uint16(t.data[layout:])) {
		return 0, false
	}
	offset := int(binary.LittleEndian.Uint16(t.data[layout+entry:]))
	return t.at + offset, offset != 0
}

// follow is the table that the offset at the position points to.
func (t flatTable) follow(at int) flatTable {
	return flatTable{t.data, at + int(binary.LittleEndian.Uint32(t.data[at:]))}
}

// list is the tables of a list field, taken from the budget: offsets may share
// tables, so a short message can unfold into an endless one.
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
