package registry

import (
	"context"
	"time"

	"github.com/psi-shapley/psi"
)

// Observer is told what happens in a registry. Its methods are called by many goroutines.
type Observer interface {
	// Prepare is called before a version answers its first request; what it returns is the version's Tag.
	Prepare(v *Version) (any, error)
	// Passing is called before a pass that rows of several requests share; what it returns, after it.
	Passing(v *Version, p Pass) (end func(error))
	Waiting(v *Version, rows int)
	Loaded(v *Version)
	Unloaded(v *Version)
	// Failed is called when a file could not be loaded. It is tried again after a pause; 0 means once it has changed.
	Failed(name, version string, err error, pause time.Duration)
	Unlisted(err error) // a location could not be looked at
}

// Pass is rows that are passed through a model together.
type Pass struct {
	Depth    psi.Depth
	Rows     int
	Requests []context.Context
	Waited   []time.Duration // of each request, until now
}
