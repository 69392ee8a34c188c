package arch

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	root   = "../.." // of the repository, seen from here
	module = "github.com/psi-shapley/psi"
)

// file is a text file that git tracks or would track.
type file struct {
	path string // from the root, with slashes
	text string
	ast  *ast.File // of a Go file: package clause, imports and comments
}

func (f file) isTest() bool { return strings.HasSuffix(f.path, "_test.go") }

// imports returns the paths a Go file imports.
func (f file) imports(t *testing.T) []string {
	t.Helper()
	var paths []string
	for _, spec := range f.ast.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, imported)
	}
	return paths
}

// house returns all text files by path. Go files are parsed without regard to
// build tags, so what a tag hides is held to the rules too.
func house(t *testing.T) []file {
	t.Helper()
	git := exec.CommandContext(t.Context(), "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	git.Dir = root
	list, err := git.Output()
	if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	var files []file
	for name := range strings.SplitSeq(strings.TrimSuffix(string(list), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) {
			continue // removed, but not from git's index yet
		}
		if err != nil {
			t.Fatal(err)
		}
		if !utf8.Valid(text) || bytes.ContainsRune(text, 0) {
			continue
		}
		f := file{path: name, text: string(text)}
		if path.Ext(name) == ".go" {
			f.ast, err = parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly|parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
		}
		files = append(files, f)
	}
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.path, b.path) })
	return files
}

// packages returns the files of the module's packages by directory, "." for the
// root; those of the other modules in the repository are not among them.
func packages(t *testing.T) map[string][]file {
	t.Helper()
	files := house(t)
	var others []string // directories of the other modules
	for _, f := range files {
		if path.Base(f.path) == "go.mod" && f.path != "go.mod" {
			others = append(others, path.Dir(f.path)+"/")
		}
	}
	pkgs := map[string][]file{}
	for _, f := range files {
		inOther := func(dir string) bool { return strings.HasPrefix(f.path, dir) }
		if f.ast == nil || slices.ContainsFunc(others, inOther) || strings.Contains("/"+f.path, "/testdata/") {
			continue
		}
		pkgs[path.Dir(f.path)] = append(pkgs[path.Dir(f.path)], f)
	}
	return pkgs
}

// sortedKeys is what maps are walked by, so that failures come in a fixed order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

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
