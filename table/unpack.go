package table

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

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
