package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/psi-shapley/psi/internal/store"
)

// What psi overwrites. Each command that writes files says which, and what it reads, to
// checkFiles before it reads or writes anything. The rules are the same for all:
//
//   - An output is never an input, by whatever name, link or pattern, and no two outputs are one
//     file. --force does not change that.
//   - A file is replaced only by content of its own kind: a model by a model, a report by a
//     report, a picture by a picture of its format, an ONNX graph by an ONNX graph, each as
//     psi's own mark tells; a table by a table of its format, JSON by JSON. --force replaces
//     files of any kind.
//   - Empty files may be replaced, and devices and pipes are written to.

// output is a file that a command writes.
type output struct {
	path   string // standardOutput is that
	holds  content
	stands []content // that may be replaced beside what it holds
}

// addForce adds the flag of all commands that write files.
func addForce(flags *pflag.FlagSet, to *bool) {
	flags.BoolVar(to, "force", false, "replace a file of another kind; inputs are never replaced")
}

// checkFiles refuses outputs that would destroy something, or that cannot be created. Inputs are
// arguments: paths, patterns, URLs, or standardInput; "" is none.
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

// checkDistinct sees that no output is an input or another output.
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
				return &plainError{words(out.path), "the output is also an input" + in.as(out.path), "choose another name for the output"}
			}
		}
		if i := slices.IndexFunc(written, at.is); i >= 0 {
			return &plainError{words(out.path), "two outputs are the same file: this is also " + words(outputs[i].path), "give each a name of its own"}
		}
		written = append(written, at)
	}
	return nil
}

// checkContent sees that the file, if there is one, may be replaced.
func (o output) checkContent(force bool) error {
	if force {
		return nil
	}
	const remedy = "choose another name, or add --force"
	held, err := contentOf(o.path)
	if err != nil {
		return &plainError{o.path, "there is a file that cannot be looked into: " + err.Error(), remedy}
	}
	if held == nothing || held == o.holds || slices.Contains(o.stands, held) {
		return nil
	}
	return &plainError{o.path, fmt.Sprintf("the file exists and is of another kind: it is %s, not %s", held, o.holds), remedy}
}

// location is a file, or where one will be made. Two names of one file have one location.
type location struct {
	file os.FileInfo // nil if there is none
	in   os.FileInfo // else its directory
	base string
}

// is compares regular files only: many may read and write a device, such as a terminal.
func (l location) is(other location) bool {
	switch {
	case l.file != nil && other.file != nil:
		return l.file.Mode().IsRegular() && os.SameFile(l.file, other.file)
	case l.in != nil && other.in != nil:
		return l.base == other.base && os.SameFile(l.in, other.in)
	}
	return false
}

// locate follows links, those too that lead to no file yet.
func (p *program) locate(path string) location {
	if path == standardOutput {
		return location{file: status(p.stdout)}
	}
	const mostLinks = 40 // as Linux has it
	for range mostLinks {
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
		return location{} // checkPlace says so
	}
	return location{in: directory, base: filepath.Base(path)}
}

// input is a file that a command reads.
type input struct {
	name string
	file os.FileInfo
}

// as names an input unless the output has the same name.
func (i input) as(output string) string {
	if i.name == output {
		return ""
	}
	return ": it is the same file as " + i.name
}

// inputFiles are those that an argument names and that are there. What is not there is found out
// by whoever reads it.
func (p *program) inputFiles(ctx context.Context, argument string) []input {
	var names []string
	switch {
	case argument == "":
	case argument == standardInput:
		if found := status(p.stdin); found != nil {
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

// localFiles are those of a path or, if there is no such file, of a pattern.
func localFiles(argument string) []string {
	if exists(argument) || !strings.ContainsAny(argument, "*?[") {
		return []string{argument}
	}
	names, _ := filepath.Glob(argument) // a broken pattern matches nothing
	return names
}

// filesBehind are those of a file:// URL. What is wrong with it comes up again when they are read.
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

// status is that of a stream which is a file; nil of any other.
func status(stream any) os.FileInfo {
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

// words is what a message calls an output.
func words(path string) string {
	if path == standardOutput {
		return "standard output"
	}
	return path
}

// checkPlace sees that the file can be created. A device or a pipe is written to, but cannot hold a
// model or a checkpoint: these are read in any order, and replaced as a whole.
func (o output) checkPlace() error {
	if store.IsURL(o.path) {
		return &usageError{"results cannot be written to a URL", "name a file, and copy it there"}
	}
	switch found, err := os.Stat(o.path); {
	case err == nil && found.IsDir():
		return &plainError{o.path, "this is a directory", "give the path of a file"}
	case err == nil && !found.Mode().IsRegular() && slices.Contains([]content{aModel, aCheckpoint, aDraft}, o.holds):
		return &plainError{o.path, "this is not a regular file, so it cannot hold " + string(o.holds), "give the path of a file"}
	case err == nil && !found.Mode().IsRegular():
		return nil
	}
	trial, err := os.CreateTemp(filepath.Dir(o.path), ".psi-*.tmp")
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return &plainError{o.path, "its directory does not exist", "make it first: mkdir -p " + filepath.Dir(o.path)}
		}
		return &plainError{o.path, "cannot be created: " + err.Error(), "check the directory and its permissions"}
	}
	return errors.Join(trial.Close(), os.Remove(trial.Name()))
}
