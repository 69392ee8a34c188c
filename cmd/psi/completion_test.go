package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// completions are what a shell shows of what it is offered: words that begin as typed, without descriptions.
func completions(t *testing.T, line ...string) []string {
	t.Helper()
	typed := line[len(line)-1]
	var offered []string
	for text := range strings.Lines(mustRun(t, append([]string{"__complete"}, line...)...).stdout) {
		word, _, _ := strings.Cut(strings.TrimSpace(text), "\t")
		if !strings.HasPrefix(word, ":") && strings.HasPrefix(word, typed[strings.Index(typed, "=")+1:]) {
			offered = append(offered, word)
		}
	}
	return offered
}

func TestCompletion(t *testing.T) {
	parquet := filepath.Join(t.TempDir(), "t.parquet")
	mustRun(t, "sample", "synth1", "--rows", "10", "-o", parquet)
	model, data := fixtures.model, fixtures.table
	for _, c := range []struct{ line, want []string }{
		{[]string{"train", data, "--target", ""}, []string{"x1", "x2", "x3", "y"}},
		{[]string{"train", parquet, "--target", ""}, []string{"x1", "x2", "x3", "y"}},
		{[]string{"train", filepath.Join(filepath.Dir(data), "tab*.csv"), "--target", ""}, []string{"x1", "x2", "x3", "y"}},
		{[]string{"train", data, "--drop", "x1,"}, []string{"x1,x2", "x1,x3", "x1,y"}},
		{[]string{"train", data, "--order-by", ""}, []string{"x1", "x2", "x3", "y"}},
		{[]string{"cv", data, "--by", ""}, []string{"x1", "x2", "x3", "y"}},
		{[]string{"explain", model, data, "--unknown", ""}, []string{"x1", "x2", "x3", "y"}},
		{[]string{"plot", "dependence", model, data, "--columns", ""}, []string{"x1", "x2", "x3", "y"}},
		{[]string{"train", "--target", ""}, nil},
		{[]string{"train", "-", "--target", ""}, nil},
		{[]string{"train", "absent.csv", "--target", ""}, nil},
		{[]string{"train", data, "--effort", ""}, efforts()},
		{[]string{"train", data, "--effort=b"}, []string{"best"}},
		{[]string{"train", data, "--set", "members"}, []string{"members="}},
		{[]string{"plot", "be"}, []string{"beeswarm"}},
		{[]string{"plot", "bar", ""}, []string{"psi"}}, // the suffix of the files to offer
		{[]string{"sample", "synth5"}, []string{"synth5", "synth5-paper"}},
		{[]string{"sample", "bike", ""}, nil},
	} {
		if got := completions(t, c.line...); !slices.Equal(got, c.want) {
			t.Errorf("%q offers %q, want %q", c.line, got, c.want)
		}
	}
}

// Of a file only the names of the columns are read: rows that make no sense do not matter.
func TestCompletionReadsTheHeaderAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.csv")
	write(t, path, "first,second\n1,2\n1,2,3,4\n\"")
	if got := completions(t, "train", path, "--target", ""); !slices.Equal(got, []string{"first", "second"}) {
		t.Errorf("%q", got)
	}
}

func TestCompletionScripts(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish"} {
		wantText(t, mustRun(t, "completion", shell).stdout, "__complete")
	}
}
