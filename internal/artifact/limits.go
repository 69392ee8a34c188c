package artifact

import (
	"fmt"
	"strings"
)

// Limits of a file, the same for writing and reading. What a small file can unfold into
// is bounded by its size too; all else in memory has as many bytes in the file.
const (
	MaxFileBytes     = 1<<32 - 1 // what zip can hold without its 64-bit extension
	MaxManifestBytes = 64 << 20
	MaxTextBytes     = 256 << 20 // the manifest and the text parts together, unpacked
	MaxParts         = 64
	MaxNameBytes     = 128 // in the name of a part
)

const manifestName = "manifest.json"

// checkName lets through names that are plain files on every system.
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

// isText tells by its name whether a part is worth packing. Weights are not: they are
// noise to a packer.
func isText(name string) bool {
	for _, end := range []string{".json", ".csv", ".txt", ".yaml", ".md"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

func isJSON(name string) bool { return strings.HasSuffix(name, ".json") }
