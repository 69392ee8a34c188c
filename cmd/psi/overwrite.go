package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/psi-shapley/psi/internal/artifact"
	"github.com/psi-shapley/psi/internal/store"
	"github.com/psi-shapley/psi/plot"
	"github.com/psi-shapley/psi/report"
)

// The rules for overwriting files are the same for all commands. Each passes its inputs and
// outputs to checkFiles before it reads or writes anything.
//
//   - An output is never an input, through links and patterns too, and no two outputs are the
//     same file. --force does not change that.
//   - A file is replaced only by content of its own kind: a model by a model, a report by a
//     report, a picture by a picture of its format, an ONNX graph by an ONNX graph, all known by
//     psi's mark; a table by a table of its format, JSON by JSON. --force replaces any file.
//   - Empty files may be replaced. Devices and pipes are written to.

// output is a file that a command writes.
type output struct {
	path    string    // or standardOutput
	content content   // what the command writes
	also    []content // other content that it may replace
}

// addForce adds the flag of all commands that write files.
func addForce(flags *pflag.FlagSet, to *bool) {
	flags.BoolVar(to, "force", false, "replace a file of another kind; psi never replaces its inputs")
}

// checkFiles rejects outputs that would destroy something, or that cannot be created. Inputs are arguments: paths,
// patterns, URLs, or standardInput; "" means none.
func (p *program) checkFiles(ctx context.Context, force bool, outputs []output, inputs ...string) error {
	if err := p.checkDistinct(ctx, outputs, inputs); err != nil {
		return err
	}
	for _, out := range outputs {
		if out.path == standardOutput {
			continue
		}
		if err := out.checkPlace(); err != nil {
			return err
		}
		if err := out.checkContent(force); err != nil {
			return err
		}
	}
	return nil
}

// checkDistinct rejects an output that is also an input, or another output.
func (p *program) checkDistinct(ctx context.Context, outputs []output, inputs []string) error {
	read := make([]input, 0, len(inputs))
	for _, argument := range inputs {
		read = append(read, p.inputFiles(ctx, argument)...)
	}
	var written []location
	for _, out := range outputs {
		at := p.locate(out.path)
		for _, in := range read {
			if at.is(location{file: in.file}) {
				return &plainError{outputName(out.path), "the output file is also an input" + in.as(out.path), "choose another name for the output"}
			}
		}
		if i := slices.IndexFunc(written, at.is); i >= 0 {
			return &plainError{outputName(out.path), "two outputs are the same file: it is also " + outputName(outputs[i].path), "give each output a different name"}
		}
		written = append(written, at)
	}
	return nil
}

// checkContent rejects replacing a file of another kind.
func (o output) checkContent(force bool) error {
	if force {
		return nil
	}
	const remedy = "choose another name, or add --force"
	found, err := contentOf(o.path)
	if err != nil {
		return &plainError{o.path, "the file exists and cannot be read: " + err.Error(), remedy}
	}
	if found == contentNone || found == o.content || slices.Contains(o.also, found) {
		return nil
	}
	return &plainError{o.path, fmt.Sprintf("the file exists and has another kind: it is %s, not %s", found, o.content), remedy}
}

// location identifies a file by more than its name. A file that does not exist yet is identified by its directory and
// its name there.
type location struct {
	file os.FileInfo // nil if it does not exist
	in   os.FileInfo // then its directory
	base string      // and its name
}

// is reports whether both are the same regular file. Devices do not count: a terminal is input and output at once.
func (l location) is(other location) bool {
	switch {
	case l.file != nil && other.file != nil:
		return l.file.Mode().IsRegular() && os.SameFile(l.file, other.file)
	case l.in != nil && other.in != nil:
		return l.base == other.base && os.SameFile(l.in, other.in)
	}
	return false
}

// locate follows links, including those whose target does not exist yet.
func (p *program) locate(path string) location {
	if path == standardOutput {
		return location{file: statOf(p.stdout)}
	}
	const maxLinks = 40 // as in Linux
	for range maxLinks {
		if found, err := os.Stat(path); err == nil {
			return location{file: found}
		}
		target, err := os.Readlink(path)
		if err != nil {
			break
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(path), target)
		}
		path = target
	}
	directory, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return location{} // checkPlace reports the error
	}
	return location{in: directory, base: filepath.Base(path)}
}

// input is a file that a command reads.
type input struct {
	name string
	file os.FileInfo
}

// as names the input, unless the output has the same name.
func (i input) as(output string) string {
	if i.name == output {
		return ""
	}
	return ": it is the same file as " + i.name
}

// inputFiles returns the existing files that an argument names. Reading them reports those that do not exist.
func (p *program) inputFiles(ctx context.Context, argument string) []input {
	var names []string
	switch {
	case argument == "":
	case argument == standardInput:
		if found := statOf(p.stdin); found != nil {
			return []input{{"standard input", found}}
		}
	case strings.HasPrefix(argument, "file://"):
		names = filesBehind(ctx, argument)
	case !store.IsURL(argument):
		names = localFiles(argument)
	}
	var files []input
	for _, name := range names {
		if found, err := os.Stat(name); err == nil {
			files = append(files, input{name, found})
		}
	}
	return files
}

