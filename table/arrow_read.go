package table

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/endian"
	"github.com/apache/arrow-go/v18/arrow/ipc"
)

// maxUnbackedRows limits the rows of batches whose wanted columns have no bytes: a batch of nulls can claim any number
// of rows.
const maxUnbackedRows = 1 << 20

// arrowReader reads record batches of Arrow IPC. A batch stays compressed: only wanted columns are decompressed, as
// their rows are read.
type arrowReader struct {
	messages     *messageReader
	fields       []arrow.Field
	wanted       []*arrowCells // by field; nil if not wanted
	dictionaries map[int64]*arrowDictionary
	unpacker     unpacker
	budget       *budget
	batch        account // memory of the current batch
	rows, taken  int     // rows of the current batch, and how many were read
	unbacked     int64   // such rows so far
}

// openArrow opens Arrow IPC data. The file format is the stream format between a magic word and a footer. Both are read
// as streams, so no random access is needed.
func openArrow(r io.Reader, resource io.Closer, options Options, b *budget) (source *typedSource, err error) {
	in := bufio.NewReader(r)
	start, _ := in.Peek(len(ipc.Magic))
	file := bytes.Equal(start, ipc.Magic)
	if file {
		const padded = 8 // the magic word's length in a file
		if _, err := in.Discard(padded); err != nil {
			return nil, damaged(err)
		}
	}
	err = guard(func() error {
		reader := &arrowReader{
			messages: &messageReader{in: in, file: file, held: account{budget: b}}, dictionaries: map[int64]*arrowDictionary{}, budget: b, batch: account{budget: b},
		}
		source, err = reader.schema(resource, options)
		return err
	})
	return source, err
}

// schema reads the first message, which the library decodes.
func (r *arrowReader) schema(resource io.Closer, options Options) (*typedSource, error) {
	first, err := ipc.NewReaderFromMessageReader(r.messages, ipc.WithEnsureNativeEndian(false))
	if err != nil {
		return nil, damaged(err)
	}
	if first.Schema().Endianness() != endian.LittleEndian {
		return nil, &Error{Row: noRow, Message: "the file has its numbers in big-endian order", Remedy: "write it in little-endian order"}
	}
	r.fields = first.Schema().Fields()
	source, err := newTypedSource(r.fields, resource, options, r.budget)
	if err != nil {
		return nil, err
	}
	message, err := checkMessage(r.messages.last)
	if err != nil {
		return nil, damaged(err)
	}
	limit := maxListed
	declared, err := message.header.list(1, &limit)
	if err != nil {
		return nil, damaged(err)
	}
	r.wanted = make([]*arrowCells, len(r.fields))
	for _, column := range source.columns {
		cells := &arrowCells{of: storageOf(r.fields[column.index].Type), held: &r.batch, coded: account{budget: r.budget}}
		if of, is := cells.of.(*arrow.DictionaryType); is {
			cells.dictionary = r.dictionaryOf(declared[column.index], storageOf(of.ValueType))
		}
		r.wanted[column.index], column.cells = cells, cells
	}
	source.reader = r
	return source, nil
}

// storageOf returns the storage type of an extension type; other types are returned unchanged.
func storageOf(of arrow.DataType) arrow.DataType {
	if extension, is := of.(arrow.ExtensionType); is {
		return storageOf(extension.StorageType())
	}
	return of
}

// dictionaryOf returns the dictionary of a field of the schema; fields may share one.
func (r *arrowReader) dictionaryOf(field flatTable, values arrow.DataType) *arrowDictionary {
	const dictionary = 4 // slot
	id := int64(0)
	if at, ok := field.slot(dictionary); ok {
		id = field.follow(at).int64(0)
	}
	if r.dictionaries[id] == nil {
		r.dictionaries[id] = &arrowDictionary{of: values, held: account{budget: r.budget}}
	}
	return r.dictionaries[id]
}

// ready reads messages up to the next batch that has rows.
func (r *arrowReader) ready(ctx context.Context) (int, error) {
	for r.taken == r.rows {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		r.close()
		message, err := r.messages.next()
		if errors.Is(err, io.EOF) {
			return 0, io.EOF
		}
		if err == nil {
			switch message.kind {
			case dictionaryMessage:
				err = r.readDictionary(message)
			case batchMessage:
				err = r.readBatch(message)
			default:
				err = fmt.Errorf("a message of kind %d is no batch of rows", message.kind)
			}
		}
		if err != nil {
			if _, is := errors.AsType[*Error](err); is {
				return 0, err
			}
			return 0, damaged(err)
		}
	}
	return r.rows - r.taken, nil
}

