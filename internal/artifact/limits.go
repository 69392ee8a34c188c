package artifact

import (
	"fmt"
	"strings"
)

// Limits of a file, for writing and reading. What a small file can expand into is limited by its size too; everything
// else has the same size in memory and in the file.
const (
	MaxFileBytes     = 1<<32 - 1 // maximum of a zip without its 64-bit extension
	MaxManifestBytes = 64 << 20
	MaxTextBytes     = 256 << 20 // the manifest and the text parts together, decompressed
	MaxParts         = 64
	MaxNameBytes     = 128 // of the name of a part
)

const manifestName = "manifest.json"

// checkName accepts names that are plain files on every system.
func checkName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("a part has no name")
	case len(name) > MaxNameBytes:
		return fmt.Errorf("the name of part %q has %d bytes, more than %d", shorten(name), len(name), MaxNameBytes)
	case name == manifestName:
		return fmt.Errorf("no part may be named %s", manifestName)
	case name[0] == '.' || strings.ContainsFunc(name, unusual):
		return fmt.Errorf("part %q is not named by letters, digits, dots, dashes and underscores", shorten(name))
	}
	return nil
}

func unusual(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._-", r)
}

// isText reports, by its name, whether a part should be compressed. Weights do not compress.
func isText(name string) bool {
	for _, end := range []string{".json", ".csv", ".txt", ".yaml", ".md"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

func isJSON(name string) bool { return strings.HasSuffix(name, ".json") }
