package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Options say what a fleet holds.
type Options struct {
	Places   []string      // model files, directories and URLs of buckets
	Rules    string        // file of rules; "" if there is none
	Backend  string        // that models run on
	Limits   Limits        // of what waits for a model
	Every    time.Duration // between looks at the places
	Observer Observer

	// ReadTimeout is how long listing a place, or reading a file of no bytes, may take; a file has a second more for each
	// megabyte. 0 means 30 s.
	ReadTimeout time.Duration
}

// NotFoundError is the error of a model or version that is not there.
type NotFoundError struct{ Name, Version string }

func (n *NotFoundError) Error() string {
	switch {
	case n.Name == "":
		return "which model is meant? There is not exactly one: name it"
	case n.Version != "":
		return fmt.Sprintf("model %q has no version %q", n.Name, n.Version)
	}
	return fmt.Sprintf("there is no model %q", n.Name)
}

// Fleet is the models that answer requests. It is safe for concurrent use.
type Fleet struct {
	options  Options
	places   []*place
	readers  slots
	builders slots

	mu       sync.RWMutex
	versions map[string]map[string]*Version // that answer, by name and version
	records  map[string]*record             // of the files in the places, by id
	off      map[string]bool                // names that were unloaded on request
	rules    Rules
	rulesAt  time.Time
	closed   bool
	failure  error         // why the first look failed, if it cannot succeed
	first    chan struct{} // closed when the first look has ended

	working  sync.WaitGroup // looks and loads
	retiring sync.WaitGroup
}

// Status is that of a version in an index.
type Status struct{ Name, Version, State, Reason string }

// States of versions.
const (
	Ready       = "READY"
	Unavailable = "UNAVAILABLE"
)

// New is a fleet without models. Watch finds and loads them.
func New(o Options) (*Fleet, error) {
	if o.ReadTimeout == 0 {
		o.ReadTimeout = defaultReadTimeout
	}
	f := &Fleet{
		options: o, readers: make(slots, maxReads), builders: make(slots, runtime.GOMAXPROCS(0)),
		versions: map[string]map[string]*Version{}, records: map[string]*record{}, off: map[string]bool{}, first: make(chan struct{}),
	}
	for _, where := range o.Places {
		f.places = append(f.places, &place{where: where})
	}
	err := f.readRules()
	return f, err
}

// readRules takes in the rules if their file is new. Broken ones change nothing.
func (f *Fleet) readRules() error {
	if f.options.Rules == "" {
		return nil
	}
	info, err := os.Stat(f.options.Rules)
	if err != nil {
		return err
	}
	f.mu.Lock()
	same := info.ModTime().Equal(f.rulesAt)
	f.rulesAt = info.ModTime() // also of a broken file, which is reported once
	f.mu.Unlock()
	if same {
		return nil
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s: this is not a regular file", f.options.Rules)
	}
	content, err := os.ReadFile(f.options.Rules)
	if err != nil {
		return err
	}
	rules, err := ParseRules(content)
	if err != nil {
		return fmt.Errorf("%s: %w", f.options.Rules, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules = *rules
	return nil
}

// Lease is the version that answers a request; it stays until it is released. A request without a name means the only
// model. id, if not empty, makes requests of one id go to one version.
func (f *Fleet) Lease(name, version, id string) (*Version, error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if name == "" {
		if len(f.versions) != 1 {
			return nil, &NotFoundError{}
		}
		for only := range f.versions {
			name = only
		}
	}
	versions := f.versions[name]
	if len(versions) == 0 {
		return nil, &NotFoundError{Name: name}
	}
	rule := f.rules.Models[name]
	wanted := rule.version(version)
	if version == "" {
		wanted = rule.choose(id)
	}
	v := versions[wanted]
	if v == nil && version == "" {
		v = versions[slices.MaxFunc(slices.Collect(maps.Keys(versions)), compareVersions)]
	}
	if v == nil {
		return nil, &NotFoundError{name, version}
	}
	v.leases.Add(1)
	return v, nil
}

// Shadow is a lease of the version that sees the same rows as the given one; nil if there is none.
func (f *Fleet) Shadow(of *Version) *Version {
	f.mu.RLock()
	defer f.mu.RUnlock()
	rule := f.rules.Models[of.Name]
	v := f.versions[of.Name][rule.version(rule.Shadow)]
	if rule.Shadow == "" || v == nil || v == of {
		return nil
	}
	v.leases.Add(1)
	return v
}

// compareVersions orders numbers by size, and before other names.
func compareVersions(a, b string) int {
	x, errX := strconv.Atoi(a)
	y, errY := strconv.Atoi(b)
	switch {
	case errX == nil && errY == nil:
		return cmp.Compare(x, y)
	case errX == nil:
		return 1
	case errY == nil:
		return -1
	}
	return cmp.Compare(a, b)
}

// Names of the models, in order.
func (f *Fleet) Names() []string {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return slices.Sorted(maps.Keys(f.versions))
}

// Versions of a model that answer, in order.
func (f *Fleet) Versions(name string) []string {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return slices.SortedFunc(maps.Keys(f.versions[name]), compareVersions)
}

// Index lists all versions, with why some cannot answer. A version of which an older file answers is there twice.
func (f *Fleet) Index() []Status {
	f.mu.RLock()
	defer f.mu.RUnlock()
	var all []Status
	for name, versions := range f.versions {
		for number := range versions {
			all = append(all, Status{name, number, Ready, ""})
		}
	}
	for _, r := range f.records {
		if r.failed != nil && !f.off[r.name] {
			all = append(all, Status{r.name, r.version, Unavailable, r.failed.Error()})
		}
	}
	slices.SortFunc(all, func(a, b Status) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), compareVersions(a.Version, b.Version), cmp.Compare(a.State, b.State))
	})
	return all
}

// Close ends looks and loads, and retires all models once nobody uses them. If something does not end before the context
// does, it is left behind.
func (f *Fleet) Close(ctx context.Context) error {
	f.mu.Lock()
	f.closed = true
	for _, r := range f.records {
		r.cancel()
	}
	f.mu.Unlock()
	f.retireIf(func(*Version) bool { return true })
	done := make(chan struct{})
	go func() {
		f.working.Wait()
		f.retiring.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		return errors.New("shutdown timeout: a model that is being loaded or used was left behind")
	}
	var err error
	for _, p := range f.places {
		if at := p.opened.Load(); at != nil {
			err = errors.Join(err, at.objects.Close())
		}
	}
	return err
}
