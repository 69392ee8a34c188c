package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/psi-shapley/psi"
)

// closeEnough is how far an answer may lie from that of the version that made the file, in standard deviations of the target, or scores.
const closeEnough = 1e-5

// Commands give the answers that earlier versions gave, from the files of these versions. Documents and tables may gain fields and
// columns, but none is lost, renamed or changed (docs/compatibility.md).
func TestGolden(t *testing.T) {
	versions, err := filepath.Glob("../../testdata/golden/*")
	if err != nil || len(versions) < 2 {
		t.Fatalf("%d versions, %v", len(versions), err)
	}
	for _, dir := range versions {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Chdir(dir)
			content, err := os.ReadFile("commands.json")
			if err != nil {
				t.Fatal(err)
			}
			var commands map[string][]string
			if err := json.Unmarshal(content, &commands); err != nil {
				t.Fatal(err)
			}
			worst := golden{}
			for _, name := range slices.Sorted(maps.Keys(commands)) {
				if at := goldenAnswer(t, filepath.Base(dir), name, commands[name]); at.worst > worst.worst {
					worst = at
				}
			}
			if len(commands) == 0 {
				t.Error("no commands")
			}
			t.Logf("%d answers; the farthest number, of %s, is off by %.1e", len(commands), worst.name, worst.worst)
		})
	}
}

// The documents of commands that train or write files keep their form and exit code; OUT is a directory.
func TestGoldenDocuments(t *testing.T) {
	versions, err := filepath.Glob("../../testdata/golden/*/documents.json")
	if err != nil || len(versions) == 0 {
		t.Fatalf("%d versions, %v", len(versions), err)
	}
	for _, path := range versions {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var kept []struct {
			Command  []string
			Code     int
			Document any
		}
		if err := json.Unmarshal(content, &kept); err != nil {
			t.Fatal(err)
		}
		out := t.TempDir()
		t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) {
			t.Chdir(filepath.Dir(path))
			t.Setenv(asProgram, "1") // for the workers of batch run
			for _, k := range kept {
				var command []string
				for _, word := range k.Command {
					command = append(command, strings.ReplaceAll(word, "OUT", out))
				}
				o := run(t, command...)
				g := golden{name: "psi " + strings.Join(k.Command[:2], " "), form: true}
				if o.code != k.Code {
					t.Errorf("%s: exit %d, want %d\n%s", g.name, o.code, k.Code, o.stderr)
				}
				g.compare(t, "", k.Document, readJSON(t, o.stdout))
			}
		})
	}
}

// No command and no flag is gone.
func TestGoldenFlags(t *testing.T) {
	paths, err := filepath.Glob("../../testdata/golden/*/flags.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d versions, %v", len(paths), err)
	}
	root := (&program{}).rootCommand()
	root.InitDefaultCompletionCmd("psi")
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(content)) {
			name, flag, _ := strings.Cut(strings.TrimSpace(line), " --")
			command, _, err := root.Find(strings.Fields(name)[1:])
			if err != nil || command.CommandPath() != name {
				t.Errorf("%s: there is no %s", path, name)
				continue
			}
			command.InitDefaultHelpFlag()
			command.InitDefaultVersionFlag()
			if command.Flags().Lookup(flag) == nil && command.InheritedFlags().Lookup(flag) == nil {
				t.Errorf("%s: %s has no --%s", path, name, flag)
			}
		}
	}
}

// A batch that a later version planned in another format is refused, and left as it is. Options of a known format that this version does
// not have are ignored.
func TestNewerBatchIsRefused(t *testing.T) {
	out := t.TempDir()
	job := filepath.Join(out, "_psi", "job.json")
	if err := os.Mkdir(filepath.Dir(job), 0o700); err != nil {
		t.Fatal(err)
	}
	const planned = `{"schema":"psi.batch/v2"}`
	write(t, job, planned)
	for _, command := range []string{"status", "resume"} {
		if o := run(t, "batch", command, out); o.code != failed || !strings.Contains(o.stderr, `is "psi.batch/v2", which this version of psi does not know`) {
			t.Errorf("%s: exit %d\n%s", command, o.code, o.stderr)
		}
	}
	if content, err := os.ReadFile(job); err != nil || string(content) != planned {
		t.Errorf("the plan is now %q, %v", content, err)
	}
	write(t, job, `{"schema":"psi.batch/v1","job":"0123456789ab","units":1,"options":{"later":true}}`)
	wantJSON(t, mustRun(t, "batch", "status", out, "--json"), "psi.batch.status/v1")
}

