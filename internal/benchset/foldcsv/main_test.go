package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/psi-shapley/psi/internal/benchset"
)

func TestFoldFiles(t *testing.T) {
	dir := t.TempDir()
	err := run(t.Context(), []string{"med", "0", dir}, &bytes.Buffer{})
	if errors.Is(err, benchset.ErrAbsent) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for _, part := range []string{"train.csv", "validation.csv", "test.csv"} {
		text, err := os.ReadFile(filepath.Join(dir, part))
		if err != nil {
			t.Fatal(err)
		}
		header, lines, _ := strings.Cut(string(text), "\n")
		if header != "age,sex,bmi,children,smoker,region,target" {
			t.Errorf("%s: header %s", part, header)
		}
		rows += strings.Count(lines, "\n")
	}
	if rows != 1_338 {
		t.Errorf("%d rows in all parts, want 1338", rows)
	}
}

func TestDescription(t *testing.T) {
	var out bytes.Buffer
	err := run(t.Context(), []string{"german", "3", t.TempDir()}, &out)
	if errors.Is(err, benchset.ErrAbsent) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"name":"german","fold":3,"target":"target","task":"binary",` +
		`"categorical":["x0","x2","x3","x5","x6","x8","x9","x11","x13","x14","x16","x18","x19"],` +
		`"positive":"c1","rows":1000,"columns":20}` + "\n"
	if out.String() != want {
		t.Errorf("%s, want %s", &out, want)
	}
}

func TestRefuses(t *testing.T) {
	for want, args := range map[string][]string{
		"usage":       {"med", "0"},
		`fold "5"`:    {"med", "5", t.TempDir()},
		`fold "x"`:    {"med", "x", t.TempDir()},
		"no data set": {"iris", "0", t.TempDir()},
	} {
		if err := run(t.Context(), args, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want one that says %s", args, err, want)
		}
	}
}
