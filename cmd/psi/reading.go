package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/psi-shapley/psi/internal/prose"
)

// reading shows on a terminal how far tables are read: the rows so far, and the share of the bytes. A nil reading shows
// nothing.
type reading struct {
	program *program
	now     func() time.Time
	name    string
	size    int64 // of all files; 0 if unknown

	mu           sync.Mutex
	bytes        int64
	rows         int
	start, drawn time.Time
}

// readingPatience is the initial time without output: most tables are read by then.
const readingPatience = 500 * time.Millisecond

// newReading returns nil if stderr is not a terminal.
func newReading(p *program, name string, size int64, now func() time.Time) *reading {
	if !p.screen.stderr {
		return nil
	}
	return &reading{program: p, now: now, name: name, size: size, start: now()}
}

// count returns a reader whose bytes are counted. Only formats that are read sequentially have a share.
func (r *reading) count(from io.Reader) io.Reader {
	if r == nil {
		return from
	}
	return &countedReader{from, r}
}

// countedReader reports its bytes to a reading.
type countedReader struct {
	io.Reader
	reading *reading
}

func (c *countedReader) Read(to []byte) (int, error) {
	n, err := c.Reader.Read(to)
	c.reading.add(int64(n), 0)
	return n, err
}

// add counts what was read.
func (r *reading) add(bytes int64, rows int) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bytes += bytes
	r.rows += rows
	now := r.now()
	if now.Sub(r.start) < readingPatience || now.Sub(r.drawn) < terminalPause {
		return
	}
	r.drawn = now
	r.program.draw(r.line())
}

// line describes the state.
func (r *reading) line() string {
	text := "reading " + prose.Printable(r.name)
	if r.rows > 0 {
		text += ", " + prose.Count(r.rows, "row")
	}
	if r.size > 0 && r.bytes > 0 {
		share := min(1, float64(r.bytes)/float64(r.size))
		text = progressBar(share) + " " + text + fmt.Sprintf(", %.0f %%", 100*share)
	}
	return text
}

// end clears the line.
func (r *reading) end() {
	if r != nil {
		r.program.wipe()
	}
}