// localFiles returns a path, or the files that match it if it is a pattern.
func localFiles(argument string) []string {
	if exists(argument) || !strings.ContainsAny(argument, "*?[") {
		return []string{argument}
	}
	names, _ := filepath.Glob(argument) // an invalid pattern matches nothing
	return names
}

// filesBehind returns the files of a file:// URL. Reading them reports errors.
func filesBehind(ctx context.Context, where string) (names []string) {
	place, pattern, err := store.Open(ctx, where)
	if err != nil {
		return nil
	}
	defer place.Close()
	for object, err := range place.List(ctx, pattern) {
		if err != nil {
			break
		}
		names = append(names, place.Name(object.Key))
	}
	return names
}

// statOf returns the status of a stream that is a file, and nil for any other.
func statOf(stream any) os.FileInfo {
	file, is := stream.(interface{ Stat() (os.FileInfo, error) })
	if !is {
		return nil
	}
	found, err := file.Stat()
	if err != nil {
		return nil
	}
	return found
}

// outputName returns the name of an output for messages.
func outputName(path string) string {
	if path == standardOutput {
		return "standard output"
	}
	return path
}

// checkPlace rejects a file that cannot be created. A device or a pipe can be written to, but cannot hold a model or a
// checkpoint: these are read in any order, and replaced as a whole.
func (o output) checkPlace() error {
	if store.IsURL(o.path) {
		return &usageError{"psi cannot write results to a URL", "write to a file, then copy it there"}
	}
	switch found, err := os.Stat(o.path); {
	case err == nil && found.IsDir():
		return &plainError{o.path, "this is a directory", "give the path of a file"}
	case err == nil && !found.Mode().IsRegular() && slices.Contains([]content{contentModel, contentCheckpoint, contentDraft}, o.content):
		return &plainError{o.path, "this is not a regular file, so it cannot hold " + string(o.content), "give the path of a file"}
	case err == nil && !found.Mode().IsRegular():
		return nil
	}
	trial, err := os.CreateTemp(filepath.Dir(o.path), ".psi-*.tmp")
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return &plainError{o.path, "the directory does not exist", "create it: mkdir -p " + filepath.Dir(o.path)}
		}
		return &plainError{o.path, "cannot be created: " + err.Error(), "check the directory and its permissions"}
	}
	return errors.Join(trial.Close(), os.Remove(trial.Name()))
}

// content is the content of a file, as messages name it.
type content string

// Kinds of content that psi writes and recognises. CSV and TSV have no mark, so any text that is not evidently
// something else counts as such.
const (
	contentModel      content = "a psi model"
	contentCheckpoint content = "a psi checkpoint"
	contentDraft      content = "a zip archive, not a complete psi file"
	contentReport     content = "a psi report"
	contentSVG        content = "an SVG picture by psi"
	contentPNG        content = "a PNG picture by psi"
	contentPDF        content = "a PDF picture by psi"
	contentONNX       content = "an ONNX graph by psi"
	contentText       content = "CSV or other text"
	contentJSON       content = "JSON"
	contentParquet    content = "a Parquet table"
	contentArrow      content = "an Arrow table"

	contentNone content = "" // no file, an empty one, a device or a pipe: nothing can be lost
)

// contentOf returns the content of a file, judged by its first and last kilobytes.
func contentOf(path string) (content, error) {
	found, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) || err == nil && (found.Size() == 0 || !found.Mode().IsRegular()) {
		return contentNone, nil
	}
	if err != nil {
		return contentNone, err
	}
	file, err := os.Open(path)
	if err != nil {
		return contentNone, err
	}
	defer file.Close()
	const looked = 64 << 10
	start, err := io.ReadAll(io.NewSectionReader(file, 0, looked))
	if err != nil {
		return contentNone, err
	}
	end, err := io.ReadAll(io.NewSectionReader(file, max(0, found.Size()-looked), looked))
	if err != nil {
		return contentNone, err
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
		return contentModel
	case artifact.Checkpoint:
		return contentCheckpoint
	}
	return contentDraft
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
	picture := map[string]content{"svg": contentSVG, "png": contentPNG, "pdf": contentPDF}[plot.Drawn(start, end)]
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
	case picture != contentNone:
		return picture
	case report.Written(start):
		return contentReport
	case bytes.HasPrefix(start, []byte("\x08\x08\x12\x03psi")): // the format's version, then the producer's name
		return contentONNX
	case bytes.HasPrefix(start, []byte("PAR1")):
		return contentParquet
	case bytes.HasPrefix(start, []byte("ARROW1")), bytes.HasPrefix(start, []byte("\xff\xff\xff\xff")): // a file, a stream
		return contentArrow
	case bytes.ContainsFunc(start, unprintable):
		return "binary data"
	case beginsWith("<!doctype html", "<html"):
		return "an HTML page that psi did not write"
	case beginsWith("<?xml", "<svg", "%PDF"):
		return "a document that psi did not write"
	case isJSON(text):
		return contentJSON
	}
	return contentText
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
