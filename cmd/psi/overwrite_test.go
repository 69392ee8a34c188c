package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// place is a directory in which commands run, with files that they must leave alone.
type place struct {
	dir   string
	files map[string]string // content by name
}

// newPlace has a table t.csv, more of it, a model m.psi and settings c.yaml.
func newPlace(t *testing.T) *place {
	t.Helper()
	p := &place{t.TempDir(), map[string]string{}}
	p.copy(t, fixtures.table, "t.csv", "part-1.csv", "part-2.csv", "v.csv", "m.checkpoint", "m.tmp", "m.checkpoint.tmp", "m")
	p.copy(t, fixtures.model, "m.psi", "m.onnx", "m.csv", "m.json", "m.html", "m.svg")
	p.write(t, "c.yaml", "steps: 20\n")
	p.write(t, "_summary.json", "{}")
	return p
}

func (p *place) write(t *testing.T, name, content string) {
	t.Helper()
	p.files[name] = content
	write(t, p.at(name), content)
}

func (p *place) copy(t *testing.T, path string, names ...string) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		p.write(t, name, string(content))
	}
}

func (p *place) at(name string) string { return filepath.Join(p.dir, name) }

// line is a command line in which @ stands for the directory.
func (p *place) line(text string) []string {
	return strings.Fields(strings.ReplaceAll(text, "@", p.dir+string(filepath.Separator)))
}

