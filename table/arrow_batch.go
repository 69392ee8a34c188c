package table

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// ipcBatch is the body of a batch and the lists of its arrays and buffers. Slot numbers are those of Message.fbs in the
// Arrow format.
type ipcBatch struct {
	rows     int64
	nodes    flatVector // per array: length and number of nulls
	buffers  flatVector // per buffer: offset and length
	variadic flatVector // per array of views: number of text buffers
	codec    codec
	body     []byte
	unions   bool // unions have a validity bitmap, as before version 5 of the format
}

// codec is the compression of a batch's buffers.
type codec int8

const (
	packedLZ4  codec = 0
	packedZstd codec = 1
	notPacked  codec = -1
)

func newIPCBatch(header flatTable, version int16, body []byte) (*ipcBatch, error) {
	const compression, version5 = 3, 4
	b := &ipcBatch{
		rows: header.int64(0), nodes: header.vector(1, 2), buffers: header.vector(2, 2), variadic: header.vector(4, 1),
		codec: notPacked, body: body, unions: version < version5,
	}
	if at, ok := header.slot(compression); ok {
		b.codec = codec(header.follow(at).byte(0))
	}
	if b.rows < 0 || b.codec > packedZstd {
		return nil, fmt.Errorf("a batch of %d rows, packed by method %d", b.rows, b.codec)
	}
	return b, nil
}

// skip passes over an array and its children.
func (b *ipcBatch) skip(of arrow.DataType) {
	of = storageOf(of)
	b.nodes.take()
	for range b.bufferCount(of) {
		b.buffers.take()
	}
	if nested, is := of.(arrow.NestedType); is {
		for _, field := range nested.Fields() {
			b.skip(field.Type)
		}
	}
}

// bufferCount returns the number of buffers of an array, without its children's.
func (b *ipcBatch) bufferCount(of arrow.DataType) int {
	switch of.ID() {
	case arrow.NULL, arrow.RUN_END_ENCODED:
		return 0
	case arrow.STRUCT, arrow.FIXED_SIZE_LIST:
		return 1
	case arrow.STRING, arrow.BINARY, arrow.LARGE_STRING, arrow.LARGE_BINARY, arrow.LIST_VIEW, arrow.LARGE_LIST_VIEW:
		return 3
	case arrow.STRING_VIEW, arrow.BINARY_VIEW:
		texts, _ := b.variadic.take()
		return 2 + int(texts)
	case arrow.SPARSE_UNION, arrow.DENSE_UNION:
		n := 1
		if of.ID() == arrow.DENSE_UNION {
			n++
		}
		if b.unions {
			n++
		}
		return n
	}
	return 2
}

// buffer opens the next buffer.
func (b *ipcBatch) buffer(u *unpacker, held *account) (*ipcBuffer, error) {
	offset, length := b.buffers.take()
	stored := b.body[offset:][:length]
	if b.codec == notPacked || length == 0 {
		return &ipcBuffer{size: length, window: stored}, nil
	}
	size := int64(binary.LittleEndian.Uint64(stored))
	stored = stored[8:]
	if size == -1 {
		return &ipcBuffer{size: int64(len(stored)), window: stored}, nil
	}
	if size < 0 {
		return nil, fmt.Errorf("a buffer claims %d bytes", size)
	}
	return openPacked(b.codec, stored, size, u, held)
}

// openPacked opens a compressed buffer. It decompresses the whole buffer if that takes less memory than a streaming
// decompressor.
func openPacked(by codec, stored []byte, size int64, u *unpacker, held *account) (*ipcBuffer, error) {
	open := lz4Stream
	if by == packedZstd {
		open = zstandardStream
	}
	stream, err := open(stored)
	if err != nil {
		return nil, err
	}
	whole := size <= stream.memory
	if err := held.takeUnpacked(min(size, stream.memory), int64(len(stored))); err != nil {
		return nil, err
	}
	buffer := &ipcBuffer{size: size, held: held}
	if whole && by == packedZstd {
		buffer.window = make([]byte, size)
		return buffer, u.zstandard(buffer.window, stored)
	}
	if buffer.stream, err = stream.open(); err != nil || !whole {
		return buffer, err
	}
	buffer.window = make([]byte, size)
	if _, err := io.ReadFull(buffer.stream, buffer.window); err != nil {
		return nil, noEOF(err)
	}
	err = buffer.close()
	return buffer, err
}

