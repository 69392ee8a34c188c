package serve

import (
	"errors"
	"io"
)

// buffer collects bytes within a budget, which reserves memory before it is used.
type buffer struct {
	budget *budget
	bytes  []byte
}

// minBuffer is the minimum growth of a buffer.
const minBuffer = 512

// grow makes room for n more bytes. A full buffer doubles, up to most bytes unless n needs more. While it is copied, both
// copies are reserved.
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

// readAll appends everything from a reader. length is the stated length, negative if none is stated. It is not trusted:
// memory grows with the bytes that arrive, up to the stated length.
func (b *buffer) readAll(r io.Reader, length int64) error {
	const most = 1 << 20 // reserved on a stated length alone
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

// free releases the bytes.
func (b *buffer) free() {
	_ = b.budget.Reserve(-int64(cap(b.bytes))) // which never fails
	b.bytes = nil
}
