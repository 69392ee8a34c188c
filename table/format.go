package table

import (
	"fmt"
	"path/filepath"
	"strings"
)

// Format is a file format of tables.
type Format uint8

// Formats that this package reads and writes.
const (
	CSV       Format = iota // text; delimiter detected when read, comma when written
	TSV                     // CSV with tabs
	Parquet                 // Apache Parquet
	Arrow                   // Arrow IPC stream, for pipes; readers accept both Arrow formats
	ArrowFile               // Arrow IPC file, for .arrow files
)

// ParseFormat returns the format with the given name: csv, tsv, parquet or arrow.
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

// FormatOf returns the format of a file by its extension.
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
