package main

import (
	"compress/flate"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/batch"
	"github.com/psi-shapley/psi/internal/store"
	"github.com/psi-shapley/psi/table"
)

// Exit codes.
const (
	failed     = 1
	wrongUsage = 2
)

// usageError is an error of the command line alone. Errors that depend on files are not usageErrors, even if a flag
// names the file.
type usageError struct{ message, remedy string }

func (e *usageError) Error() string { return e.message + "; " + e.remedy }

// plainError is an error of this program, with a remedy.
type plainError struct{ file, message, remedy string }

func (e *plainError) Error() string { return e.message + "; " + e.remedy }

// reportedError is a failure that the command's own document already describes.
type reportedError struct{ message string }

func (e *reportedError) Error() string { return e.message }

// failure is an error as reported to people and programs.
type failure struct {
	code     int
	text     string // the whole message, for people
	message  string
	file     string
	row      int // −1 if it is not about a row
	column   string
	remedy   string
	reported bool // the document is on standard output already
}

// failureOf converts an error to a report. Before the command began, only the command line can be wrong.
func failureOf(err error, began bool) failure {
	f := failure{code: failed, row: -1, text: err.Error(), message: err.Error()}
	if !began {
		f.code = wrongUsage
	}
	if e, ok := errors.AsType[*usageError](err); ok {
		f.code, f.text, f.message, f.remedy = wrongUsage, e.Error(), e.message, e.remedy
	} else if e, ok := errors.AsType[*plainError](err); ok {
		f.text, f.message, f.file, f.remedy = e.Error(), e.message, e.file, e.remedy
		if e.file != "" {
			f.text = e.file + ": " + f.text
		}
	} else if _, ok := errors.AsType[*reportedError](err); ok {
		f.reported = true
	} else if errors.Is(err, context.Canceled) {
		f.text, f.message, f.remedy = "stopped; run the command again for the full result", "stopped", "run the command again for the full result"
	} else if e, ok := errors.AsType[*table.Error](err); ok {
		f.text, f.message, f.file, f.row, f.column, f.remedy = e.Error(), e.Message, e.File, e.Row, e.Column, e.Remedy
		if errors.Is(err, psi.ErrBackend) {
			f.code = wrongUsage
		}
	}
	if f.remedy == "" {
		if f.remedy = remedyFor(err); f.remedy != "" {
			f.text += "; " + f.remedy
		}
	}
	if f.remedy == "" && cutShort(err) {
		f.remedy = "the file is cut short or damaged: copy it again"
		f.text += "; " + f.remedy
	}
	f.text, f.message, f.remedy = inFlags(strings.ReplaceAll(f.text, "\n", "; ")), inFlags(f.message), inFlags(f.remedy)
	return f
}

// remedyFor returns the remedy of errors that are identified by what they wrap.
func remedyFor(err error) string {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "check the permissions, or choose another location"
	case errors.Is(err, store.ErrNotFound):
		return "check the path"
	case errors.Is(err, batch.ErrNoBatch):
		return "start one with psi batch run or psi batch submit"
	}
	return ""
}

// cutShort identifies errors of decompression.
func cutShort(err error) bool {
	_, corrupt := errors.AsType[flate.CorruptInputError](err)
	return corrupt || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, gzip.ErrHeader)
}

// report writes a failure to stderr and, if JSON was requested, to stdout.
func (p *program) report(f failure, asJSON bool) {
	p.logf("psi: %s", f.text)
	if !asJSON || f.reported {
		return
	}
	_ = p.document(f.document()) // if stdout is closed too, only the exit code is left
}

// errorDocument is the psi.error/v1 document; what does not apply is null.
type errorDocument struct {
	Schema  string  `json:"schema"`
	Message string  `json:"message"`
	File    *string `json:"file"`
	Row     *int    `json:"row"`
	Column  *string `json:"column"`
	Remedy  *string `json:"remedy"`
}

func (f *failure) document() errorDocument {
	known := func(text string) *string {
		if text == "" {
			return nil
		}
		return &text
	}
	var row *int
	if f.row >= 0 {
		row = &f.row
	}
	return errorDocument{"psi.error/v1", f.message, known(f.file), row, known(f.column), known(f.remedy)}
}

// inFile adds the file to an error about a table that does not name one. Errors about settings have no file.
func inFile(err error, file string) error {
	if errors.Is(err, psi.ErrSetting) || errors.Is(err, psi.ErrBackend) {
		return err
	}
	if e, ok := errors.AsType[*table.Error](err); ok && e.File == "" {
		named := *e
		named.File = file
		return &named
	}
	return err
}
