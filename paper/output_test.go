package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An item that is run alone replaces its own section and leaves the others as they are.
func TestSectionsOfOthersStay(t *testing.T) {
	l := newLab(t.TempDir(), 1, false)
	o := &output{dir: l.dir}
	all := items()
	first, last := all[0], all[len(all)-1]
	answers := []struct {
		item    Item
		verdict string
	}{{last, "It holds."}, {first, "Not yet."}, {first, "It does."}}
	for _, a := range answers {
		shown := Table{Header: []string{"set"}, Rows: [][]string{{"synth1"}}}
		long := Table{File: "long", Header: []string{"row", "x"}, Rows: [][]string{{"1", "0.5"}}}
		if err := o.write(l, a.item, &Answer{Verdict: a.verdict, Text: "Text.", Tables: []Table{shown, long}}); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob(filepath.Join(l.dir, "results", "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files %q, want long.csv alone: %v", files, err)
	}
	if data, err := os.ReadFile(files[0]); err != nil || string(data) != "row,x\n1,0.5\n" {
		t.Errorf("long.csv holds %q: %v", data, err)
	}
	text, err := os.ReadFile(filepath.Join(l.dir, resultsFile))
	if err != nil {
		t.Fatal(err)
	}
	results := string(text)
	for item, verdict := range map[string]string{first.Name: "It does.", last.Name: "It holds."} {
		line := "**Verdict.** " + verdict + "\n\nText.\n\n| set |\n| --- |\n| synth1 |\n\nData: [long.csv](results/long.csv)\n"
		if section := sectionOf(results, Item{Name: item}); strings.Count(section, line) != 1 || strings.Count(section, "**Verdict.**") != 1 {
			t.Errorf("section of %s:\n%s", item, section)
		}
	}
	if strings.Contains(results, "Not yet.") || strings.Index(results, heading+first.Name) > strings.Index(results, heading+last.Name) {
		t.Errorf("sections are old or out of order:\n%s", results)
	}
}

func TestEveryItemHasASection(t *testing.T) {
	results, err := os.ReadFile(resultsFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range items() {
		if !strings.Contains(sectionOf(string(results), item), "**Verdict.** ") {
			t.Errorf("%s has no section", item.Name)
		}
	}
}
