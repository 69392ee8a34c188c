package serve

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"io"
	"strconv"
	"strings"

	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/gzip" // for calls, beside deflate
)

// Content encodings of answers.
const (
	gzipped  = "gzip"
	deflated = "deflate"
)

// packingFor is the encoding that Accept-Encoding asks for and the server has; "" if there is none.
func packingFor(accept string) string {
	best, weight := "", 0.0
	for choice := range strings.SplitSeq(strings.ToLower(accept), ",") {
		name, parameters, _ := strings.Cut(choice, ";")
		name = strings.TrimSpace(name)
		if name == "*" {
			name = gzipped
		}
		q := 1.0
		if text, has := strings.CutPrefix(strings.ReplaceAll(parameters, " ", ""), "q="); has {
			q, _ = strconv.ParseFloat(text, 64) // what is no number is no wish
		}
		if (name == gzipped || name == deflated) && (q > weight || q == weight && q > 0 && name == gzipped) {
			best, weight = name, q
		}
	}
	return best
}

// packingBytes is what a compressor of gzip or deflate holds at its fastest level: its window and its tables.
const packingBytes = 1 << 20

// packed is a body in one of them. The fastest level: answers are read once, by somebody who waits.
func packed(how string, body []byte) []byte {
	var into bytes.Buffer
	var w io.WriteCloser
	if how == gzipped {
		w, _ = gzip.NewWriterLevel(&into, gzip.BestSpeed) // the level is one
	} else {
		w, _ = zlib.NewWriterLevel(&into, zlib.BestSpeed)
	}
	_, _ = w.Write(body) // into memory: it cannot fail
	_ = w.Close()
	return into.Bytes()
}

// deflateCalls packs messages of gRPC. Its deflate is zlib's format, as that of HTTP is.
type deflateCalls struct{}

func init() { encoding.RegisterCompressor(deflateCalls{}) } // gRPC keeps its encodings so

func (deflateCalls) Name() string { return deflated }

func (deflateCalls) Compress(w io.Writer) (io.WriteCloser, error) {
	return zlib.NewWriterLevel(w, zlib.BestSpeed)
}

func (deflateCalls) Decompress(r io.Reader) (io.Reader, error) { return zlib.NewReader(r) }