func (r *arrowReader) advance(rows int) { r.taken += rows }

// close releases the batch.
func (r *arrowReader) close() {
	for _, cells := range r.wanted {
		if cells != nil {
			cells.close()
		}
	}
	r.batch.release()
}

// readBatch finds the buffers of the wanted columns.
func (r *arrowReader) readBatch(message arrowMessage) error {
	body, err := r.messages.bytes(message.bodyBytes, &r.batch)
	if err != nil {
		return err
	}
	batch, err := newIPCBatch(message.header, message.version, body)
	if err != nil {
		return err
	}
	backed := false
	for i, field := range r.fields {
		cells := r.wanted[i]
		if cells == nil {
			batch.skip(field.Type)
			continue
		}
		if err := cells.open(batch, &r.unpacker); err != nil {
			return fmt.Errorf("column %q: %w", shorten(field.Name), err)
		}
		backed = backed || cells.of.ID() != arrow.NULL
	}
	if !backed {
		if r.unbacked += batch.rows; r.unbacked > maxUnbackedRows || r.unbacked < 0 {
			return fmt.Errorf("%d rows are claimed, for which the file holds nothing", batch.rows)
		}
	}
	r.rows, r.taken = int(batch.rows), 0
	return nil
}

// arrowDictionary holds the entries that cells refer to by index.
type arrowDictionary struct {
	of      arrow.DataType
	entries Column // validity, and numbers unless the entries are labels
	text    []byte // of all labels, concatenated
	ends    []int  // end of each label in text
	held    account
	version int // incremented by each change
}

func (d *arrowDictionary) label(place int) []byte {
	start := 0
	if place > 0 {
		start = d.ends[place-1]
	}
	return d.text[start:d.ends[place]]
}

// readDictionary replaces a dictionary or appends to it.
func (r *arrowReader) readDictionary(message arrowMessage) error {
	const data, delta = 1, 2 // slots of DictionaryBatch
	at, ok := message.header.slot(data)
	dictionary := r.dictionaries[message.header.int64(0)]
	if dictionary == nil || !ok {
		return r.messages.skip(message.bodyBytes) // no wanted column uses it
	}
	body, err := r.messages.bytes(message.bodyBytes, &r.batch)
	if err != nil {
		return err
	}
	batch, err := newIPCBatch(message.header.follow(at), message.version, body)
	if err != nil {
		return err
	}
	if message.header.byte(delta) == 0 {
		dictionary.held.release()
		*dictionary = arrowDictionary{of: dictionary.of, held: dictionary.held, version: dictionary.version}
	}
	dictionary.version++
	cells := &arrowCells{of: dictionary.of, held: &r.batch}
	defer cells.close()
	if err := cells.open(batch, &r.unpacker); err != nil {
		return fmt.Errorf("a dictionary: %w", err)
	}
	const part = 8192
	for first := int64(0); first < batch.rows; first += part {
		if err := dictionary.add(cells, int(min(part, batch.rows-first))); err != nil {
			return err
		}
	}
	return nil
}

// add reads n entries.
func (d *arrowDictionary) add(cells *arrowCells, n int) error {
	const spare = 2 // slices may grow to twice the needed size
	kind, _ := storedKind(d.of)
	if err := d.held.take(spare * numberBytes * int64(n)); err != nil {
		return err
	}
	part := &Column{Kind: kind, Observed: make([]bool, n)}
	if kind != Category {
		part.Numbers = make([]float64, n)
	}
	next := 0
	fill := func(to int) {
		for ; next < to; next++ {
			d.ends = append(d.ends, len(d.text))
		}
	}
	err := cells.read(part, func(row int, text []byte) error {
		fill(row) // missing entries
		if err := d.held.take(spare * int64(len(text))); err != nil {
			return err
		}
		d.text = append(d.text, text...)
		fill(row + 1)
		return nil
	})
	if kind == Category {
		fill(n)
	}
	d.entries.Observed = append(d.entries.Observed, part.Observed...)
	d.entries.Numbers = append(d.entries.Numbers, part.Numbers...)
	return err
}
