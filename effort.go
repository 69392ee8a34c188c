package psi

import (
	"fmt"
	"slices"
)

// Effort sets how much computation a training spends. docs/adr/0022 lists what each level changes.
type Effort string

// Levels of effort.
const (
	Fast   Effort = "fast"   // processes a third as many rows as Normal
	Normal Effort = "normal" // the measured default; also ""
	Best   Effort = "best"   // trains twice as long and averages two networks
)

// Efforts returns the levels in ascending order.
func Efforts() []Effort { return []Effort{Fast, Normal, Best} }

// Validate returns an error if the level is unknown.
func (e Effort) Validate() error {
	if e != "" && !slices.Contains(Efforts(), e) {
		return wrongSetting(fmt.Sprintf("there is no effort %q", string(e)), fmt.Sprintf("choose %s, %s or %s", Fast, Normal, Best))
	}
	return nil
}

// shorten changes settings to effort fast: two thirds of the steps, with half the batch size. Fewer steps with full
// batches have a larger error.
func (s *Settings) shorten() {
	for _, steps := range []*int{&s.Steps, &s.PolishSteps, &s.RefitSteps, &s.AbsentSteps, &s.SpreadSteps} {
		*steps = (2**steps + 2) / 3
	}
	s.Batch /= 2
}

// lengthen changes settings to effort best: two networks that train twice as long.
func (s *Settings) lengthen() {
	s.Members = 2
	s.Steps *= 2
}

// effort returns the level as the manifest records it.
func (t *training) effort() string {
	if t.Effort == Normal {
		return ""
	}
	return string(t.Effort)
}

// defaults returns the settings of the effort for a table of the given size.
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
