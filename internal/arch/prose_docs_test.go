package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The rules of docs/style.md over what go doc shows: package comments, and comments of exported identifiers and fields.

// public reports whether other modules can import a package of this one.
func public(dir string) bool {
	first, _, _ := strings.Cut(dir, "/")
	return first != "cmd" && first != "examples" && !slices.Contains(strings.Split(dir, "/"), "internal")
}

func TestProseOfDocComments(t *testing.T) {
	pkgs := packages(t)
	for _, dir := range sortedKeys(pkgs) {
		if !public(dir) {
			continue
		}
		for _, f := range pkgs[dir] {
			if f.isTest() || ast.IsGenerated(f.ast) {
				continue
			}
			for _, fault := range faults(docsOf(t, f)) {
				t.Errorf("%s: %s", f.path, fault)
			}
		}
	}
}

func TestDocCommentsAreFound(t *testing.T) {
	const phrase = "is no input"
	for code, want := range map[string]int{
		"// Package p is no input.\npackage p":                                                    1,
		"package p\n\n// F is no input.\nfunc F() {}":                                             1,
		"package p\n\n// f is no input.\nfunc f() {}":                                             0,
		"package p\n\n// M is no input.\nfunc (*T) M() {}":                                        1,
		"package p\n\n// M is no input.\nfunc (t *List[V]) M() {}":                                1,
		"package p\n\n// M is no input.\nfunc (t) M() {}":                                         0,
		"package p\n\n// T is no input.\ntype T struct{ A int // is no input\n}":                  2,
		"package p\n\ntype T struct{ a int // is no input\n}":                                     0,
		"package p\n\ntype t struct{ A int // is no input\n}":                                     0,
		"package p\n\ntype T interface {\n// M is no input.\nM()\n}":                              1,
		"package p\n\n// It is no input.\nconst (\nA = 1 // is no input\nb = 2 // is no input\n)": 2,
		"package p\n\n// It is no input.\nvar b = 2":                                              0,
		"package p\n\n// F adds.\n//\n//\tthe column is no input\nfunc F() {}":                    0,
		"package p\n\n// F adds:\n//   - a column\n//     is no input\nfunc F() {}":               1,
	} {
		if got := faults(docsOf(t, file{path: "p.go", text: code})); len(got) != want {
			t.Errorf("%s\nfound %q, want %d of %q", code, got, want, phrase)
		}
	}
}

// docsOf returns the paragraphs of the comments of a Go file that go doc shows.
func docsOf(t *testing.T, f file) []string {
	t.Helper()
	tree, err := parser.ParseFile(token.NewFileSet(), f.path, f.text, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	groups := []*ast.CommentGroup{tree.Doc}
	for _, d := range tree.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && exportedReceiver(d.Recv) {
				groups = append(groups, d.Doc)
			}
		case *ast.GenDecl:
			own := docsOfSpecs(d.Specs)
			if len(own) > 0 {
				groups = append(append(groups, d.Doc), own...)
			}
		}
	}
	var texts []string
	for _, g := range groups {
		texts = append(texts, paragraphsOf(g.Text())...)
	}
	return texts
}

// exportedReceiver reports whether go doc shows the methods of a receiver; functions have none.
func exportedReceiver(receiver *ast.FieldList) bool {
	if receiver == nil {
		return true
	}
	name := receiver.List[0].Type
	for {
		switch n := name.(type) {
		case *ast.StarExpr:
			name = n.X
		case *ast.IndexExpr:
			name = n.X
		case *ast.IndexListExpr:
			name = n.X
		case *ast.Ident:
			return n.IsExported()
		default:
			return false
		}
	}
}

// docsOfSpecs returns the comments of the exported names of a declaration; it is empty if there are no such names.
func docsOfSpecs(specs []ast.Spec) []*ast.CommentGroup {
	var groups []*ast.CommentGroup
	for _, s := range specs {
		switch s := s.(type) {
		case *ast.TypeSpec:
			if s.Name.IsExported() {
				groups = append(append(groups, s.Doc, s.Comment), docsOfFields(s.Type)...)
			}
		case *ast.ValueSpec:
			if slices.ContainsFunc(s.Names, (*ast.Ident).IsExported) {
				groups = append(groups, s.Doc, s.Comment)
			}
		}
	}
	return groups
}

// docsOfFields returns the comments of the exported fields of a struct, or methods of an interface, at any depth.
func docsOfFields(definition ast.Expr) []*ast.CommentGroup {
	var groups []*ast.CommentGroup
	ast.Inspect(definition, func(n ast.Node) bool {
		f, ok := n.(*ast.Field)
		if !ok {
			return true
		}
		if len(f.Names) > 0 && !slices.ContainsFunc(f.Names, (*ast.Ident).IsExported) {
			return false
		}
		groups = append(groups, f.Doc, f.Comment)
		return true
	})
	return groups
}

// listItem starts an item of a list of a doc comment; other indented lines outside lists are code.
var listItem = regexp.MustCompile(`^\s+([-*•]|\d+[.)])\s`)

// paragraphsOf returns the paragraphs and items of a doc comment without its code.
func paragraphsOf(doc string) []string {
	var paragraphs []string
	open, inList := false, false
	for line := range strings.Lines(doc) {
		words := strings.Join(strings.Fields(line), " ")
		switch item := listItem.MatchString(line); {
		case words == "":
			open = false
		case item:
			paragraphs, open, inList = append(paragraphs, words), true, true
		case line[0] == '\t' || line[0] == ' ':
			if inList && open {
				paragraphs[len(paragraphs)-1] += " " + words
			}
		case open && !inList:
			paragraphs[len(paragraphs)-1] += " " + words
		default:
			paragraphs, open, inList = append(paragraphs, strings.TrimLeft(words, "# ")), true, false
		}
	}
	return paragraphs
}
