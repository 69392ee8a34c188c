package table

import (
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/parquet/metadata"
)

// RowGroup is a part of a Parquet file that can be read independently.
type RowGroup struct {
	Rows  int64
	Bytes int64 // stored size of all columns
}

// Layout returns the row groups of a Parquet file. It reads only the footer.
func Layout(r interface {
	io.ReadSeeker
	io.ReaderAt
},
) (groups []RowGroup, err error) {
	var in *rangeReader
	err = guard(func() error {
		if in, err = newRangeReader(r); err != nil {
			return err
		}
		reader, err := openFooter(in, newBudget(Options{}))
		if err != nil {
			return err
		}
		for i := range reader.file.NumRowGroups() {
			group, err := layoutOf(reader.file.MetaData().RowGroup(i))
			if err != nil {
				return err
			}
			groups = append(groups, group)
		}
		return nil
	})
	if err != nil {
		return nil, during("reading", "", in.why(err))
	}
	return groups, nil
}

func layoutOf(group *metadata.RowGroupMetaData) (RowGroup, error) {
	g := RowGroup{Rows: group.NumRows()}
	for i := range group.NumColumns() {
		chunk, err := group.ColumnChunk(i)
		if err != nil {
			return g, damaged(err)
		}
		g.Bytes += chunk.TotalCompressedSize()
	}
	if g.Rows < 0 || g.Bytes < 0 {
		return g, damaged(fmt.Errorf("a row group of %d rows and %d bytes", g.Rows, g.Bytes))
	}
	return g, nil
}

// chosenGroup is a row group to read.
type chosenGroup struct {
	index       int
	first, rows int // in the file
}

type chosenGroups []chosenGroup

// chosenGroups returns the row groups to read, in reading order.
func (o Options) chosenGroups(of *metadata.FileMetaData) (chosenGroups, error) {
	all := make(chosenGroups, len(of.GetRowGroups()))
	row := 0
	for i := range all {
		all[i] = chosenGroup{i, row, int(of.RowGroup(i).NumRows())}
		if row += all[i].rows; all[i].rows < 0 || row < 0 {
			return nil, damaged(fmt.Errorf("a row group of %d rows", all[i].rows))
		}
	}
	if o.RowGroups == nil {
		return all, nil
	}
	chosen := make(chosenGroups, len(o.RowGroups))
	for i, index := range o.RowGroups {
		if index < 0 || index >= len(all) {
			return nil, &Error{Row: noRow, Message: fmt.Sprintf("there is no row group %d: the file has %d", index, len(all)), Remedy: "the file may have been replaced: look at it anew"}
		}
		chosen[i] = all[index]
	}
	return chosen, nil
}

func (c chosenGroups) indices() []int {
	indices := make([]int, len(c)) // not nil, which the library treats as all
	for i, g := range c {
		indices[i] = g.index
	}
	return indices
}

func (c chosenGroups) rows() (n int64) {
	for _, g := range c {
		n += int64(g.rows)
	}
	return n
}

// rowInFile converts the number of a row, counted from the first one read, to its number in the file.
func (c chosenGroups) rowInFile(row int) int {
	for _, g := range c {
		if row < g.rows {
			return g.first + row
		}
		row -= g.rows
	}
	return row
}
