package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Pages whose names of files, and of Go and Python, must exist.
var pagesWithNames = []string{"CONTRIBUTING.md"}

var (
	oneWord  = regexp.MustCompile("`([^` ]+)`")
	fileName = regexp.MustCompile(`^[\w./-]*(/[\w./-]*|\.(go|md|mod|txt|ts|py|yml))$`)
	codeName = regexp.MustCompile(`^(\w+\.)*\w+$`)
)

// Words in pages that are neither: a program, a flag, and tags of fields.
var otherWords = []string{"make", "PSI_DATA", "doc", "measured"}

func TestNamesInPagesExist(t *testing.T) {
	declared := declarations(t)
	for _, f := range house(t) {
		for _, page := range pagesWithNames {
			if f.path != page {
				continue
			}
			for _, missing := range missingNames(f.text, declared) {
				t.Errorf("%s names %s, which does not exist", f.path, missing)
			}
		}
	}
}

func TestMissingNamesAreFound(t *testing.T) {
	declared := map[string]bool{"Open": true, "Model": true}
	text := "`Model.Open`, `Open`, `psi.Open`, `docs/style.md`, `go.mod`, `make web`, `make`, `PSI_DATA`; `Model.Shut`, `Shut`, `docs/none.md`, `none.go`"
	if got := strings.Join(missingNames(text, declared), " "); got != "Model.Shut Shut docs/none.md none.go" {
		t.Errorf("found %q", got)
	}
}

// missingNames returns the names of a page, of files and in code, that do not exist. A file is looked for in the root and by its
// name in the directories of the packages.
func missingNames(text string, declared map[string]bool) []string {
	var missing []string
	for _, match := range oneWord.FindAllStringSubmatch(text, -1) {
		name := match[1]
		switch {
		case fileName.MatchString(name):
			if !exists(name) && !built(name) {
				missing = append(missing, name)
			}
		case codeName.MatchString(name) && !slices.Contains(otherWords, name):
			if last := name[strings.LastIndex(name, ".")+1:]; !declared[last] && !exists(name) {
				missing = append(missing, name)
			}
		}
	}
	return missing
}

// built reports whether make writes a file, which need not be there.
func built(name string) bool {
	return strings.HasPrefix(name, "bin/") || strings.HasPrefix(name, "dist/")
}

func exists(name string) bool {
	for _, pattern := range []string{name, "*/" + name, "internal/*/" + name} {
		if found, err := filepath.Glob(filepath.Join(root, pattern)); err == nil && len(found) > 0 {
			return true
		}
	}
	return false
}

// declarations returns the names of all functions, types, values, fields and methods, tests included, of Go and Python.
func declarations(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, f := range house(t) {
		if f.ast == nil {
			if strings.HasSuffix(f.path, ".py") {
				for _, match := range pythonName.FindAllStringSubmatch(f.text, -1) {
					names[match[1]] = true
				}
			}
			continue
		}
		names[strings.TrimSuffix(f.ast.Name.Name, "_test")] = true
		tree, err := parser.ParseFile(token.NewFileSet(), f.path, f.text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				names[n.Name.Name] = true
			case *ast.TypeSpec:
				names[n.Name.Name] = true
			case *ast.ValueSpec:
				for _, name := range n.Names {
					names[name.Name] = true
				}
			case *ast.Field:
				for _, name := range n.Names {
					names[name.Name] = true
				}
			}
			return true
		})
	}
	return names
}

var pythonName = regexp.MustCompile(`(?m)^\s*(?:def |class )?(\w+)(?:\(| = |:)`)

// Links between pages of the repository must lead somewhere.
func TestLinksOfRootPagesExist(t *testing.T) {
	target := regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`)
	for _, f := range house(t) {
		if filepath.Ext(f.path) != ".md" || strings.Contains(f.path, "/") {
			continue
		}
		for _, match := range target.FindAllStringSubmatch(f.text, -1) {
			if _, err := os.Stat(filepath.Join(root, match[1])); err != nil {
				t.Errorf("%s links to %s, which does not exist", f.path, match[1])
			}
		}
	}
}
