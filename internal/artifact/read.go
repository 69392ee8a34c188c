package artifact

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"

	"github.com/psi-shapley/psi/table"
)

// Read reads a file of the given kind from its content. It checks every part against its digest; uncompressed parts
// share the content's memory. Errors are of type [*table.Error].
func Read(content []byte, kind Kind) (*File, error) {
	a, err := openArchive(content, kind)
	if err != nil {
		return nil, err
	}
	m, err := a.readManifest(kind)
	if err != nil {
		return nil, err
	}
	if err := a.matches(m); err != nil {
		return nil, err
	}
	f := &File{Kind: m.Kind, Requires: m.Requires, Content: m.Content, Parts: make(map[string][]byte, len(m.Parts))}
	for _, name := range slices.Sorted(maps.Keys(m.Parts)) {
		content, err := a.unpack(a.entries[name])
		if err != nil {
			return nil, err
		}
		if describe(content) != m.Parts[name] {
			return nil, damaged("part %q does not have the digest that %s gives", name, manifestName)
		}
		if isJSON(name) {
			if err := a.left.takeJSON(name, content); err != nil {
				return nil, err
			}
		}
		f.Parts[name] = content
	}
	return f, nil
}

func (a *archive) readManifest(kind Kind) (*manifest, error) {
	entry := a.entries[manifestName]
	if entry == nil {
		return nil, notPsi(kind, ": it has no "+manifestName)
	}
	if entry.UncompressedSize64 > MaxManifestBytes {
		return nil, tooLarge("%s has %d bytes, more than %d", manifestName, entry.UncompressedSize64, MaxManifestBytes)
	}
	data, err := a.unpack(entry)
	if err != nil {
		return nil, err
	}
	m, err := decodeManifest(data, kind)
	if err != nil {
		return nil, err
	}
	return m, a.left.takeJSON(manifestName, m.Content)
}

// matches checks that manifest and zip contain the same parts and sizes.
func (a *archive) matches(m *manifest) error {
	for _, name := range slices.Sorted(maps.Keys(m.Parts)) {
		entry := a.entries[name]
		if entry == nil {
			return damaged("part %q is missing", name)
		}
		if size := m.Parts[name].Size; entry.UncompressedSize64 != uint64(size) {
			return damaged("part %q has %d bytes, not %d", name, entry.UncompressedSize64, size)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.entries)) {
		if _, listed := m.Parts[name]; !listed && name != manifestName {
			return damaged("part %q is not listed in %s", shorten(name), manifestName)
		}
	}
	return nil
}

// ReadFile reads a file of the given kind, as [Read] does. The digest, "sha256:" and hexadecimal digits, covers the
// bytes of the file.
func ReadFile(path string, kind Kind) (f *File, digest string, err error) {
	file, size, err := open(path, kind)
	if err != nil {
		return nil, "", err
	}
	defer file.Close()
	content, err := slurp(file, size, kind)
	if err != nil {
		return nil, "", during("reading", path, err)
	}
	if f, err = Read(content, kind); err != nil {
		return nil, "", during("reading", path, err)
	}
	return f, Digest(content), nil
}

// Digest returns the digest of a file's content: "sha256:" and hexadecimal digits.
func Digest(content []byte) string {
	sum := sha256.New()
	_, _ = sum.Write(content) // never fails
	return digestOf(sum)
}

func digestOf(sum hash.Hash) string { return "sha256:" + hex.EncodeToString(sum.Sum(nil)) }

// slurp reads a whole file after checking that it begins and ends like one of psi's.
func slurp(file io.ReaderAt, size int64, kind Kind) ([]byte, error) {
	if err := checkSize(size); err != nil {
		return nil, err
	}
	start, err := readAt(file, 0, min(size, int64(len(firstBytes))))
	if err != nil {
		return nil, err
	}
	if err := checkStart(start, kind); err != nil {
		return nil, err
	}
	end, err := readAt(file, max(0, size-endLength), min(size, endLength))
	if err != nil {
		return nil, err
	}
	if err := checkEnd(end, size); err != nil {
		return nil, err
	}
	return readAt(file, 0, size)
}

// readAt returns some of a file's bytes, fewer if the file has become shorter.
func readAt(file io.ReaderAt, offset, length int64) ([]byte, error) {
	p := make([]byte, length)
	n, err := file.ReadAt(p, offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return p[:n], nil
}

func open(path string, kind Kind) (*os.File, int64, error) {
	info, err := os.Stat(path) // first, because opening a pipe waits for its other end
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, &table.Error{Row: -1, File: path, Message: "there is no such file", Remedy: "check the path", Err: err}
	}
	if err == nil && !info.Mode().IsRegular() {
		what := "this is not a regular file"
		if info.IsDir() {
			what = "this is a directory"
		}
		return nil, 0, &table.Error{Row: -1, File: path, Message: what, Remedy: "give the path of a " + kind.noun()}
	}
	var file *os.File
	if err == nil {
		file, err = os.Open(path)
	}
	if err == nil {
		if info, err = file.Stat(); err == nil {
			return file, info.Size(), nil
		}
		err = errors.Join(err, file.Close())
	}
	return nil, 0, &table.Error{Row: -1, File: path, Message: "cannot be opened: " + err.Error(), Remedy: "check the permissions", Err: err}
}

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
