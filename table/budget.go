package table

import (
	"errors"
	"fmt"
	"math"
)

// Memory limits of a reader without Options.Reserve.
const (
	// maxHeldBytes limits decompressed and decoded data: pages, dictionaries, labels and the current chunk.
	maxHeldBytes = 512 << 20

	// storedCredit is how many decompressed bytes each stored byte may produce before any are counted. Real tables
	// compress less than this, so a wide table is never refused, while a small file cannot claim much memory.
	storedCredit = 8
)

// budget counts the bytes that a reader holds for decompressed and decoded data. A nil budget counts nothing. It is not
// safe for concurrent use.
type budget struct {
	reserve func(bytes int64) error // Options.Reserve
	limit   int64                   // used if reserve is nil
	sample  int                     // bytes of a CSV sample that covers all rows
	held    int64
	refused error // the first refusal, which libraries may hide
}

func newBudget(o Options) *budget {
	return &budget{reserve: o.Reserve, limit: maxHeldBytes, sample: maxSampleBytes}
}

// take counts bytes decompressed from the given number of stored bytes, and returns the amount to pass to give.
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
		_ = b.reserve(-counted) // returns memory, so it cannot be refused
	}
}

// close returns all memory.
func (b *budget) close() { b.give(b.held) }

// why returns the refusal that caused an error, if there was one, at the error's location.
func (b *budget) why(err error) error {
	if err == nil || b.refused == nil {
		return err
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return at(b.refused, e.Row, e.Column)
	}
	return b.refused
}

// account is the part of a budget that is released together.
type account struct {
	budget  *budget
	counted int64
}

// take counts bytes that have no stored counterpart.
func (a *account) take(bytes int64) error { return a.takeUnpacked(bytes, 0) }

// takeUnpacked counts bytes decompressed from the given number of stored bytes.
func (a *account) takeUnpacked(bytes, stored int64) error {
	counted, err := a.budget.take(bytes, stored)
	a.counted += counted
	return err
}

// release returns all memory of the account.
func (a *account) release() {
	a.budget.give(a.counted)
	a.counted = 0
}
