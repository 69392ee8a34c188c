package artifact

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"io"
)

// archive is a zip that may claim anything. What may still be unpacked is counted
// down, so that entries cannot share bytes or together unfold into too much.
type archive struct {
	in        *source
	entries   map[string]*zip.File
	bytesLeft uint64 // of the file, for entries as they lie there
	textLeft  uint64 // of MaxTextBytes
}

// source is the bytes of an archive. It remembers a failure to read them, which is no
// fault of the file.
type source struct {
	bytes   io.ReaderAt
	size    int64
	failure error
}

// ReadAt gives the end of the file for all that lies outside it: archive/zip asks for
// any offset that a file claims.
func (s *source) ReadAt(p []byte, offset int64) (int, error) {
	if offset < 0 || offset >= s.size {
		return 0, io.EOF
	}
	n, err := s.bytes.ReadAt(p, offset)
	if err != nil && err != io.EOF {
		s.failure = err
	}
	return n, err
}

// read returns some of the bytes, fewer if the file does not have them.
func (s *source) read(offset, length int64) ([]byte, error) {
	p := make([]byte, length)
	n, _ := s.ReadAt(p, offset)
	if s.failure != nil {
		return nil, during("reading", "", s.failure)
	}
	return p[:n], nil
}

// explain tells a failure to read from damage.
func (s *source) explain(damage *Error) error {
	if s.failure != nil {
		return during("reading", "", s.failure)
	}
	return damage
}

const (
	firstBytes = "PK\x03\x04" // of a zip with entries
	endBytes   = "PK\x05\x06" // of a zip's end
	endLength  = 22           // of a zip's end without a comment
)

// openArchive reads the directory of a zip. It takes less than archive/zip does:
// nothing before or after the zip, so that the end of a zip inside a part is not taken
// for the end of a truncated file; and a directory that is small and lies right before
// the end, as archive/zip reads headers for as long as there are any.
func openArchive(r io.ReaderAt, size int64, kind Kind) (*archive, error) {
	in := &source{bytes: r, size: size}
	if size <= 0 {
		return nil, &Error{Message: "the file is empty", Remedy: "copy it again", Err: ErrDamaged}
	}
	if size > MaxFileBytes {
		return nil, tooLarge("the file has %d bytes, more than %d", size, int64(MaxFileBytes))
	}
	start, err := in.read(0, min(size, int64(len(firstBytes))))
	if err != nil {
		return nil, err
	}
	if string(start) != firstBytes[:len(start)] {
		return nil, notPsi(kind, "")
	}
	if err := in.checkEnd(); err != nil {
		return nil, err
	}
	directory, err := zip.NewReader(in, size)
	if err != nil {
		return nil, in.explain(damaged("the list of its parts cannot be read: %v", err))
	}
	a := &archive{in: in, entries: map[string]*zip.File{}, bytesLeft: uint64(size), textLeft: MaxTextBytes}
	for _, entry := range directory.File {
		if a.entries[entry.Name] != nil {
			return nil, damaged("part %q is there twice", shorten(entry.Name))
		}
		a.entries[entry.Name] = entry
	}
	return a, nil
}

// checkEnd looks at a zip's last record: it must be the last bytes of the file, and
// its directory must end where it begins.
func (s *source) checkEnd() error {
	const mostDirectoryBytes = 60_000 // from 65,535 on, a zip may be a 64-bit one
	truncated := &Error{
		Message: "the file is truncated: it does not end with the list of its parts",
		Remedy:  "copy it again",
		Err:     ErrDamaged,
	}
	end, err := s.read(s.size-endLength, endLength)
	if err != nil {
		return err
	}
	if len(end) < endLength || string(end[:4]) != endBytes || binary.LittleEndian.Uint16(end[20:]) != 0 {
		return truncated
	}
	length := int64(binary.LittleEndian.Uint32(end[12:]))
	offset := int64(binary.LittleEndian.Uint32(end[16:]))
	if offset+length != s.size-endLength {
		return damaged("the list of its parts is not where it should be")
	}
	if length > mostDirectoryBytes {
		return tooLarge("the list of parts has %d bytes, more than %d", length, mostDirectoryBytes)
	}
	return nil
}

// unpack returns the content of an entry.
func (a *archive) unpack(entry *zip.File) ([]byte, error) {
	name, size := shorten(entry.Name), entry.UncompressedSize64
	if entry.CompressedSize64 > a.bytesLeft {
		return nil, damaged("part %q claims %d bytes that the file does not have", name, entry.CompressedSize64)
	}
	a.bytesLeft -= entry.CompressedSize64

	const mostUnseen = 1 << 20 // memory given for bytes that only a header speaks of
	capacity := min(size, mostUnseen)
	switch entry.Method {
	case zip.Store:
		if size != entry.CompressedSize64 {
			return nil, damaged("part %q claims two sizes", name)
		}
		capacity = size // these bytes are in the file
	case zip.Deflate:
		if size > a.textLeft {
			return nil, tooLarge("the text parts unfold into more than %d bytes", MaxTextBytes)
		}
		a.textLeft -= size
	default:
		return nil, damaged("part %q is packed by method %d, which psi does not use", name, entry.Method)
	}

	content, err := entry.Open()
	if err != nil {
		return nil, a.in.explain(damaged("part %q cannot be found: %v", name, err))
	}
	defer content.Close()
	unpacked := bytes.NewBuffer(make([]byte, 0, capacity+bytes.MinRead))
	if _, err := unpacked.ReadFrom(io.LimitReader(content, int64(size)+1)); err != nil {
		return nil, a.in.explain(damaged("part %q cannot be unpacked: %v", name, err))
	}
	if uint64(unpacked.Len()) != size {
		return nil, damaged("part %q has %d bytes, not %d", name, unpacked.Len(), size)
	}
	return unpacked.Bytes(), nil
}
