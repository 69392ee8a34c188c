package table

import (
	"cmp"
	"errors"
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/parquet/metadata"
)

// Sizes of reads of a Parquet file. A request to an object store takes as long as the transfer of some megabytes, so
// the reader makes few large requests, within these limits.
const (
	tailBytes    = 64 << 10  // the end of the file, with the footer
	blockBytes   = 16 << 20  // wanted columns of row groups that are read together; two blocks are held
	requestBytes = 4 << 20   // maximum of one request
	gapBytes     = 256 << 10 // unwanted bytes that are read to save a request
	windowsBytes = 16 << 20  // total over the columns of a row group that is larger than a block
	minWindow    = 16 << 10
)

// span is a byte range of the file.
type span struct{ start, end int64 }

// block holds the wanted byte ranges of row groups that are read together.
type block struct {
	spans   []span
	content [][]byte // per span; nil before it is read
}

func (b *block) bytes() (n int64) {
	for _, s := range b.spans {
		n += s.end - s.start
	}
	return n
}

// rangeReader reads a Parquet file by byte ranges planned from its footer.
type rangeReader struct {
	input             io.ReaderAt
	*io.SectionReader // reads through this reader; the library asks it for the size
	size              int64
	tail              []byte
	blocks            []*block
	loaded            []*block // the last two requested blocks, the newest last
	failed            error    // error of the input, as opposed to damage of the file
}

func newRangeReader(access randomAccess) (*rangeReader, error) {
	size, err := access.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = access.Seek(0, io.SeekStart) // where the next reader expects it
	}
	if err != nil {
		return nil, err
	}
	r := &rangeReader{input: access, size: size, tail: make([]byte, min(size, tailBytes))}
	r.SectionReader = io.NewSectionReader(r, 0, size)
	if _, err := r.fetch(r.tail, size-int64(len(r.tail))); err != nil {
		return r, damaged(err)
	}
	return r, nil
}

// fetch reads from the input.
func (r *rangeReader) fetch(p []byte, offset int64) (int, error) {
	n, err := r.input.ReadAt(p, offset)
	if n == len(p) {
		return n, nil
	}
	if err != nil && !errors.Is(err, io.EOF) && r.failed == nil {
		r.failed = err
	}
	return n, err
}

// why returns the error of the input, if there was one, in place of the library's.
func (r *rangeReader) why(err error) error {
	if err != nil && r != nil && r.failed != nil {
		return r.failed
	}
	return err
}

// ReadAt reads from the loaded blocks, if the range was planned.
func (r *rangeReader) ReadAt(p []byte, offset int64) (int, error) {
	wanted := span{offset, offset + int64(len(p))}
	if from := r.size - int64(len(r.tail)); wanted.start >= from && wanted.end <= r.size {
		return copy(p, r.tail[wanted.start-from:]), nil
	}
	for _, b := range r.loaded {
		if part := b.find(wanted); part != nil {
			return copy(p, part), nil
		}
	}
	for _, b := range r.blocks {
		if !b.covers(wanted) {
			continue
		}
		if err := r.load(b); err != nil {
			return 0, err
		}
		return copy(p, b.find(wanted)), nil
	}
	return r.fetch(p, offset)
}

func (b *block) covers(wanted span) bool {
	return slices.ContainsFunc(b.spans, func(s span) bool { return s.start <= wanted.start && wanted.end <= s.end })
}

// find returns the bytes of a range; nil if the block does not hold them.
func (b *block) find(wanted span) []byte {
	for i, s := range b.spans {
		if s.start <= wanted.start && wanted.end <= s.end && b.content != nil {
			return b.content[i][wanted.start-s.start : wanted.end-s.start]
		}
	}
	return nil
}

// load reads a block and releases all but the previous one: rows that are read together may begin in one and end in the
// next.
func (r *rangeReader) load(b *block) error {
	if len(r.loaded) == 2 {
		r.loaded[0].content = nil
		r.loaded = r.loaded[1:]
	}
	b.content = make([][]byte, len(b.spans))
	for i, s := range b.spans {
		b.content[i] = make([]byte, s.end-s.start)
		for part := range slices.Chunk(b.content[i], requestBytes) {
			if _, err := r.fetch(part, s.start); err != nil {
				b.content = nil
				return err
			}
			s.start += int64(len(part))
		}
	}
	r.loaded = append(r.loaded, b)
	return nil
}

// plan sets which columns of which row groups will be read. It returns how much of a column the library should read at
// a time: little from loaded blocks, much from row groups that exceed a block.
func (r *rangeReader) plan(file *metadata.FileMetaData, groups, leaves []int) (window int64, err error) {
	window = minWindow
	var gathered []span
	for _, group := range groups {
		spans, err := r.chunks(file.RowGroup(group), leaves)
		if err != nil {
			return 0, err
		}
		one := block{spans: spans}
		if one.bytes() > blockBytes {
			window = max(minWindow, min(requestBytes, windowsBytes/int64(len(leaves))))
			continue
		}
		both := block{spans: merge(slices.Concat(gathered, spans))}
		if both.bytes() > blockBytes {
			r.blocks = append(r.blocks, &block{spans: gathered})
			both = one
		}
		gathered = both.spans
	}
	if len(gathered) > 0 {
		r.blocks = append(r.blocks, &block{spans: gathered})
	}
	return window, nil
}

// chunks returns the byte ranges of the wanted columns of a row group. Reading rejects ranges outside the file.
func (r *rangeReader) chunks(group *metadata.RowGroupMetaData, leaves []int) ([]span, error) {
	var spans []span
	bytes := int64(0)
	for _, leaf := range leaves {
		chunk, err := group.ColumnChunk(leaf)
		if err != nil {
			return nil, err
		}
		if at, ok := r.span(chunk); ok {
			spans = append(spans, at)
			if bytes += at.end - at.start; bytes > r.size {
				return nil, errors.New("columns lie in the same place")
			}
		}
	}
	return merge(spans), nil
}

// span returns the byte range of a column of a row group; ok is false if it is outside the file.
func (r *rangeReader) span(chunk *metadata.ColumnChunkMetaData) (at span, ok bool) {
	start, length := chunk.DataPageOffset(), chunk.TotalCompressedSize()
	if dictionary := chunk.DictionaryPageOffset(); chunk.HasDictionaryPage() && dictionary > 0 && dictionary < start {
		start = dictionary
	}
	return span{start, start + length}, start >= 0 && length > 0 && start <= r.size && length <= r.size-start
}

// merge joins ranges that are close together.
func merge(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	var merged []span
	for _, s := range spans {
		if last := len(merged) - 1; last >= 0 && s.start-merged[last].end <= gapBytes {
			merged[last].end = max(merged[last].end, s.end)
			continue
		}
		merged = append(merged, s)
	}
	return merged
}
