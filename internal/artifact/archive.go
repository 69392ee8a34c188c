package artifact

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"

	"github.com/psi-shapley/psi/table"
)

// archive is an untrusted zip. It counts down what may still be decompressed, so that entries cannot share bytes or
// expand into too much.
type archive struct {
	content   []byte
	entries   map[string]*zip.File
	bytesLeft uint64 // of the stored entries
	left      budget // for decompressed entries
}

const (
	firstBytes = "PK\x03\x04" // of a zip with entries
	endBytes   = "PK\x05\x06" // of a zip's end
	endLength  = 22           // of a zip's end without a comment
)

// openArchive reads the directory of a zip. It is stricter than archive/zip. It accepts nothing before or after the
// zip, so that the end of a zip inside a part is not mistaken for the end of a truncated file. The directory must be
// small and directly before the end, because archive/zip reads headers for as long as there are any.
func openArchive(content []byte, kind Kind) (*archive, error) {
	size := int64(len(content))
	if err := checkSize(size); err != nil {
		return nil, err
	}
	if err := checkStart(content[:min(size, int64(len(firstBytes)))], kind); err != nil {
		return nil, err
	}
	if err := checkEnd(content[max(0, size-endLength):], size); err != nil {
		return nil, err
	}
	directory, err := zip.NewReader(bytes.NewReader(content), size)
	if err != nil {
		return nil, damaged("the list of its parts cannot be read: %v", err)
	}
	a := &archive{content: content, entries: map[string]*zip.File{}, bytesLeft: uint64(size), left: budgetOf(size, readRemedy)}
	for _, entry := range directory.File {
		if a.entries[entry.Name] != nil {
			return nil, damaged("part %q is there twice", shorten(entry.Name))
		}
		a.entries[entry.Name] = entry
	}
	return a, nil
}

func checkSize(size int64) error {
	switch {
	case size <= 0:
		return &table.Error{Row: -1, Message: "the file is empty", Remedy: "copy it again", Err: ErrDamaged}
	case size > MaxFileBytes:
		return tooLarge("the file has %d bytes, more than %d", size, int64(MaxFileBytes))
	}
	return nil
}

// checkStart checks the first bytes of a file.
func checkStart(start []byte, kind Kind) error {
	if string(start) != firstBytes[:len(start)] {
		return notPsi(kind, "")
	}
	return nil
}

// checkEnd checks a zip's last record: it must be at the end of the file, directly after the directory.
func checkEnd(end []byte, size int64) error {
	const maxDirectoryBytes = 60_000 // from 65,535 on, a zip may be a 64-bit one
	if len(end) < endLength || string(end[:4]) != endBytes || binary.LittleEndian.Uint16(end[20:]) != 0 {
		return &table.Error{
			Row:     -1,
			Message: "the file is truncated: it does not end with the list of its parts",
			Remedy:  "copy it again",
			Err:     ErrDamaged,
		}
	}
	length := int64(binary.LittleEndian.Uint32(end[12:]))
	offset := int64(binary.LittleEndian.Uint32(end[16:]))
	if offset+length != size-endLength {
		return damaged("the list of its parts is not where it should be")
	}
	if length > maxDirectoryBytes {
		return tooLarge("the list of parts has %d bytes, more than %d", length, maxDirectoryBytes)
	}
	return nil
}

// unpack returns the content of an entry. A stored one shares the file's memory.
func (a *archive) unpack(entry *zip.File) ([]byte, error) {
	name, size := shorten(entry.Name), entry.UncompressedSize64
	if entry.CompressedSize64 > a.bytesLeft {
		return nil, damaged("part %q claims %d bytes that the file does not have", name, entry.CompressedSize64)
	}
	a.bytesLeft -= entry.CompressedSize64
	switch entry.Method {
	case zip.Store:
		return a.stored(entry)
	case zip.Deflate:
		if err := a.left.takeText(size); err != nil {
			return nil, err
		}
	default:
		return nil, damaged("part %q is packed by method %d, which psi does not use", name, entry.Method)
	}
	content, err := entry.Open()
	if err != nil {
		return nil, damaged("part %q cannot be found: %v", name, err)
	}
	defer content.Close()
	unpacked := make([]byte, size)
	n, err := io.ReadFull(content, unpacked)
	if err == nil { // archive/zip checks size and checksum at the end
		_, err = content.Read(make([]byte, 1))
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, damaged("part %q cannot be unpacked: %v", name, err)
	}
	if uint64(n) != size {
		return nil, damaged("part %q has %d bytes, not %d", name, n, size)
	}
	return unpacked, nil
}

// stored returns the content of an uncompressed entry.
func (a *archive) stored(entry *zip.File) ([]byte, error) {
	name, size := shorten(entry.Name), entry.UncompressedSize64
	if size != entry.CompressedSize64 {
		return nil, damaged("part %q claims two sizes", name)
	}
	offset, err := entry.DataOffset()
	if err != nil {
		return nil, damaged("part %q cannot be found: %v", name, err)
	}
	if offset < 0 || uint64(offset)+size > uint64(len(a.content)) {
		return nil, damaged("part %q claims %d bytes that the file does not have", name, size)
	}
	content := a.content[offset : uint64(offset)+size : uint64(offset)+size]
	if crc32.ChecksumIEEE(content) != entry.CRC32 {
		return nil, damaged("part %q cannot be unpacked: %v", name, zip.ErrChecksum)
	}
	return content, nil
}
