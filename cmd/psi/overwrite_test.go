package main

import (
	"archive/zip"
	"bytes"
	"context"
	"image"
	"image/png"
	"io"
	"maps"
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

// files are one of each kind, by what it is.
func someFiles(t *testing.T) map[content]string {
	t.Helper()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, line := range []string{
		"plot bar MODEL DATA -o @p.svg", "plot bar MODEL DATA -o @p.png", "plot bar MODEL DATA -o @p.pdf", "report MODEL DATA -o @r.html",
		"predict MODEL DATA -o @t.csv", "predict MODEL DATA -o @t.tsv", "predict MODEL DATA -o @t.csv.gz", "predict MODEL DATA -o @t.parquet",
		"predict MODEL DATA -o @t.arrow", "predict MODEL DATA -o @t.json", "sample synth1 --rows 5 -o @s.csv",
		"export onnx MODEL -o @e.onnx",
	} {
		mustRun(t, strings.Fields(strings.NewReplacer("@", dir+string(filepath.Separator), "MODEL", fixtures.model, "DATA", fixtures.table).Replace(line))...)
	}
	files := map[content]string{
		contentModel: fixtures.model, contentCheckpoint: interrupted(t, at("c.psi")), contentReport: at("r.html"), contentSVG: at("p.svg"), contentPNG: at("p.png"), contentPDF: at("p.pdf"),
		contentText: at("t.csv"), contentJSON: at("t.json"), contentParquet: at("t.parquet"), contentArrow: at("t.arrow"), contentONNX: at("e.onnx"),
	}
	for _, name := range []string{"t.tsv", "t.csv.gz", "s.csv"} {
		if got, err := contentOf(at(name)); err != nil || got != contentText {
			t.Errorf("%s is taken for %q, %v", name, got, err)
		}
	}
	return files
}

// foreignFiles are of other programs.
func foreignFiles(t *testing.T) map[string]string {
	t.Helper()
	var picture, archive bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
		t.Fatal(err)
	}
	writer := zip.NewWriter(&archive)
	if w, err := writer.Create("sheet.xml"); err != nil {
		t.Fatal(err)
	} else if _, err := w.Write([]byte("<a/>")); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	files := map[string]string{}
	for name, text := range map[string]string{
		"picture": picture.String(), "archive": archive.String(), "page": "<!DOCTYPE html>\n<title>Mine</title>\n", "drawing": "<?xml version='1.0'?>\n<svg/>",
		"paper": "%PDF-1.7\n%\xe2\xe3\xcf\xd3\n/Producer (LaTeX)\n", "program": "\x7fELF\x02\x01\x01\x00",
	} {
		files[name] = filepath.Join(dir, name)
		write(t, files[name], text)
	}
	return files
}

// A file is replaced by its own kind alone, unless --force is given.
func TestFilesOfOtherKindsAreKept(t *testing.T) {
	files, foreign := someFiles(t), foreignFiles(t)
	all := map[string]string{}
	for kind, path := range files {
		if got, err := contentOf(path); err != nil || got != kind {
			t.Errorf("%s is taken for %q, %v", kind, got, err)
		}
		all[string(kind)] = path
	}
	maps.Copy(all, foreign)
	for _, c := range []struct {
		line  string // @ is the file
		holds content
	}{
		{strings.Join(quick("train", "DATA", "--target", "y", "-o", "@m"), " "), contentModel},
		{"report MODEL DATA -o @r.html", contentReport},
		{"plot bar MODEL DATA -o @p.svg", contentSVG},
		{"plot bar MODEL DATA -o @p.png", contentPNG},
		{"plot bar MODEL DATA -o @p.pdf", contentPDF},
		{"plot bar MODEL DATA -o OTHER.svg --data @d.csv", contentText},
		{"export onnx MODEL -o @e.onnx", contentONNX},
		{"predict MODEL DATA -o @t.csv", contentText},
		{"predict MODEL DATA -o @t.csv.gz", contentText},
		{"predict MODEL DATA -o @t.parquet", contentParquet},
		{"explain MODEL DATA -o @t.tsv", contentText},
		{"explain MODEL DATA -o @t.arrow", contentArrow},
		{"explain MODEL DATA -o @t.json", contentJSON},
		{"sample synth1 --rows 5 -o @s.parquet", contentParquet},
		{"sample synth1 --rows 5 -o OTHER.csv --truth @s.csv", contentText},
	} {
		if c.holds == contentONNX && files[contentONNX] == "" {
			continue
		}
		for kind, path := range all {
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			args := strings.Fields(strings.NewReplacer("MODEL", fixtures.model, "DATA", fixtures.table, "OTHER", filepath.Join(dir, "other"), "@", dir+string(filepath.Separator)).Replace(c.line))
			out := ""
			for _, word := range args {
				if strings.HasPrefix(word, dir) && !strings.Contains(word, "other") {
					out = word
				}
			}
			write(t, out, string(before))
			if kind == string(c.holds) {
				mustRun(t, args...)
				continue
			}
			o := run(t, args...)
			if o.code != failed || !strings.Contains(o.stderr, out+": the file exists and has another kind: it is ") || !strings.Contains(o.stderr, "choose another name, or add --force") {
				t.Errorf("%s over %s: exit %d, %s", c.line, kind, o.code, o.stderr)
			}
			if after, err := os.ReadFile(out); err != nil || !bytes.Equal(after, before) {
				t.Errorf("%s over %s: it is gone, %v", c.line, kind, err)
			}
			if kind == "picture" || kind == string(contentCheckpoint) { // of each command, two are enough
				mustRun(t, append(args, "--force")...)
				if held, err := contentOf(out); err != nil || held != c.holds {
					t.Errorf("%s --force over %s left %q, %v", c.line, kind, held, err)
				}
			}
		}
	}
}

