package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/psi-shapley/psi/table"
)

// outcome is what a run of the program left.
type outcome struct {
	code           int
	stdout, stderr string
}

// run runs the program in this process.
func run(t *testing.T, args ...string) outcome {
	t.Helper()
	return runWith(t.Context(), strings.NewReader(""), args...)
}

func runWith(ctx context.Context, stdin io.Reader, args ...string) outcome {
	var stdout, stderr bytes.Buffer
	p := &program{stdin: stdin, stdout: &stdout, stderr: &stderr}
	code := p.run(ctx, args)
	return outcome{code, stdout.String(), stderr.String()}
}

// mustRun fails the test unless the program is done.
func mustRun(t *testing.T, args ...string) outcome {
	t.Helper()
	o := run(t, args...)
	if o.code != 0 {
		t.Fatalf("psi %s: exit %d\n%s", strings.Join(args, " "), o.code, o.stderr)
	}
	return o
}

// wantJSON decodes a document that must be the only thing on stdout.
func wantJSON(t *testing.T, o outcome, schema string) map[string]any {
	t.Helper()
	var document map[string]any
	if err := json.Unmarshal([]byte(o.stdout), &document); err != nil {
		t.Fatalf("stdout is not one JSON document: %v\n%s", err, o.stdout)
	}
	if document["schema"] != schema {
		t.Errorf("schema %v, want %s", document["schema"], schema)
	}
	return document
}

func wantText(t *testing.T, text string, pieces ...string) {
	t.Helper()
	for _, piece := range pieces {
		if !strings.Contains(text, piece) {
			t.Errorf("%q is not in\n%s", piece, text)
		}
	}
}

// inOneLine takes the line breaks out of a text that was wrapped.
func inOneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

func readTable(t *testing.T, path string) *table.Table {
	t.Helper()
	read, err := table.Read(t.Context(), path, table.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return read
}

func names(t *table.Table) []string {
	var list []string
	for _, c := range t.Columns {
		list = append(list, c.Name)
	}
	return list
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// quick are settings with which a training takes a second.
func quick(args ...string) []string {
	return append(args, "--backend", "go",
		"--set", "steps=30", "--set", "refit_steps=10", "--set", "spread_steps=10", "--set", "polish_steps=10",
		"--set", "batch=32", "--set", "channels=8", "--set", "bins=8")
}

// fixtures are files that many tests read and none changes.
var fixtures struct {
	table string // 120 rows of synth1: x1, x2, x3, y
	model string // of it
	wide  string // table of 20 columns and y
	deep  string // model of it

	flowers string // table of three classes, kind: a, b, c, kind
	kinds   string // model of it
	labels  string // 120 rows of synth1-binary
	binary  string // model of it
}

// asProgram is the environment variable that makes this test the program itself, so that tests can
// start it as a process of its own.
const asProgram = "PSI_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(start())
	}
	os.Exit(testMain(m))
}

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "psi-test-*")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	fixtures.table, fixtures.model = filepath.Join(dir, "table.csv"), filepath.Join(dir, "model.psi")
	fixtures.wide, fixtures.deep = filepath.Join(dir, "wide.csv"), filepath.Join(dir, "deep.psi")
	fixtures.flowers, fixtures.kinds = filepath.Join(dir, "flowers.csv"), filepath.Join(dir, "kinds.psi")
	fixtures.labels, fixtures.binary = filepath.Join(dir, "labels.csv"), filepath.Join(dir, "binary.psi")
	for path, text := range map[string]string{fixtures.wide: wideTable(), fixtures.flowers: flowersTable()} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			panic(err)
		}
	}
	for _, args := range [][]string{
		{"sample", "synth1", "--rows", "120", "-o", fixtures.table},
		quick("train", fixtures.table, "--target", "y", "-o", fixtures.model),
		quick("train", fixtures.flowers, "--target", "kind", "-o", fixtures.kinds),
		{"sample", "synth1-binary", "--rows", "120", "-o", fixtures.labels},
		quick("train", fixtures.labels, "--target", "y", "-o", fixtures.binary),
		quick("train", fixtures.wide, "--target", "y", "-o", fixtures.deep, "--head", "learned", "--set", "width=8", "--keep", "ci,ct"),
	} {
		if o := runWith(context.Background(), strings.NewReader(""), args...); o.code != 0 {
			panic(o.stderr)
		}
	}
	return m.Run()
}

// wideTable is y = c0 − c1 beside 18 more columns, two of which, ci and ct, are constant.
func wideTable() string {
	var text strings.Builder
	for c := range 20 {
		text.WriteString("c" + string(rune('a'+c)) + ",")
	}
	text.WriteString("y\n")
	for row := range 40 {
		cell := func(c int) int { return (row*(c+3)*7 + c) % 11 }
		for c := range 20 {
			text.WriteString(digits(cell(c)) + ",")
		}
		text.WriteString(digits(cell(0)-cell(1)) + "\n")
	}
	return text.String()
}

// flowersTable has 90 rows of three kinds, two columns of numbers and one of colours.
func flowersTable() string {
	var text strings.Builder
	text.WriteString("a,b,c,kind\n")
	for row := range 90 {
		kind := row % 3
		a := 3*kind + (row*7)%5
		b := (row*11)%7 - kind
		colour := []string{"red", "blue", "red", "white"}[(row/3+kind)%4]
		text.WriteString(digits(a) + "," + digits(b) + "," + colour + "," + []string{"iris", "lily", "rose"}[kind] + "\n")
	}
	return text.String()
}

func digits(n int) string { return strconv.Itoa(n) }
