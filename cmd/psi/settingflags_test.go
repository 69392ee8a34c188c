package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/batch"
	"github.com/psi-shapley/psi/serve"
	"github.com/psi-shapley/psi/table"
)

func TestInFlags(t *testing.T) {
	for text, want := range map[string]string{
		"name another column in Config.OrderBy":                    "name another column in --order-by",
		"use ExplainOptions.Mode=exact, or train with these":       "use --mode exact, or train with these",
		"(Config.Drop=a,b). Or Config.Keep.":                       "(--drop a,b). Or --keep.",
		"Train with more steps (Settings.Steps=200).":              "Train with more steps (--set steps=200).",
		"table.Guess.Decimal=, reads it; psi.ListSettings":         "--decimal , reads it; psi train --help-config",
		"serve.Config.KeyFile without serve.Config.CertFile":       "--tls-key without --tls-cert",
		"my.Config.Task, Config.Tasks, Config.Task.csv and Config": "my.Config.Task, Config.Tasks, Config.Task.csv and Config",
	} {
		if got := inFlags(text); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
		}
	}
}

// The log of psi serve names flags too.
func TestLogNamesFlags(t *testing.T) {
	var log strings.Builder
	line := "error=\"leave Config.Backend out\"\n"
	if n, err := (flagWriter{&log}).Write([]byte(line)); n != len(line) || err != nil || log.String() != "error=\"leave --backend out\"\n" {
		t.Errorf("%d bytes are written as %q: %v", n, log.String(), err)
	}
}

// Every setting that a text of the library names is a field, and has a flag.
func TestSettingsHaveFlags(t *testing.T) {
	named := settingsNamed(t)
	for setting, where := range named {
		if settingFlags[setting] == "" {
			t.Errorf("%s names %s, which has no flag in settingFlags", where, setting)
		}
	}
	types := map[string]reflect.Type{
		"Config": reflect.TypeFor[psi.Config](), "ExplainOptions": reflect.TypeFor[psi.ExplainOptions](), "ImportOptions": reflect.TypeFor[psi.ImportOptions](), "OpenOptions": reflect.TypeFor[psi.OpenOptions](), "Settings": reflect.TypeFor[psi.Settings](),
		"batch.Options": reflect.TypeFor[batch.Options](), "serve.Config": reflect.TypeFor[serve.Config](),
		"table.Guess": reflect.TypeFor[table.Guess](), "table.Options": reflect.TypeFor[table.Options](),
	}
	commands := map[string]string{"ExplainOptions": "explain", "ImportOptions": "import", "OpenOptions": "explain", "serve.Config": "serve"}
	for setting, words := range settingFlags {
		if named[setting] == "" {
			t.Errorf("no text names %s", setting)
		}
		dot := strings.LastIndex(setting, ".")
		of, is := types[setting[:dot]]
		if _, field := fieldOf(of, setting[dot+1:]); !field && setting != "psi.ListSettings" { // which is a function
			t.Errorf("%s is not a field (the type is known: %t)", setting, is)
		}
		command, flag, full := strings.Cut(words, " --")
		if !full || !strings.HasPrefix(command, "psi ") {
			command, flag = "psi train", strings.TrimPrefix(words, "--")
			if other := commands[setting[:dot]]; other != "" {
				command = "psi " + other
			}
		}
		if !hasFlag(t, strings.Fields(command)[1:], flag) {
			t.Errorf("%s is %q, which %s does not have", setting, words, command)
		}
	}
}

func fieldOf(of reflect.Type, name string) (reflect.StructField, bool) {
	if of == nil {
		return reflect.StructField{}, false
	}
	return of.FieldByName(name)
}

// hasFlag reports whether a command has a flag, or a setting with the key of --set KEY.
func hasFlag(t *testing.T, command []string, flag string) bool {
	t.Helper()
	found, rest, err := (&program{}).rootCommand().Find(command)
	if err != nil || len(rest) > 0 {
		t.Fatalf("there is no command %q", command)
	}
	flag, key, keyed := strings.Cut(flag, " ")
	isKey := func(s psi.Setting) bool { return s.Key == key }
	return found.Flags().Lookup(flag) != nil && (!keyed || flag == "set" && slices.ContainsFunc(psi.ListSettings(), isKey))
}

// aSetting is a field of an exported type, or a name of the root package.
var aSetting = regexp.MustCompile(`\b([a-z]+\.)?[A-Z]\w*\.[A-Z]\w*|\bpsi\.[A-Z]\w*`)

// settingsNamed returns the settings that strings of the library name, each with a file that does.
func settingsNamed(t *testing.T) map[string]string {
	t.Helper()
	const root = "../.."
	named := map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			_, other := os.Stat(filepath.Join(path, "go.mod"))
			hidden := strings.HasPrefix(entry.Name(), ".") && path != root
			if path != root && (other == nil || hidden || slices.Contains([]string{"testdata", "node_modules", "cmd"}, entry.Name())) {
				return fs.SkipDir
			}
			return nil
		case filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		tree, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil || ast.IsGenerated(tree) || tree.Name.Name == "main" {
			return err
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			literal, is := n.(*ast.BasicLit)
			if !is || literal.Kind != token.STRING {
				return true
			}
			text, _ := strconv.Unquote(literal.Value) // it has been parsed
			for _, setting := range aSetting.FindAllString(text, -1) {
				named[setting] = path
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return named
}
