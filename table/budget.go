package table

import (
	"errors"
	"fmt"
	"math"
)

// What a reader may hold at a time if the caller does not limit it by Options.Reserve.
const (
	// maxHeldBytes bounds what is unpacked and decoded: pages, dictionaries, labels and
	// the chunk that was handed out.
	maxHeldBytes = 512 << 20

	// storedCredit is how many unpacked bytes each stored byte stands for before any are
	// counted. Real tables shrink less than this, so a wide one is never refused, while
	// a small file cannot claim much memory.
	storedCredit = 8
)

// budget counts the bytes that a reader holds for what it unpacks and decodes. A nil
// budget counts nothing. It is not safe for concurrent use.
type budget struct {
	reserve func(bytes int64) error // Options.Reserve
	limit   int64                   // if reserve is nil
	sample  int                     // bytes of a sample of all rows of CSV
	held    int64
	refused error // the first refusal, whatever a library makes of it later
}

func newBudget(o Options) *budget {
	return &budget{reserve: o.Reserve, limit: maxHeldBytes, sample: maxSampleBytes}
}

// take counts bytes that are unpacked from a number of stored ones, and returns what give
// takes back.
func (b *budget) take(bytes, stored int64) (counted int64, err error) {
	if b == nil || bytes <= 0 {
		return 0, nil
	}
	if b.reserve != nil {
		if err := b.reserve(bytes); err != nil {
			return 0, b.refuse(&Error{Row: noRow, Message: "there is no memory left to read the table: " + err.Error(), Err: err})
		}
		b.held += bytes
		return bytes, nil
	}
	if stored < math.MaxInt64/storedCredit {
		bytes = max(0, bytes-storedCredit*stored)
	}
	if bytes > b.limit-b.held {
		return 0, b.refuse(&Error{
			Row: noRow, Message: fmt.Sprintf("reading the table takes more than %d MiB of memory at a time", b.limit>>20),
			Remedy: "write it with smaller batches, row groups or pages, or drop columns of very long or very many labels",
		})
	}
	b.held += bytes
	return bytes, nil
}

func (b *budget) refuse(err error) error {
	if b.refused == nil {
		b.refused = err
	}
	return err
}

func (b *budget) give(counted int64) {
	if b == nil || counted == 0 {
		return
	}
	b.held -= counted
	if b.reserve != nil {
		_ = b.reserve(-counted) // nothing is asked for
	}
}

// close gives back all that is held.
func (b *budget) close() { b.give(b.held) }

// why is the refusal behind an error, if there was one, at the place that the error names.
func (b *budget) why(err error) error {
	if err == nil || b.refused == nil {
		return err
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return at(b.refused, e.Row, e.Column)
	}
	return b.refused
}

// account is the part of a budget that is given back together.
type account struct {
	budget  *budget
	counted int64
}

// take counts bytes that nothing stored stands for.
func (a *account) take(bytes int64) error { return a.takeUnpacked(bytes, 0) }

// takeUnpacked counts bytes that are unpacked from a number of stored ones.
func (a *account) takeUnpacked(bytes, stored int64) error {
	counted, err := a.budget.take(bytes, stored)
	a.counted += counted
	return err
}

// release gives all of it back.
func (a *account) release() {
	a.budget.give(a.counted)
	a.counted = 0
}