// A checkpoint is as safe as a model: what lies under its name is looked at too.
func TestWhatIsNoCheckpointIsKept(t *testing.T) {
	model := filepath.Join(t.TempDir(), "m.psi")
	for _, name := range []string{checkpointOf(model), model + ".tmp", checkpointOf(model) + ".tmp"} {
		write(t, name, "notes of mine\n")
		o := run(t, quick("train", fixtures.table, "--target", "y", "-o", model)...)
		if content, err := os.ReadFile(name); o.code != failed || !strings.Contains(o.stderr, name+": the file exists") || string(content) != "notes of mine\n" {
			t.Errorf("%s: exit %d, %s%q, %v", name, o.code, o.stderr, content, err)
		}
		write(t, name, "PK\x03\x04 the start of a file whose writer was killed")
		if strings.HasSuffix(name, ".tmp") {
			mustRun(t, quick("train", fixtures.table, "--target", "y", "-o", model)...)
		}
		if err := os.RemoveAll(name); err != nil {
			t.Fatal(err)
		}
	}
}

// Empty files have nothing to lose, and a file that cannot be read may have.
func TestEmptyFilesAreReplaced(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"t.csv", "t.json", "t.parquet"} {
		path := filepath.Join(dir, name)
		write(t, path, "")
		mustRun(t, "predict", fixtures.model, fixtures.table, "-o", path)
	}
	if os.Getuid() == 0 {
		return // who may read everything
	}
	path := filepath.Join(dir, "secret.csv")
	write(t, path, "a\n1\n")
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	if o := run(t, "predict", fixtures.model, fixtures.table, "-o", path); o.code != failed || !strings.Contains(o.stderr, "the file exists and cannot be read") {
		t.Errorf("exit %d, %s", o.code, o.stderr)
	}
}

// Devices and pipes are written to, not replaced; a model, which is read back, needs a file.
func TestDevicesAreNotReplaced(t *testing.T) {
	dir := t.TempDir()
	for _, line := range []string{"predict MODEL DATA -o @o.csv", "explain MODEL DATA -o @o.csv.gz", "explain MODEL DATA -o @o.json", "plot bar MODEL DATA -o @o.svg", "report MODEL DATA -o @o.html"} {
		args := strings.Fields(strings.NewReplacer("MODEL", fixtures.model, "DATA", fixtures.table, "@", dir+string(filepath.Separator)).Replace(line))
		out := args[len(args)-1]
		if err := os.Symlink(os.DevNull, out); err != nil {
			t.Skip(err)
		}
		mustRun(t, args...)
		if found, err := os.Lstat(out); err != nil || found.Mode().IsRegular() {
			t.Errorf("%s replaced the device, %v", line, err)
		}
	}
	o := run(t, quick("train", fixtures.table, "--target", "y", "--force", "-o", filepath.Join(dir, "o.csv"))...)
	if o.code != failed || !strings.Contains(o.stderr, "not a regular file") {
		t.Errorf("a model to a device: exit %d, %s", o.code, o.stderr)
	}
}

func TestContentOfText(t *testing.T) {
	for text, want := range map[string]content{
		"a,b\n1,2\n": contentText, "[a],[b]\n1,2\n": contentText, "\ufeffa\tb\n": contentText, "M\xfcnchen;1\n": contentText, "{a},b\n": contentText, "=1,2\n": contentText,
		"{\n  \"schema\": 1}": contentJSON, "[1, 2]": contentJSON, " [\n{}]": contentJSON, "{}": contentJSON, "PAR1": contentParquet, "ARROW1\x00\x00": contentArrow,
		"a\x00b": "binary data", "<HTML>": "an HTML page that psi did not write", "<svg/>": "a document that psi did not write",
	} {
		if got := contentOfBytes([]byte(text), []byte(text)); got != want {
			t.Errorf("%q is taken for %s, want %s", text, got, want)
		}
	}
}