// golden compares an answer with a kept one.
type golden struct {
	name  string
	form  bool    // only keys and kinds of values must be equal
	unit  float64 // of numbers on the scale of scores; 0 if numbers must be equal
	log   bool    // numbers in the target's units have an error that is relative
	nulls []string
	worst float64 // largest difference, in units
}

// goldenAnswer runs a command and compares what it prints.
func goldenAnswer(t *testing.T, version, name string, command []string) golden {
	t.Helper()
	kept, err := os.ReadFile(filepath.Join("answers", name))
	if err != nil {
		t.Fatal(err)
	}
	model, err := psi.Open(command[1])
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	g := golden{name: name, unit: 1}
	if scale := model.Manifest().Scale; scale.Classes == nil {
		g.unit, g.log = scale.Std, scale.Link != ""
	}
	if command[0] == "inspect" { // nothing is computed
		g.unit = 0
	}
	if version == "0.1" { // it called the deviation over networks of the same rows model_std, which is no uncertainty
		g.nulls = []string{"model_std"}
	}
	read := readJSON
	if filepath.Ext(name) == ".csv" {
		read = readCSV
	}
	g.compare(t, "", read(t, string(kept)), read(t, mustRun(t, command...).stdout))
	return g
}

func readJSON(t *testing.T, text string) (document any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &document); err != nil {
		t.Fatal(err)
	}
	return document
}

// readCSV returns the lines as objects, so that columns go by name.
func readCSV(t *testing.T, text string) any {
	t.Helper()
	lines, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var list []any
	for _, line := range lines[1:] {
		object := map[string]any{}
		for i, cell := range line {
			object[lines[0][i]] = cell
			if number, err := strconv.ParseFloat(cell, 64); err == nil {
				object[lines[0][i]] = number
			}
		}
		list = append(list, object)
	}
	return list
}

// compare reports where a document differs from the kept one.
func (g *golden) compare(t *testing.T, at string, want, got any) {
	t.Helper()
	if g.form && (want == nil || got == nil) {
		return
	}
	switch want := want.(type) {
	case map[string]any:
		object, ok := got.(map[string]any)
		if !ok {
			t.Fatalf("%s%s: %v, want an object", g.name, at, got)
		}
		for key, value := range want {
			found, ok := object[key]
			if !ok {
				t.Errorf("%s%s.%s is missing", g.name, at, key)
				continue
			}
			if slices.Contains(g.nulls, key) {
				value = nil
			}
			if slices.Contains([]string{"message", "remedy"}, key) { // for people
				value = found
			}
			g.compare(t, at+"."+key, value, found)
		}
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) && !g.form {
			t.Fatalf("%s%s: %v, want a list of %d", g.name, at, got, len(want))
		}
		for i, value := range want[:min(len(want), len(list))] {
			g.compare(t, fmt.Sprintf("%s[%d]", at, i), value, list[i])
		}
	case float64:
		number, ok := got.(float64)
		if g.form && ok {
			return
		}
		if !ok || !(g.far(want, number) <= closeEnough) {
			t.Errorf("%s%s: %v, want %v", g.name, at, got, want)
		}
		g.worst = max(g.worst, g.far(want, number))
	default:
		if want != got && !(g.form && reflect.TypeOf(want) == reflect.TypeOf(got)) {
			t.Errorf("%s%s: %v, want %v", g.name, at, got, want)
		}
	}
}

// far returns how far a number lies from the kept one.
func (g *golden) far(want, got float64) float64 {
	switch {
	case want == got:
		return 0
	case g.unit == 0:
		return math.Inf(1)
	case g.log:
		return math.Abs(want-got) / max(g.unit, math.Abs(want))
	}
	return math.Abs(want-got) / g.unit
}
