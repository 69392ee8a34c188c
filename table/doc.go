// Package table holds tables of typed columns with missing cells. It reads and writes them as CSV, Parquet and Arrow,
// whole or in chunks.
//
// A [Column] is a slice of numbers or category codes with a mask of the observed cells. A [Table] is a set of columns
// of equal length. [Read] reads a whole file, [Open] streams one as a [Source] of chunks, and [Create] writes one
// through a [Sink].
//
// # Kinds
//
// Parquet and Arrow files declare the types of their columns. For CSV, the kind of each column is inferred from its
// cells:
//   - numbers if all observed cells are numbers;
//   - booleans if all are from one pair of words (true/false, yes/no, t/f);
//   - times if all are ISO 8601 dates or date-times, or dates with the month as a word;
//   - otherwise categories.
//
// The [Schema] keeps the reason for each choice, with notes on columns that are constant, empty or look like
// identifiers. [Options] override the choice. A boolean from CSV keeps the words it was written in; Parquet and Arrow
// do not store them.
//
// With a [Guess] in the options, readers also parse other notations, in CSV, Parquet and Arrow. For example, $1,234.50
// and 48.4% become numbers, 31.12.2024 a time, and yes, No, y and 1 in one column booleans. The [Schema] keeps the
// [Reading] of such a column, and [Options.As] applies it to other tables. Text that does not fit is missing.
//
// # CSV
//
// The first line names the columns. The delimiter is a comma, semicolon or tab, whichever fits; numbers have a decimal
// point. Cells may be quoted. Quoted cells may contain delimiters, line ends and doubled quotes. Spaces outside quotes
// are dropped. Text is UTF-8, with or without a byte order mark, optionally compressed with gzip. The empty cell, NA,
// N/A, NaN, null and ? in any case are missing, quoted or not, so CSV cannot represent a label with such a text. Blank
// lines are allowed only at the end of the file.
//
// # Errors
//
// Readers return an [*Error], which names the file, the row, the column and a remedy. Input is untrusted: sizes are
// limited, and a damaged file causes an error, never a panic.
//
// # Memory
//
// A source holds one chunk of rows, the labels seen so far, and the buffers needed to decompress them. It does not hold
// whole files, row groups or record batches. [Options].Reserve limits that memory. Without it, a source has a default
// limit, which only files with extreme compression exceed.
package table
