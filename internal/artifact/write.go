package artifact

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/psi-shapley/psi/table"
)

// Write writes a file. The same content gives the same bytes: entries are sorted and have a fixed date, and nothing
// depends on the clock or the machine.
func Write(w io.Writer, f *File) error {
	entries, err := pack(f)
	if err != nil {
		return err
	}
	return write(w, entries)
}

// packedPart is a part as stored in the file.
type packedPart struct {
	header *zip.FileHeader
	bytes  []byte
}

// pack checks a file against all limits and returns its entries, including the manifest.
func pack(f *File) ([]packedPart, error) {
	manifest, err := encodeManifest(f)
	if err != nil {
		return nil, err
	}
	names := append(slices.Collect(maps.Keys(f.Parts)), manifestName)
	slices.Sort(names)
	var entries []packedPart
	var size int64 // of the file, without zip's own headers
	for _, name := range names {
		content := manifest
		if name != manifestName {
			content = f.Parts[name]
		}
		e, err := newEntry(name, content)
		if err != nil {
			return nil, during("writing", "", err)
		}
		entries = append(entries, e)
		size += int64(len(e.bytes))
	}
	left := budgetOf(size, writeRemedy)
	for _, e := range entries {
		if e.header.Method == zip.Deflate {
			if err := left.takeText(e.header.UncompressedSize64); err != nil {
				return nil, err
			}
		}
		if name := e.header.Name; isJSON(name) {
			content := f.Parts[name]
			if name == manifestName {
				content = f.Content
			}
			if err := left.takeJSON(name, content); err != nil {
				return nil, err
			}
		}
	}
	return entries, nil
}

func write(w io.Writer, entries []packedPart) error {
	archive := zip.NewWriter(w)
	for _, e := range entries {
		raw, err := archive.CreateRaw(e.header)
		if err == nil {
			_, err = raw.Write(e.bytes)
		}
		if err != nil {
			return during("writing", "", err)
		}
	}
	if err := archive.Close(); err != nil {
		return during("writing", "", err)
	}
	return nil
}

// newEntry creates an entry that is written raw, with size and checksum before its content. Programs that read a zip
// sequentially need these for uncompressed entries.
func newEntry(name string, content []byte) (packedPart, error) {
	const newYear1980 = 1<<5 | 1 // the earliest date of zip
	header := &zip.FileHeader{
		Name:               name,
		Method:             zip.Store,
		ReaderVersion:      20,
		ModifiedDate:       newYear1980, //nolint:staticcheck // CreateRaw writes this field, not Modified
		CRC32:              crc32.ChecksumIEEE(content),
		UncompressedSize64: uint64(len(content)),
	}
	header.SetMode(0o644)
	if isText(name) {
		var err error
		if content, err = deflate(content); err != nil {
			return packedPart{}, err
		}
		header.Method = zip.Deflate
	}
	header.CompressedSize64 = uint64(len(content))
	return packedPart{header, content}, nil
}

func deflate(content []byte) ([]byte, error) {
	var packed bytes.Buffer
	packer, err := flate.NewWriter(&packed, flate.DefaultCompression)
	if err != nil {
		return nil, err
	}
	if _, err := packer.Write(content); err != nil {
		return nil, err
	}
	if err := packer.Close(); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}

// WriteFile writes a file atomically: it appears under its name only when it is complete and on disk. Until then an
// existing file stays unchanged. If anything fails, no file is left behind. A killed process leaves path.tmp, which the
// next one replaces. The digest covers the bytes written, as in [ReadFile].
func WriteFile(path string, f *File) (digest string, err error) {
	entries, err := pack(f)
	if err != nil {
		return "", during("writing", path, err)
	}
	if found, err := os.Stat(path); err == nil && found.IsDir() {
		return "", &table.Error{Row: -1, File: path, Message: "this is a directory", Remedy: "give the path of a file"}
	}
	draft, err := newDraft(path + ".tmp")
	if err != nil {
		return "", &table.Error{Row: -1, File: path, Message: "cannot be created: " + err.Error(), Remedy: "check the directory and its permissions", Err: err}
	}
	sum := sha256.New()
	err = write(io.MultiWriter(draft, sum), entries)
	if err == nil {
		err = draft.publish(path)
	}
	if err != nil {
		draft.drop()
		return "", during("writing", path, err)
	}
	if err := syncDirectory(filepath.Dir(path)); err != nil {
		return "", during("writing", path, err)
	}
	return digestOf(sum), nil
}

// draft is a file that does not have its final name yet.
type draft struct {
	*os.File
	info fs.FileInfo
}

// newDraft creates a new file instead of truncating an existing one, which may be a link to another file, or the draft
// of another process.
func newDraft(path string) (*draft, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(err, file.Close(), os.Remove(path))
	}
	return &draft{File: file, info: info}, nil
}

// ours reports whether the draft still exists under its name: another process that writes the same file may have
// replaced it.
func (d *draft) ours() bool {
	found, err := os.Lstat(d.Name())
	return err == nil && os.SameFile(found, d.info)
}

func (d *draft) publish(path string) error {
	if err := d.Sync(); err != nil {
		return err // after a crash the name must not refer to incomplete content
	}
	if err := d.Close(); err != nil {
		return err
	}
	if !d.ours() {
		return &table.Error{Row: -1, Message: "another program is writing this file", Remedy: "let it end, or write to another path"}
	}
	return os.Rename(d.Name(), path)
}

// drop removes the draft. Its errors are ignored, because an earlier error is already reported.
func (d *draft) drop() {
	_ = d.Close()
	if d.ours() {
		_ = os.Remove(d.Name())
	}
}

// syncDirectory makes a new name durable. Some systems cannot sync directories and do so by themselves.
func syncDirectory(path string) error {
	directory, err := os.Open(path)
	if err == nil {
		defer directory.Close()
		err = directory.Sync()
	}
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL) {
		return nil
	}
	return err
}
