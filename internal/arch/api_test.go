package arch

import (
	"flag"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

var rewriteAPI = flag.Bool("rewrite-api", false, "write testdata/api.txt anew; name in the changelog what is gone or changed")

// testdata/api.txt lists what other modules can use: exported names with their types, fields and methods. A commit that takes away or
// changes one shows it there.
func TestAPI(t *testing.T) {
	const listing = root + "/testdata/api.txt"
	got := exportedAPI(t)
	if *rewriteAPI {
		if err := os.WriteFile(listing, []byte(strings.Join(got, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	content, err := os.ReadFile(listing)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSuffix(string(content), "\n"), "\n")
	for _, line := range want {
		if _, found := slices.BinarySearch(got, line); !found {
			t.Errorf("gone or changed: %s", line)
		}
	}
	for _, line := range got {
		if _, found := slices.BinarySearch(want, line); !found {
			t.Errorf("new, and not listed: %s", line)
		}
	}
	if t.Failed() {
		t.Error("if this is meant, run: go test ./internal/arch -run TestAPI -rewrite-api")
	}
}

// exportedAPI returns the sorted listing of the packages that other modules can import, as the compiler exports them.
func exportedAPI(t *testing.T) []string {
	t.Helper()
	var dirs []string
	for _, dir := range sortedKeys(packages(t)) {
		if public(dir) {
			dirs = append(dirs, dir)
		}
	}
	command := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}")
	for _, dir := range dirs {
		command.Args = append(command.Args, "./"+dir)
	}
	command.Dir, command.Stderr = root, os.Stderr
	list, err := command.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	compiled := map[string]string{} // file by import path
	for line := range strings.Lines(string(list)) {
		name, file, _ := strings.Cut(strings.TrimSpace(line), "\t")
		compiled[name] = file
	}
	from := importer.ForCompiler(token.NewFileSet(), "gc", func(name string) (io.ReadCloser, error) { return os.Open(compiled[name]) })
	var api []string
	for _, dir := range dirs {
		pkg, err := from.Import(path.Join(module, dir))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range pkg.Scope().Names() {
			if o := pkg.Scope().Lookup(name); o.Exported() {
				api = append(api, surface(o)...)
			}
		}
	}
	slices.Sort(api)
	return slices.Compact(api)
}

// surface returns the lines of an exported name: its declaration and, of a type, its exported fields and methods.
func surface(o types.Object) []string {
	short := func(p *types.Package) string { return p.Name() }
	name := o.Pkg().Name() + "." + o.Name()
	declared, isType := o.(*types.TypeName)
	if !isType {
		return []string{types.ObjectString(o, short)}
	}
	of, kind := types.Unalias(o.Type()), " "
	if declared.IsAlias() {
		kind = " = " + types.TypeString(of, short) + ", "
	}
	fields, isStruct := of.Underlying().(*types.Struct)
	if !isStruct {
		kind += types.TypeString(of.Underlying(), short)
	} else {
		kind += "struct"
	}
	lines := []string{"type " + name + kind}
	if isStruct {
		for f := range fields.Fields() {
			if f.Exported() {
				lines = append(lines, "field "+name+"."+f.Name()+" "+types.TypeString(f.Type(), short))
			}
		}
	}
	if types.IsInterface(of) {
		return lines
	}
	own := types.NewMethodSet(of)
	for selection := range types.NewMethodSet(types.NewPointer(of)).Methods() {
		m, receiver := selection.Obj(), name
		if own.Lookup(m.Pkg(), m.Name()) == nil {
			receiver = "*" + name
		}
		if m.Exported() {
			lines = append(lines, "method ("+receiver+") "+m.Name()+strings.TrimPrefix(types.TypeString(m.Type(), short), "func"))
		}
	}
	return lines
}
