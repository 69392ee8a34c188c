package artifact

import (
	"io"
	"regexp"
)

// KindOf returns what a file of size bytes is for, by the start of its manifest: it reads a few
// kilobytes and checks nothing else. It is "" for a file that psi did not write or that is cut
// short.
func KindOf(r io.ReaderAt, size int64) Kind {
	a, err := openArchive(r, size, Model)
	if err != nil || a.entries[manifestName] == nil {
		return ""
	}
	content, err := a.entries[manifestName].Open()
	if err != nil {
		return ""
	}
	defer content.Close()
	const longest = 256 // bytes up to the end of the kind, which Write puts first
	start, err := io.ReadAll(io.LimitReader(content, longest))
	if err != nil {
		return ""
	}
	found := regexp.MustCompile(`^\{"kind":"(psi\.[a-z]+)",`).FindSubmatch(start)
	if found == nil {
		return ""
	}
	return Kind(found[1])
}
