package registry

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync/atomic"
	"time"

	"github.com/psi-shapley/psi/internal/store"
)

// suffix is the end of the name of every model file.
const suffix = ".psi"

// maxBytes is the maximum size of a model file: more than ten times the size of the largest network.
const maxBytes = 1 << 30

// location is a source of model files: a directory, a bucket, or a single file in one of them.
type location struct {
	where  string
	opened atomic.Pointer[openLocation] // nil until the location has answered once

	// Guarded by the registry's lock.
	entries []entry   // of the last listing that succeeded
	began   time.Time // when that listing did
	looked  bool      // whether one succeeded
	tried   bool      // whether one ended
	err     error     // of the last listing
}

// openLocation is a location that has answered.
type openLocation struct {
	objects *store.Location
	pattern string
	only    string // key of the single file; "" is all
}

// found is a model file in a location.
type found struct {
	at            *openLocation
	object        store.Object
	name, version string
}

// entry is a model file, or another object with the name of one.
type entry struct {
	found
	err error // why it cannot be read, such as a FIFO; nil
}

// same reports whether two listings show the same content of a file.
func (f found) same(o found) bool { return f.at == o.at && f.object == o.object }

// id identifies the version in the file.
func (f found) id() string { return f.name + "@" + f.version }

// versionOf parses the key of a model file into name and version.
func versionOf(key string) (name, version string, is bool) {
	name, is = strings.CutSuffix(path.Base(key), suffix)
	version = "1"
	if n, v, has := strings.Cut(name, "@"); has {
		name, version = n, v
	}
	return name, version, is && name != "" && version != ""
}

// open opens a model file, a directory of them, or a URL of either.
func (p *location) open(ctx context.Context) (*openLocation, error) {
	if at := p.opened.Load(); at != nil {
		return at, nil
	}
	objects, pattern, err := store.Open(ctx, p.where)
	if err != nil {
		return nil, err
	}
	only, single := store.Single(pattern)
	if single && !strings.HasSuffix(only, suffix) {
		return nil, errors.Join(fmt.Errorf("%s: a model file ends in %s", objects.Name(only), suffix), objects.Close())
	}
	if pattern == "" {
		pattern = "*" + suffix
	}
	at := &openLocation{objects, pattern, only}
	if !p.opened.CompareAndSwap(nil, at) { // another poll was faster
		return p.opened.Load(), objects.Close()
	}
	return at, nil
}

// list returns the model files that exist now.
func (p *location) list(ctx context.Context) ([]entry, error) {
	at, err := p.open(ctx)
	if err != nil {
		return nil, err
	}
	var all []entry
	for o, err := range at.objects.Entries(ctx, at.pattern) {
		if err != nil && (o.Key == "" || ctx.Err() != nil) {
			return nil, err
		}
		if name, version, is := versionOf(o.Key); is {
			all = append(all, entry{found{at, o, name, version}, err})
		}
	}
	return all, nil
}

// single returns the version of the only file, if the location is a single file.
func (p *location) single() (name, version string, is bool) {
	if at := p.opened.Load(); at != nil && at.only != "" {
		return versionOf(at.only)
	}
	return "", "", false
}

// read returns the content of a file as it was found. It fails if the file has changed since.
func (f found) read(ctx context.Context) ([]byte, error) {
	return f.at.objects.Content(ctx, f.object, maxBytes)
}
