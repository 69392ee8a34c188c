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
	"sync"
	"time"
)

// unpackingBytes is the memory of a decompressor of gzip or deflate: its window and its tables.
const unpackingBytes = 64 << 10

// unpacking returns a reader that decompresses gzip or deflate.
func unpacking(encoding string, packed io.Reader) (io.Reader, error) {
	if encoding == gzipped {
		return gzip.NewReader(packed)
	}
	// By definition, deflate is the format of zlib; some clients send it without the header of zlib.
	head := make([]byte, 2)
	if _, err := io.ReadFull(packed, head); err != nil {
		return nil, err
	}
	whole := io.MultiReader(bytes.NewReader(head), packed)
	if head[0]&15 == 8 && (int(head[0])<<8|int(head[1]))%31 == 0 {
		return zlib.NewReader(whole)
	}
	return flate.NewReader(whole), nil
}

// unpacked returns the body of a request, bounded before and after decompression, and its stated length; −1 if none is
// stated.
func (x *exchange) unpacked() (io.Reader, int64, error) {
	limit := x.s.config.MaxBody
	body := io.Reader(http.MaxBytesReader(x.w, x.r.Body, limit))
	switch encoding := strings.ToLower(x.r.Header.Get("Content-Encoding")); encoding {
	case "", "identity":
		return body, min(x.r.ContentLength, limit), nil
	case gzipped, deflated:
		if err := x.budget.Reserve(unpackingBytes); err != nil {
			return nil, 0, err
		}
		r, err := unpacking(encoding, body)
		if err != nil {
			return nil, 0, bodyError(err, "the body is not what "+encoding+" packs", "send it as Content-Encoding says, or without that header")
		}
		return &boundedReader{r, limit, limit}, -1, nil
	}
	return nil, 0, &requestError{"the body's Content-Encoding is not known", "send it as gzip or deflate, or without that header"}
}

// bodyError returns the error of a damaged body, unless err already is one for the caller: a limit, or a description of
// what is wrong.
func bodyError(err error, message, remedy string) error {
	var (
		long   *http.MaxBytesError
		large  *tooLargeError
		misuse *requestError
	)
	if errors.As(err, &long) || errors.As(err, &large) || errors.As(err, &misuse) || errors.Is(err, errMemory) {
		return err
	}
	return &requestError{message, remedy}
}

// boundedReader fails after so many bytes, since small bodies may decompress to huge ones.
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

// body reads the whole body of a request and holds it until the exchange ends. While the body arrives, the server may end
// the request to make room for requests that hold less.
func (x *exchange) body() ([]byte, error) {
	var reading sync.Mutex // guards over: a body that was read must not be ended
	over := false
	x.budget.arrive(func() {
		reading.Lock()
		defer reading.Unlock()
		if !over {
			_ = http.NewResponseController(x.w).SetReadDeadline(time.Now()) // a connection without deadlines ends by itself
		}
	})
	body, err := x.readBody()
	reading.Lock()
	over = true
	reading.Unlock()
	if full := x.budget.arrived(); full != nil {
		x.budget.Close() // releases what was read, since others wait for it
		x.w.Header().Set("Connection", "close")
		return nil, full
	}
	switch {
	case err == nil:
		return body, nil
	case errors.Is(err, os.ErrDeadlineExceeded): // the read timeout, which also ends the context as if the caller had gone
		return nil, context.DeadlineExceeded
	case x.r.Context().Err() != nil:
		return nil, x.r.Context().Err()
	}
	return nil, bodyError(err, "the body ends before it is whole, or is damaged", "send it again")
}

func (x *exchange) readBody() ([]byte, error) {
	r, length, err := x.unpacked()
	if err != nil {
		return nil, err
	}
	b := buffer{budget: x.budget}
	err = b.readAll(r, length)
	return b.bytes, err
}
