package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
	"testing"
)

const equations = "docs/equations.md"

// Every function, method, field and test that the page of equations names exists, in the package that it names.
func TestEquationsNameWhatExists(t *testing.T) {
	declared, found := newDeclared(t), 0
	for _, f := range house(t) {
		if f.path != equations {
			continue
		}
		names := goNames(f.text)
		found = len(names)
		for _, name := range names {
			if !declared[name] {
				t.Errorf("%s names %s, which does not exist", equations, name)
			}
		}
	}
	if found < 200 {
		t.Errorf("%s names %d functions and tests: are they still found?", equations, found)
	}
}

func TestDeclaredNames(t *testing.T) {
	d := declared{}
	d.add(t, "a/one.go", "package one\n\ntype T struct{ Field int }\n\nfunc (t *T) method() {}\n\nfunc (List[V]) Len() int { return 0 }\n\nfunc F() {}\n\nconst C = 1\n")
	d.add(t, "a/one_test.go", "package one_test\n\nfunc TestF() {}\n")
	for name, want := range map[string]bool{
		"one.F": true, "one.T.method": true, "T.method": true, "one.T.Field": true, "one.List.Len": true, "one.C": true, "TestF": true, "F": true,
		"one.G": false, "two.F": false, "one.T.F": false, "T.F": false, "TestG": false, "one.method": false,
	} {
		if d[name] != want {
			t.Errorf("%s: found is %t", name, !want)
		}
	}
	if got := strings.Join(goNames("`one.F`, `T.method`, `TestF` and `a = b`, `x.go`; `a_b`, `eq:dshap`, `docs/x`, `p`"), " "); got != "one.F T.method TestF p" {
		t.Errorf("names %q", got)
	}
}

// goName matches a name of Go, with its package and type or without. Names of outputs have underscores.
var goName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*(\.[A-Za-z][A-Za-z0-9]*){0,2}$`)

// goNames returns the code spans of a page that are names of Go.
func goNames(text string) (names []string) {
	for _, match := range oneWord.FindAllStringSubmatch(text, -1) {
		if goName.MatchString(match[1]) && !fileName.MatchString(match[1]) {
			names = append(names, match[1])
		}
	}
	return names
}

// declared holds what Go files declare, as package.Name and package.Type.Member, and without the package.
type declared map[string]bool

func newDeclared(t *testing.T) declared {
	t.Helper()
	d := declared{}
	for _, f := range house(t) {
		if f.ast != nil {
			d.add(t, f.path, f.text)
		}
	}
	return d
}

func (d declared) add(t *testing.T, path, text string) {
	t.Helper()
	tree, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	in := strings.TrimSuffix(tree.Name.Name, "_test")
	d[in] = true
	note := func(names ...string) {
		name := strings.Join(names, ".")
		d[name], d[in+"."+name] = true, true
	}
	for _, declaration := range tree.Decls {
		switch declaration := declaration.(type) {
		case *ast.FuncDecl:
			if declaration.Recv == nil {
				note(declaration.Name.Name)
				continue
			}
			note(receiver(declaration.Recv.List[0].Type), declaration.Name.Name)
			d[declaration.Name.Name] = true // the page may leave out a type that it has just named
		case *ast.GenDecl:
			for _, spec := range declaration.Specs {
				d.addSpec(spec, note)
			}
		}
	}
}

func (d declared) addSpec(spec ast.Spec, note func(...string)) {
	switch spec := spec.(type) {
	case *ast.ValueSpec:
		for _, name := range spec.Names {
			note(name.Name)
		}
	case *ast.TypeSpec:
		note(spec.Name.Name)
		ast.Inspect(spec.Type, func(n ast.Node) bool {
			if field, is := n.(*ast.Field); is {
				for _, name := range field.Names {
					note(spec.Name.Name, name.Name)
					d[name.Name] = true
				}
			}
			return true
		})
	}
}

// receiver returns the name of a method's type.
func receiver(of ast.Expr) string {
	switch of := of.(type) {
	case *ast.StarExpr:
		return receiver(of.X)
	case *ast.IndexExpr:
		return receiver(of.X)
	case *ast.IndexListExpr:
		return receiver(of.X)
	case *ast.Ident:
		return of.Name
	}
	return ""
}
