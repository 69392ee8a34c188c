package registry

import (
	"context"
	"time"

	"github.com/psi-shapley/psi"
)

// Observer receives the events of a registry. Its methods are called concurrently.
type Observer interface {
	// Prepare is called before a version answers its first request. Its result becomes the version's Tag.
	Prepare(v *Version) (any, error)
	// Passing is called before a pass of a model, which several requests may share. The function it returns is called after
	// the pass.
	Passing(v *Version, p Pass) (end func(error))
	Waiting(v *Version, rows int)
	Loaded(v *Version)
	Unloaded(v *Version)
	// Failed is called when a file could not be loaded. The registry tries again after the pause, or if that is 0 when the
	// file has changed.
	Failed(name, version string, err error, pause time.Duration)
	Unlisted(err error) // a location could not be listed
}

// Pass describes one pass of a model.
type Pass struct {
	Depth    psi.Depth
	Rows     int
	Requests []context.Context
	Waited   []time.Duration // of each request, until now
}
