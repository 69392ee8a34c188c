package table

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
)

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
