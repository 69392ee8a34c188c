// Package table holds tables of typed columns with missing cells, and reads and
// writes them as CSV, Parquet and Arrow, whole or in chunks.
//
// A [Column] is a slice of numbers or category codes beside a mask of the cells that
// are observed; a [Table] is columns of equal length. [Read] reads a whole file,
// [Open] streams one as a [Source] of chunks, [Create] writes one through a [Sink].
//
// # Kinds
//
// Parquet and Arrow files say what their columns hold. For CSV the kind of each
// column is inferred from its cells: numbers if all observed cells are, booleans if
// all are of one pair of words (true/false, yes/no, t/f), times if all are ISO 8601
// dates or date-times or dates with the month as a word, else categories. The reason
// for each choice is kept in the [Schema], with notes on columns that are constant,
// empty or look like identifiers. [Options] overrule the choice. A boolean keeps the
// words it was written in, as far as the format does: Parquet and Arrow keep none.
//
// With a [Guess] in the options, text that is not written plainly is read too, also in
// Parquet and Arrow: $1,234.50 and 48.4% are numbers, 31.12.2024 is a time, and yes, No,
// y and 1 in one column are booleans. The [Schema] keeps the [Reading] of such a column;
// [Options.As] reads other tables by it. Text that does not fit is missing.
//
// # CSV
//
// The first line names the columns. The delimiter is a comma, semicolon or tab,
// whichever fits; numbers have a decimal point. Cells may be quoted, and then hold
// delimiters, line ends and doubled quotes; spaces outside quotes are dropped. Text
// is UTF-8, with or without a byte order mark, packed with gzip or not. The empty
// cell, NA, N/A, NaN, null and ? in any case are missing, quoted or not: CSV has no
// way to write a label of that text. Blank lines may only end the file.
//
// # Errors
//
// Readers return an [*Error], which names the file, the row, the column and what to
// do. Input is not trusted: sizes are bounded, and a damaged file is an error, never
// a panic.
//
// # Memory
//
// A source holds one chunk of rows, the labels it has met, and what it must unpack to
// read them: not whole files, row groups or record batches. [Options].Reserve limits
// that; without it a source has a limit of its own, which only files that unpack to far
// more than they are exceed.
package table
