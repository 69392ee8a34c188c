package psi

import (
	"fmt"
	"slices"
)

// Effort is how much a training spends. docs/adr/0022 says what each does.
type Effort string

// The efforts.
const (
	Fast   Effort = "fast"   // a third of normal's steps
	Normal Effort = "normal" // what we stand behind; also ""
	Best   Effort = "best"   // recipes tried on validation rows, and several networks
)

// Efforts lists them, from the least.
func Efforts() []Effort { return []Effort{Fast, Normal, Best} }

// Validate says what is wrong with an effort.
func (e Effort) Validate() error {
	if e != "" && !slices.Contains(Efforts(), e) {
		return fmt.Errorf("the effort is %q: it is %s, %s or %s", string(e), Fast, Normal, Best)
	}
	return nil
}

const (
	fastShare   = 3 // one in so many of normal's steps
	bestMembers = 4
)

// shorten makes a recipe fast.
func (s *Settings) shorten() {
	for _, steps := range []*int{&s.Steps, &s.PolishSteps, &s.RefitSteps, &s.SpreadSteps} {
		*steps = (*steps + fastShare - 1) / fastShare
	}
}

// effort is how a manifest says it.
func (t *training) effort() string {
	if t.Effort == Normal {
		return ""
	}
	return string(t.Effort)
}

// defaults are the settings of the effort for a table of a size.
func (t *training) defaults(size Size) Settings {
	s := DefaultSettings(t.Head, size)
	switch t.Effort {
	case Fast:
		s.shorten()
	case Best:
		s.Members = bestMembers
	}
	return s
}
