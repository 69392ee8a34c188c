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

// Write writes a file. The same content gives the same bytes: entries are sorted and
// have one date, and nothing is asked of the clock or the machine.
func Write(w io.Writer, f *File) error {
	manifest, err := encodeManifest(f)
	if err != nil {
		return err
	}
	return write(w, f, manifest)
}

func write(w io.Writer, f *File, manifest []byte) error {
	names := append(slices.Collect(maps.Keys(f.Parts)), manifestName)
	slices.Sort(names)
	archive := zip.NewWriter(w)
	for _, name := range names {
		content := manifest
		if name != manifestName {
			content = f.Parts[name]
		}
		if err := add(archive, name, content); err != nil {
			return during("writing", "", err)
		}
	}
	if err := archive.Close(); err != nil {
		return during("writing", "", err)
	}
	return nil
}

// add writes an entry raw, with size and checksum before its content: that is what
// programs that read a zip front to back need of entries that are not packed.
func add(archive *zip.Writer, name string, content []byte) error {
	const newYear1980 = 1<<5 | 1 // the first day zip knows
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
		packed, err := deflate(content)
		if err != nil {
			return err
		}
		header.Method, content = zip.Deflate, packed
	}
	header.CompressedSize64 = uint64(len(content))
	entry, err := archive.CreateRaw(header)
	if err != nil {
		return err
	}
	_, err = entry.Write(content)
	return err
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
