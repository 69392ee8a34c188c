package arch

import (
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const maxLines = 600

func TestGoFilesAreShort(t *testing.T) {
	for _, f := range house(t) {
		if f.ast == nil || ast.IsGenerated(f.ast) {
			continue
		}
		if lines := strings.Count(f.text, "\n"); lines > maxLines {
			t.Errorf("%s has %d lines, more than %d: it holds more than one idea", f.path, lines, maxLines)
		}
	}
}

func TestPackagesSayWhatTheyAreFor(t *testing.T) {
	empty := []string{"util", "utils", "common", "helper", "helpers", "misc"}
	pkgs := packages(t)
	for _, dir := range sortedKeys(pkgs) {
		documented := false
		for _, f := range pkgs[dir] {
			documented = documented || f.ast.Doc != nil && !f.isTest()
			name := strings.TrimSuffix(f.ast.Name.Name, "_test")
			if slices.Contains(empty, name) || slices.Contains(empty, path.Base(dir)) {
				t.Errorf("%s: package %s is named after nothing in particular", f.path, name)
			}
		}
		if !documented {
			t.Errorf("package %s has no package comment", dir)
		}
	}
}

// The patterns are written so that they do not match themselves.
var unwanted = []struct {
	what    string
	pattern *regexp.Regexp
}{
	{"a path of one machine", regexp.MustCompile(`(^|[^\w.])/(work|root|home)/`)},
	{"the host of a package registry", regexp.MustCompile(`proxy\.golang\.org|registry\.npmjs\.org|pypi\.org|files\.pythonhosted\.org|deb\.debian\.org`)},
	{"the number of an issue", regexp.MustCompile(`(?i)\bissue #?\d+`)},
}

func TestFilesHoldNothingOfTheWorkshop(t *testing.T) {
	for _, f := range house(t) {
		number := 0
		for line := range strings.Lines(f.text) {
			number++
			for _, u := range unwanted {
				if found := u.pattern.FindString(line); found != "" {
					t.Errorf("%s:%d holds %s: %q", f.path, number, u.what, found)
				}
			}
		}
	}
}
