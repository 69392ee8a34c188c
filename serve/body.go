package serve

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"sync/atomic"

	"github.com/psi-shapley/psi/serve/internal/watch"
)

// errMemory refuses a request for which there is no memory left.
var errMemory = errors.New("the server holds too many large requests: try again in a moment")

// memory is what the bodies of requests may take together.
type memory struct {
	limit   int64
	held    atomic.Int64
	metrics *watch.Metrics
}

// hold takes bytes, if there are as many.
func (m *memory) hold(n int64) error {
	if m.add(n); m.full() {
		m.add(-n)
		return errMemory
	}
	return nil
}

// add takes bytes that are held already, or gives them back.
func (m *memory) add(n int64) {
	m.held.Add(n)
	m.metrics.HeldBytes(int(n))
}

func (m *memory) full() bool { return m.held.Load() > m.limit }

// holdingReader takes memory for what is read through it, as it is read.
type holdingReader struct {
	io.Reader
	memory *memory
	held   int64
}

func (h *holdingReader) Read(p []byte) (int, error) {
	n, err := h.Reader.Read(p)
	if n > 0 {
		if err := h.memory.hold(int64(n)); err != nil {
			return 0, err
		}
		h.held += int64(n)
	}
	return n, err
}

// unpacked is the body of a request, bounded before and after it is unpacked.
func (x *exchange) unpacked() (io.Reader, error) {
	limit := x.s.config.MaxBody
	body := io.Reader(http.MaxBytesReader(x.w, x.r.Body, limit))
	switch encoding := strings.ToLower(x.r.Header.Get("Content-Encoding")); encoding {
	case "", "identity":
		return body, nil
	case "gzip":
		unzipped, err := gzip.NewReader(body)
		if err != nil {
			return nil, badly(err, "the body is not what gzip packs", "send it as Content-Encoding says, or without that header")
		}
		return &boundedReader{unzipped, limit, limit}, nil
	case "deflate":
		// By its definition this is zlib's format; some clients send the bare one.
		head := make([]byte, 2)
		n, err := io.ReadFull(body, head)
		if err != nil {
			return nil, badly(err, "the body is not what deflate packs", "send it as Content-Encoding says, or without that header")
		}
		whole := io.MultiReader(bytes.NewReader(head[:n]), body)
		if head[0]&15 == 8 && (int(head[0])<<8|int(head[1]))%31 == 0 {
			inflated, err := zlib.NewReader(whole)
			if err != nil {
				return nil, badly(err, "the body is not what deflate packs", "send it as Content-Encoding says, or without that header")
			}
			return &boundedReader{inflated, limit, limit}, nil
		}
		return &boundedReader{flate.NewReader(whole), limit, limit}, nil
	}
	return nil, &wrong{"the body's Content-Encoding is not known", "send it as gzip or deflate, or without that header"}
}

// badly is what a damaged body gets, unless it is a body that was cut off or too large.
func badly(err error, message, remedy string) error {
	var large *http.MaxBytesError
	if errors.As(err, &large) || errors.Is(err, errMemory) {
		return err
	}
	return &wrong{message, remedy}
}

// boundedReader ends with an error after so many bytes: small bodies may unpack to huge ones.
type boundedReader struct {
	io.Reader
	left, limit int64
}

func (b *boundedReader) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, &http.MaxBytesError{Limit: b.limit}
	}
	return n, err
}

// body reads all of a request's body. Its memory is held until the exchange ends.
func (x *exchange) body() ([]byte, error) {
	r, err := x.unpacked()
	if err != nil {
		return nil, err
	}
	x.held.Reader, x.held.memory = r, &x.s.memory
	var b bytes.Buffer
	if n := x.r.ContentLength; n > 0 && n <= 1<<20 {
		b.Grow(int(n) + bytes.MinRead) // not more: a length is only a claim
	}
	if _, err := b.ReadFrom(&x.held); err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) { // the connection's time is up, which also ends the context as if the caller had gone
			return nil, context.DeadlineExceeded
		}
		if x.r.Context().Err() != nil {
			return nil, x.r.Context().Err()
		}
		return nil, badly(err, "the body ends before it is whole, or is damaged", "send it again")
	}
	return b.Bytes(), nil
}
