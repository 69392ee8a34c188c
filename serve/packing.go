package serve

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"io"
	"strconv"
	"strings"

	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/gzip" // for gRPC, beside deflate
)

// Content encodings of answers.
const (
	gzipped  = "gzip"
	deflated = "deflate"
)

// packingFor returns the best supported encoding of an Accept-Encoding header; "" if there is none.
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
			q, _ = strconv.ParseFloat(text, 64) // an invalid weight counts as 0
		}
		if (name == gzipped || name == deflated) && (q > weight || q == weight && q > 0 && name == gzipped) {
			best, weight = name, q
		}
	}
	return best
}

// packingBytes is the memory of a compressor of gzip or deflate at its fastest level: its window and its tables.
const packingBytes = 1 << 20

// packed compresses a body at the fastest level: answers are read once, by a caller who waits.
func packed(how string, body []byte) []byte {
	var into bytes.Buffer
	var w io.WriteCloser
	if how == gzipped {
		w, _ = gzip.NewWriterLevel(&into, gzip.BestSpeed) // the level is valid
	} else {
		w, _ = zlib.NewWriterLevel(&into, zlib.BestSpeed)
	}
	_, _ = w.Write(body) // into memory: it cannot fail
	_ = w.Close()
	return into.Bytes()
}

// deflateCalls compresses gRPC messages with deflate in the format of zlib, as in HTTP.
type deflateCalls struct{}

func init() { encoding.RegisterCompressor(deflateCalls{}) } // gRPC has no other way to add an encoding

func (deflateCalls) Name() string { return deflated }

func (deflateCalls) Compress(w io.Writer) (io.WriteCloser, error) {
	return zlib.NewWriterLevel(w, zlib.BestSpeed)
}

func (deflateCalls) Decompress(r io.Reader) (io.Reader, error) { return zlib.NewReader(r) }
