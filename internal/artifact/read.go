package artifact

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
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
