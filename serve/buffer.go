package serve

import (
	"errors"
	"io"
)

// buffer is bytes that are gathered within a budget: their memory is taken before it is used.
type buffer struct {
	budget *budget
	bytes  []byte
}

// minBuffer is the least that a buffer grows by.
const minBuffer = 512

// grow makes room for n more bytes. A buffer that outgrows its memory has twice as much, but not more than most unless n
// needs it; while it is copied, both are held.
func (b *buffer) grow(n, most int) error {
	if n <= cap(b.bytes)-len(b.bytes) {
		return nil
	}
	size := max(min(2*cap(b.bytes), most), len(b.bytes)+max(n, minBuffer))
	if err := b.budget.Reserve(int64(size)); err != nil {
		return err
	}
	before := b.bytes
	b.bytes = append(make([]byte, 0, size), before...)
	return b.budget.Reserve(-int64(cap(before)))
}

// Write appends bytes.
func (b *buffer) Write(p []byte) (int, error) {
	if err := b.grow(len(p), maxInt); err != nil {
		return 0, err
	}
	b.bytes = append(b.bytes, p...)
	return len(p), nil
}

const maxInt = int(^uint(0) >> 1)

// readAll appends all that a reader has. length is what it is said to have, negative if nothing is said. The claim is not
// believed: memory grows with what has come, and stops at the claim.
func (b *buffer) readAll(r io.Reader, length int64) error {
	const most = 1 << 20 // that is taken on a claim alone
	end := maxInt
	if length >= 0 {
		end = int(min(length, int64(maxInt-minBuffer))) + minBuffer
		if err := b.grow(min(end, most), end); err != nil {
			return err
		}
	}
	for {
		if err := b.grow(1, end); err != nil {
			return err
		}
		n, err := r.Read(b.bytes[len(b.bytes):cap(b.bytes)])
		b.bytes = b.bytes[:len(b.bytes)+n]
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// free gives the bytes back.
func (b *buffer) free() {
	_ = b.budget.Reserve(-int64(cap(b.bytes))) // which never fails
	b.bytes = nil
}
