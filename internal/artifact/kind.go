package artifact

import (
	"archive/zip"
	"encoding/binary"
	"errors"
	"io"
	"regexp"
)

// KindOf returns the kind of a file of size bytes, by the start of its manifest. It reads some kilobytes and checks
// nothing else. It returns "" for a file that psi did not write or that is truncated.
func KindOf(r io.ReaderAt, size int64) Kind {
	const (
		endLength    = 22     // of a zip's last record, without a comment
		maxDirectory = 60_000 // maximum bytes of the directory that psi writes
		maxKind      = 256    // bytes up to the end of the kind, which is the first field
	)
	end := make([]byte, endLength)
	if _, err := r.ReadAt(end, size-endLength); err != nil && !errors.Is(err, io.EOF) || binary.LittleEndian.Uint32(end[12:]) > maxDirectory {
		return ""
	}
	directory, err := zip.NewReader(r, size)
	if err != nil {
		return ""
	}
	manifest, err := directory.Open(manifestName)
	if err != nil {
		return ""
	}
	defer manifest.Close()
	start, err := io.ReadAll(io.LimitReader(manifest, maxKind))
	if err != nil {
		return ""
	}
	found := regexp.MustCompile(`^\{"kind":"(psi\.[a-z]+)",`).FindSubmatch(start)
	if found == nil {
		return ""
	}
	return Kind(found[1])
}
