package main

import (
	"maps"
	"slices"
	"testing"
)

// Every draw is a training that psi accepts, no two are the same, and a second search draws them again.
func TestDrawsOfTheSearch(t *testing.T) {
	for _, s := range searchSpaces {
		draws := s.draws(searchDraws)
		for i, d := range draws {
			if slices.ContainsFunc(draws[:i], func(other map[string]string) bool { return maps.Equal(other, d) }) {
				t.Errorf("%s: draw %d is drawn twice: %s", s.name, i, settingsOf(d))
			}
			settings, err := s.training("synth1", 0, d, searchSeen).settings()
			if err != nil {
				t.Fatalf("%s: %s: %v", s.name, settingsOf(d), err)
			}
			if err := settings.Validate(); err != nil {
				t.Errorf("%s: %s: %v", s.name, settingsOf(d), err)
			}
			if seen := settings.Steps * settings.Batch; seen > searchSeen || seen < searchSeen-settings.Batch {
				t.Errorf("%s: %d steps of %d rows", s.name, settings.Steps, settings.Batch)
			}
		}
		if again := s.draws(searchDraws); !slices.EqualFunc(draws, again, maps.Equal[map[string]string]) {
			t.Errorf("%s: other draws the second time", s.name)
		}
	}
}

// A grid that lacks a value of the paper's is not its grid.
func TestPaperGrid(t *testing.T) {
	points := 1
	for _, c := range paperGrid {
		points *= len(c.values)
	}
	if want := 3 * 3 * 5 * 3 * 2 * 4 * 4 * 4 * 3; points != want { // app:hyper, without the net
		t.Errorf("%d points, want %d", points, want)
	}
}

// The point at which the nets are compared on numbers as they are is one of the paper's grid.
func TestRawPointIsInTheGrid(t *testing.T) {
	if len(rawPoint) != len(paperGrid) {
		t.Errorf("%d settings, the grid has %d", len(rawPoint), len(paperGrid))
	}
	for _, c := range paperGrid {
		if !slices.Contains(c.values, rawPoint[c.key]) {
			t.Errorf("%s = %q is none of %q", c.key, rawPoint[c.key], c.values)
		}
	}
}