// unchanged sees that all files are what they were, and that there are no others but those named.
func (p *place) unchanged(t *testing.T, others ...string) {
	t.Helper()
	for name, content := range p.files {
		if got, err := os.ReadFile(p.at(name)); err != nil || string(got) != content {
			t.Errorf("%s was destroyed: %.40q, %v", name, got, err)
			p.write(t, name, content)
		}
	}
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if _, known := p.files[entry.Name()]; !known && !slices.Contains(others, entry.Name()) {
			t.Errorf("%s was left behind", entry.Name())
			if err := os.RemoveAll(p.at(entry.Name())); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// No command writes to a file that it reads, under whatever name it goes, with --force or without.
func TestOutputsAreNeverInputs(t *testing.T) {
	p := newPlace(t)
	for link, target := range map[string]string{"link.csv": "t.csv", "link.svg": "t.csv", "link.html": "t.csv", "summary.html": "_summary.json", "far.csv": "link.csv"} {
		if err := os.Symlink(target, p.at(link)); err != nil {
			t.Skip(err)
		}
		p.files[link] = p.files[target]
	}
	p.files["far.csv"] = p.files["t.csv"]
	if err := os.Link(p.at("t.csv"), p.at("hard.csv")); err != nil {
		t.Fatal(err)
	}
	p.files["hard.csv"] = p.files["t.csv"]
	if err := os.Symlink(p.dir, p.at("around")); err != nil {
		t.Fatal(err)
	}
	training := strings.Join(quick(), " ")
	for _, line := range []string{
		"train @t.csv --target y -o @t.csv",
		"train @t.csv --target y -o @link.csv",
		"train @t.csv --target y -o @around/t.csv",
		"train @part-*.csv --target y -o @part-2.csv",
		"train @t.csv --target y --validation @v.csv -o @v.csv",
		"train @t.csv --target y --config @c.yaml -o @c.yaml",
		"train @m.checkpoint --format csv --target y -o @m",
		"train @m.tmp --format csv --target y -o @m",
		"train @m.checkpoint.tmp --format csv --target y -o @m",
		"train @m --format csv --target y -o @around/m",
		"predict @m.psi @t.csv -o @t.csv",
		"predict @m.psi @t.csv -o @link.csv",
		"predict @m.psi @t.csv -o @far.csv",
		"predict @m.psi @t.csv -o @hard.csv",
		"predict @m.psi @t.csv -o @around/t.csv",
		"predict @m.psi @link.csv -o @t.csv",
		"predict @m.psi @part-*.csv -o @part-1.csv",
		"predict @m.psi file://@t.csv -o @t.csv",
		"predict @m.psi file://@part-*.csv -o @part-2.csv",
		"predict @m.csv @t.csv -o @m.csv",
		"predict @m.json @t.csv -o @m.json",
		"explain @m.psi @t.csv -o @t.csv",
		"explain @m.csv @t.csv -o @m.csv",
		"explain @m.psi @part-*.csv --layout long -o @part-1.csv",
		"plot bar @m.psi @t.csv -o @link.svg",
		"plot bar @m.svg @t.csv -o @m.svg",
		"plot bar @m.psi @t.csv -o @p.svg --data @t.csv",
		"plot drift @m.psi @t.csv --since @v.csv -o @p.svg --data @v.csv",
		"report @m.psi @t.csv -o @link.html",
		"report @m.html @t.csv -o @m.html",
		"report @m.psi @_summary.json -o @summary.html",
		"report @m.psi @ -o @summary.html",
		"export onnx @m.onnx -o @m.onnx",
	} {
		args := p.line(line)
		if args[0] == "train" {
			args = append(args, strings.Fields(training)...)
		}
		for _, force := range [][]string{nil, {"--force"}} {
			o := run(t, append(args, force...)...)
			if o.code != failed || !strings.Contains(o.stderr, "the output file is also an input") {
				t.Errorf("psi %s %v: exit %d, %s", line, force, o.code, o.stderr)
			}
			p.unchanged(t, "around")
		}
	}
}

// Standard input and output are files too when a shell redirects them.
func TestRedirectedOutputsAreNeverInputs(t *testing.T) {
	p := newPlace(t)
	stdin, err := os.Open(p.at("t.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	o := runWith(t.Context(), stdin, p.line("predict @m.psi - --format csv -o @t.csv")...)
	if o.code != failed || !strings.Contains(o.stderr, "the output file is also an input: it is the same file as standard input") {
		t.Errorf("from standard input: exit %d, %s", o.code, o.stderr)
	}
	p.unchanged(t)

	appending, err := os.OpenFile(p.at("t.csv"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer appending.Close()
	for _, line := range []string{"predict @m.psi @t.csv", "explain @m.psi @t.csv --format csv", "explain @m.psi @t.csv", "sample synth1 --truth @t.csv -o -"} {
		var stderr bytes.Buffer
		program := &program{stdin: strings.NewReader(""), stdout: appending, stderr: &stderr}
		if code := program.run(t.Context(), p.line(line)); code != failed {
			t.Errorf("psi %s >> t.csv: exit %d, %s", line, code, stderr.String())
		}
		p.unchanged(t)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	program := &program{stdin: null, stdout: null, stderr: io.Discard}
	if code := program.run(context.Background(), p.line("predict @m.psi @t.csv")); code != 0 {
		t.Errorf("to a device that is also standard input: exit %d", code)
	}
}

// Two outputs of one command are two files, however they are named.
func TestOutputsAreTwoFiles(t *testing.T) {
	p := newPlace(t)
	for link, target := range map[string]string{"new.csv": "a.csv", "new.svg": "a.csv", "old.csv": "t.csv"} {
		if err := os.Symlink(target, p.at(link)); err != nil {
			t.Skip(err)
		}
	}
	for _, line := range []string{
		"sample synth1 -o @a.csv --truth @a.csv",
		"sample synth1 -o @a.csv --truth @new.csv",
		"sample synth1 -o @t.csv --truth @old.csv",
		"plot bar @m.psi @v.csv -o @new.svg --data @a.csv",
		"plot bar @m.psi @v.csv -o @new.svg --data @new.csv",
	} {
		o := run(t, append(p.line(line), "--force")...)
		if o.code != failed || !strings.Contains(o.stderr, "two outputs are the same file") {
			t.Errorf("psi %s: exit %d, %s", line, o.code, o.stderr)
		}
		p.unchanged(t, "new.csv", "new.svg", "old.csv")
	}
}

// Every command that takes a file for its result takes --force too.
func TestCommandsThatWriteTakeForce(t *testing.T) {
	writing := 0
	var visit func(*cobra.Command)
	visit = func(c *cobra.Command) {
		if c.Flags().Lookup("out") != nil || strings.HasSuffix(c.Use, " OUT") {
			writing++
			if force := c.Flags().Lookup("force"); force == nil || force.Value.Type() != "bool" {
				t.Errorf("%s has no --force", c.CommandPath())
			}
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Name == "spreadsheet-safe" && c.Flags().Lookup("out") == nil {
				t.Errorf("%s writes no table", c.CommandPath())
			}
		})
		for _, below := range c.Commands() {
			visit(below)
		}
	}
	visit((&program{}).rootCommand())
	if writing < 9 {
		t.Errorf("only %d commands write", writing)
	}
}
