package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/psi-shapley/psi/internal/artifact"
	"github.com/psi-shapley/psi/plot"
	"github.com/psi-shapley/psi/report"
)

// content is the content of a file, as messages name it.
type content string

// Kinds of content that psi writes and recognises. CSV and TSV have no mark, so any text that is not evidently
// something else counts as such.
const (
	aModel      content = "a psi model"
	aCheckpoint content = "a psi checkpoint"
	aDraft      content = "a zip archive, not a complete psi file"
	aReport     content = "a psi report"
	anSVG       content = "an SVG picture by psi"
	aPNG        content = "a PNG picture by psi"
	aPDF        content = "a PDF picture by psi"
	anExport    content = "an ONNX graph by psi"
	aText       content = "CSV or other text"
	aJSON       content = "JSON"
	aParquet    content = "a Parquet table"
	anArrow     content = "an Arrow table"

	nothing content = "" // no file, an empty one, a device or a pipe: nothing can be lost
)

// contentOf returns the content of a file, judged by its first and last kilobytes.
func contentOf(path string) (content, error) {
	found, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) || err == nil && (found.Size() == 0 || !found.Mode().IsRegular()) {
		return nothing, nil
	}
	if err != nil {
		return nothing, err
	}
	file, err := os.Open(path)
	if err != nil {
		return nothing, err
	}
	defer file.Close()
	const looked = 64 << 10
	start, err := io.ReadAll(io.NewSectionReader(file, 0, looked))
	if err != nil {
		return nothing, err
	}
	end, err := io.ReadAll(io.NewSectionReader(file, max(0, found.Size()-looked), looked))
	if err != nil {
		return nothing, err
	}
	if bytes.HasPrefix(start, []byte("PK\x03\x04")) {
		return contentOfZip(artifact.KindOf(file, found.Size())), nil
	}
	return contentOfBytes(gunzipped(start), end), nil
}

// contentOfZip names a zip. A truncated one has no directory, so its kind is unknown.
func contentOfZip(kind artifact.Kind) content {
	switch kind {
	case artifact.Model:
		return aModel
	case artifact.Checkpoint:
		return aCheckpoint
	}
	return aDraft
}

// gunzipped decompresses the start of a gzip file, and returns any other file unchanged.
func gunzipped(start []byte) []byte {
	packed, err := gzip.NewReader(bytes.NewReader(start))
	if err != nil {
		return start
	}
	inside, _ := io.ReadAll(io.LimitReader(packed, int64(len(start)))) // the error is expected: start is only a part of the file
	return inside
}

func contentOfBytes(start, end []byte) content {
	picture := map[string]content{"svg": anSVG, "png": aPNG, "pdf": aPDF}[plot.Drawn(start, end)]
	text := strings.TrimLeft(strings.TrimPrefix(string(start), "\ufeff"), " \t\r\n")
	beginsWith := func(words ...string) bool {
		for _, w := range words {
			if len(text) >= len(w) && strings.EqualFold(text[:len(w)], w) {
				return true
			}
		}
		return false
	}
	switch {
	case picture != nothing:
		return picture
	case report.Written(start):
		return aReport
	case bytes.HasPrefix(start, []byte("\x08\x08\x12\x03psi")): // the format's version, then the producer's name
		return anExport
	case bytes.HasPrefix(start, []byte("PAR1")):
		return aParquet
	case bytes.HasPrefix(start, []byte("ARROW1")), bytes.HasPrefix(start, []byte("\xff\xff\xff\xff")): // a file, a stream
		return anArrow
	case bytes.ContainsFunc(start, unprintable):
		return "binary data"
	case beginsWith("<!doctype html", "<html"):
		return "an HTML page that psi did not write"
	case beginsWith("<?xml", "<svg", "%PDF"):
		return "a document that psi did not write"
	case isJSON(text):
		return aJSON
	}
	return aText
}

// unprintable reports control characters that do not occur in text of any encoding.
func unprintable(r rune) bool { return r < ' ' && !strings.ContainsRune("\t\n\v\f\r\x1b", r) }

// isJSON examines the first two characters, so that a CSV header such as [a],[b] is not JSON.
func isJSON(text string) bool {
	if text == "" {
		return false
	}
	next := strings.TrimLeft(text[1:], " \t\r\n")
	switch text[0] {
	case '{':
		return next == "" || next[0] == '"' || next[0] == '}'
	case '[':
		return next == "" || strings.ContainsRune(`{["-0123456789]`, rune(next[0]))
	}
	return false
}