// ipcBuffer reads the bytes of a buffer in order.
type ipcBuffer struct {
	size   int64         // claimed size in bytes
	start  int64         // offset of the window
	window []byte        // decompressed bytes
	stream io.ReadCloser // the bytes after the window; nil if all are in it
	held   *account
}

// readAhead is the minimum number of bytes decompressed at a time.
const readAhead = 32 << 10

// bytes returns the bytes [from, to), valid until the next call. Neither bound may precede from of the last call.
func (b *ipcBuffer) bytes(from, to int64) ([]byte, error) {
	if from < b.start || to < from || to > b.size {
		return nil, fmt.Errorf("bytes %d to %d of a buffer of %d bytes are referred to", from, to, b.size)
	}
	if to > b.start+int64(len(b.window)) {
		if err := b.advance(from, to); err != nil {
			return nil, err
		}
	}
	return b.window[from-b.start : to-b.start], nil
}

// advance moves the window.
func (b *ipcBuffer) advance(from, to int64) error {
	if b.stream == nil {
		return io.ErrUnexpectedEOF
	}
	end := b.start + int64(len(b.window))
	if from > end {
		if _, err := io.CopyN(io.Discard, b.stream, from-end); err != nil {
			return noEOF(err)
		}
		end = from
	}
	rest := b.window[len(b.window)-int(end-from):]
	length := min(max(to-from, readAhead), b.size-from)
	window := b.window[:cap(b.window)]
	if length > int64(cap(window)) {
		if err := b.held.take(length - int64(cap(window))); err != nil {
			return err
		}
		window = make([]byte, length)
	}
	window = window[:length]
	n := copy(window, rest)
	b.start, b.window = from, window
	_, err := io.ReadFull(b.stream, window[n:])
	return noEOF(err)
}

func (b *ipcBuffer) close() error {
	if b == nil || b.stream == nil {
		return nil
	}
	stream := b.stream
	b.stream = nil
	return stream.Close()
}

// unpacker decompresses blocks into memory of a given size, and never beyond it. The codecs of arrow-go continue past
// the end of their destination (Zstandard) or allocate what a block claims (Snappy), which is not reported yet.
type unpacker struct{ decoder *zstd.Decoder }

// zstandard decompresses a block of frames that fill dst.
func (u *unpacker) zstandard(dst, block []byte) error {
	if u.decoder == nil {
		decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true))
		if err != nil {
			return err
		}
		u.decoder = decoder
	}
	got, err := u.decoder.DecodeAll(block, dst[:0:len(dst)])
	if err != nil {
		return err
	}
	return wantUnpacked(len(got), len(dst))
}

func wantUnpacked(got, want int) error {
	if got != want {
		return fmt.Errorf("%d bytes are unpacked where %d are claimed", got, want)
	}
	return nil
}

// unpackedStream is the decompressor of an Arrow buffer, with an estimate of its memory.
type unpackedStream struct {
	memory int64
	open   func() (io.ReadCloser, error)
}

// zstandardStream decompresses frames whose windows are no larger than the first one's.
func zstandardStream(block []byte) (unpackedStream, error) {
	var header zstd.Header
	if err := header.Decode(block); err != nil {
		return unpackedStream{}, err
	}
	window := max(header.WindowSize, zstd.MinWindowSize)
	if header.SingleSegment {
		window = max(header.FrameContentSize, zstd.MinWindowSize)
	}
	if window > zstd.MaxWindowSize {
		return unpackedStream{}, zstd.ErrWindowSizeExceeded
	}
	return unpackedStream{2*int64(window) + 1<<20, func() (io.ReadCloser, error) {
		decoder, err := zstd.NewReader(bytes.NewReader(block), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(window))
		if err != nil {
			return nil, err
		}
		return decoder.IOReadCloser(), nil
	}}, nil
}

// lz4Stream decompresses a frame, whose header contains the size of its blocks.
func lz4Stream(frame []byte) (unpackedStream, error) {
	const header, blockSize = 7, 5 // bytes of the shortest header; position of the block size, a power of 4
	if len(frame) < header || binary.LittleEndian.Uint32(frame) != 0x184D2204 {
		return unpackedStream{}, errors.New("a buffer is no LZ4 frame")
	}
	size := int64(1) << (8 + 2*(frame[blockSize]>>4&7)) // 64 KiB to 4 MiB
	return unpackedStream{3*size + 1<<18, func() (io.ReadCloser, error) {
		return io.NopCloser(lz4.NewReader(bytes.NewReader(frame))), nil
	}}, nil
}
