package table

import (
	"fmt"
	"path/filepath"
	"strings"
)

// Format is a way to write a table as bytes.
type Format uint8

// The formats that are read and written.
const (
	CSV       Format = iota // text, delimiter sniffed when read, comma when written
	TSV                     // CSV with tabs
	Parquet                 // Apache Parquet
	Arrow                   // Arrow IPC stream, what pipes carry; readers take either Arrow format
	ArrowFile               // Arrow IPC file, what .arrow files hold
)

// ParseFormat reads a format's name: csv, tsv, parquet or arrow.
func ParseFormat(name string) (Format, error) {
	switch name {
	case "csv":
		return CSV, nil
	case "tsv":
		return TSV, nil
	case "parquet":
		return Parquet, nil
	case "arrow":
		return Arrow, nil
	}
	return 0, &Error{Row: noRow, Message: fmt.Sprintf("unknown format %q", shorten(name)), Remedy: "use csv, tsv, parquet or arrow"}
}

// FormatOf is the format of a file by the end of its name.
func FormatOf(path string) (Format, error) {
	name := strings.TrimSuffix(strings.ToLower(path), ".gz")
	packed := len(name) < len(path)
	switch {
	case strings.HasSuffix(name, ".csv"):
		return CSV, nil
	case strings.HasSuffix(name, ".tsv"):
		return TSV, nil
	case strings.HasSuffix(name, ".parquet") && !packed:
		return Parquet, nil
	case strings.HasSuffix(name, ".arrow") && !packed:
		return ArrowFile, nil
	}
	switch filepath.Ext(name) {
	case ".xlsx", ".xls", ".xlsm", ".ods":
		return 0, &Error{File: path, Row: noRow, Message: "psi neither reads nor writes spreadsheets", Remedy: "use .csv, which spreadsheet programs open and save"}
	}
	return 0, &Error{
		File: path, Row: noRow, Message: "cannot infer the format from the file name",
		Remedy: "use .csv, .csv.gz, .tsv, .tsv.gz, .parquet or .arrow, or name the format",
	}
}
