package main

import (
	"archive/zip"
	"bytes"
	"image"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

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
		aModel: fixtures.model, aCheckpoint: interrupted(t, at("c.psi")), aReport: at("r.html"), anSVG: at("p.svg"), aPNG: at("p.png"), aPDF: at("p.pdf"),
		aText: at("t.csv"), aJSON: at("t.json"), aParquet: at("t.parquet"), anArrow: at("t.arrow"), anExport: at("e.onnx"),
	}
	for _, name := range []string{"t.tsv", "t.csv.gz", "s.csv"} {
		if got, err := contentOf(at(name)); err != nil || got != aText {
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
		{strings.Join(quick("train", "DATA", "--target", "y", "-o", "@m"), " "), aModel},
		{"report MODEL DATA -o @r.html", aReport},
		{"plot bar MODEL DATA -o @p.svg", anSVG},
		{"plot bar MODEL DATA -o @p.png", aPNG},
		{"plot bar MODEL DATA -o @p.pdf", aPDF},
		{"plot bar MODEL DATA -o OTHER.svg --data @d.csv", aText},
		{"export onnx MODEL -o @e.onnx", anExport},
		{"predict MODEL DATA -o @t.csv", aText},
		{"predict MODEL DATA -o @t.csv.gz", aText},
		{"predict MODEL DATA -o @t.parquet", aParquet},
		{"explain MODEL DATA -o @t.tsv", aText},
		{"explain MODEL DATA -o @t.arrow", anArrow},
		{"explain MODEL DATA -o @t.json", aJSON},
		{"sample synth1 --rows 5 -o @s.parquet", aParquet},
		{"sample synth1 --rows 5 -o OTHER.csv --truth @s.csv", aText},
	} {
		if c.holds == anExport && files[anExport] == "" {
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
			if kind == "picture" || kind == string(aCheckpoint) { // of each command, two are enough
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
		"a,b\n1,2\n": aText, "[a],[b]\n1,2\n": aText, "\ufeffa\tb\n": aText, "M\xfcnchen;1\n": aText, "{a},b\n": aText, "=1,2\n": aText,
		"{\n  \"schema\": 1}": aJSON, "[1, 2]": aJSON, " [\n{}]": aJSON, "{}": aJSON, "PAR1": aParquet, "ARROW1\x00\x00": anArrow,
		"a\x00b": "binary data", "<HTML>": "an HTML page that psi did not write", "<svg/>": "a document that psi did not write",
	} {
		if got := contentOfBytes([]byte(text), []byte(text)); got != want {
			t.Errorf("%q is taken for %s, want %s", text, got, want)
		}
	}
}
