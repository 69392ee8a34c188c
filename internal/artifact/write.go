package artifact

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"hash/crc32"
	"io"
	"maps"
	"slices"
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
