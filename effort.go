package psi

import (
	"fmt"
	"slices"
)

// Effort is how much a training spends. docs/adr/0022 says what each does.
type Effort string

// The efforts.
const (
	Fast   Effort = "fast"   // learns from a third as many rows as normal
	Normal Effort = "normal" // what we stand behind; also ""
	Best   Effort = "best"   // learns for longer, and averages two networks
)

// Efforts lists them, from the least.
func Efforts() []Effort { return []Effort{Fast, Normal, Best} }

// Validate says what is wrong with an effort.
func (e Effort) Validate() error {
	if e != "" && !slices.Contains(Efforts(), e) {
		return wrongSetting(fmt.Sprintf("there is no effort %q", string(e)), fmt.Sprintf("choose %s, %s or %s", Fast, Normal, Best))
	}
	return nil
}

// shorten makes a recipe fast: two thirds of the steps, of half as many rows each. Fewer steps of as many rows would err more.
func (s *Settings) shorten() {
	for _, steps := range []*int{&s.Steps, &s.PolishSteps, &s.RefitSteps, &s.AbsentSteps, &s.SpreadSteps} {
		*steps = (2**steps + 2) / 3
	}
	s.Batch /= 2
}

// lengthen makes a recipe the best that more time is known to bring: two networks that learn for twice as long.
func (s *Settings) lengthen() {
	s.Members = 2
	s.Steps *= 2
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
		s.lengthen()
	}
	return s
}
