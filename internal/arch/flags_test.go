package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"testing"
)

// aFlag is a flag of a command line within a text.
var aFlag = regexp.MustCompile(`(?:^|[^\w-])(--[a-z][a-z-]*)`)

// The library names settings as Go does, such as Config.OrderBy: whoever calls it has no flags. cmd/psi names its flags in their place
// (ADR 0036).
func TestLibraryNamesNoFlags(t *testing.T) {
	pkgs := packages(t)
	for _, dir := range sortedKeys(pkgs) {
		if dir == "serve/internal/load" { // the load generator, a program but for its tests
			continue
		}
		for _, f := range pkgs[dir] {
			if f.isTest() || f.ast.Name.Name == "main" || ast.IsGenerated(f.ast) {
				continue
			}
			for _, flag := range flagsIn(t, f.path, f.text) {
				t.Errorf("%s names the flag %s: name the setting, and its flag in cmd/psi/settingflags.go", f.path, flag)
			}
		}
	}
}

func TestFlagsAreFound(t *testing.T) {
	for code, want := range map[string]int{
		`package p; var e = errors.New("give --task binary")`: 1,
		"package p; var e = `(--keep uses it), or --drop`":    2,
		`package p; var e = "a -- b, x--, ---"`:               0,
		`package p; var e = "Config.Task" // not --task`:      0,
	} {
		if found := flagsIn(t, "p.go", code); len(found) != want {
			t.Errorf("%s: found %q, want %d", code, found, want)
		}
	}
}

// flagsIn returns the flags that the strings of a Go file name.
func flagsIn(t *testing.T, path, code string) (flags []string) {
	t.Helper()
	tree, err := parser.ParseFile(token.NewFileSet(), path, code, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		literal, ok := n.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return true
		}
		text, err := strconv.Unquote(literal.Value)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range aFlag.FindAllStringSubmatch(text, -1) {
			flags = append(flags, found[1])
		}
		return true
	})
	return flags
}
