package registry

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

	"github.com/psi-shapley/psi"
)

// Options configure a registry.
type Options struct {
	Locations []string      // model files, directories and URLs of buckets
	Rules     string        // YAML file of rules; "" means none
	Backend   psi.Backend   // backend of the models
	Limits    Limits        // of the queue of each version
	Every     time.Duration // interval of the listings
	Observer  Observer

	// ReadTimeout is the timeout of listing a location and of reading an empty file. It grows by a second for each megabyte
	// of a file. 0 means 30 s.
	ReadTimeout time.Duration
}

// NotFoundError is the error of a model or version that is not in service.
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

// Registry holds the models that answer requests. It is safe for concurrent use.
type Registry struct {
	options   Options
	locations []*location
	readers   slots
	builders  slots

	mu       sync.RWMutex
	versions map[string]map[string]*Version // that answer, by name and version
	records  map[string]*record             // of the files in the locations, by id
	off      map[string]bool                // names that were unloaded on request
	rules    Rules
	rulesAt  time.Time
	closed   bool
	failure  error         // why the first look failed, if it cannot succeed
	first    chan struct{} // closed when the first look has ended

	working  sync.WaitGroup // looks and loads
	retiring sync.WaitGroup
}

// Status is the state of a version in an index.
type Status struct{ Name, Version, State, Reason string }

// States of versions.
const (
	Ready       = "READY"
	Unavailable = "UNAVAILABLE"
)

// New returns a registry without models. Watch finds and loads them.
func New(o Options) (*Registry, error) {
	if o.ReadTimeout == 0 {
		o.ReadTimeout = defaultReadTimeout
	}
	reg := &Registry{
		options: o, readers: make(slots, maxReads), builders: make(slots, runtime.GOMAXPROCS(0)),
		versions: map[string]map[string]*Version{}, records: map[string]*record{}, off: map[string]bool{}, first: make(chan struct{}),
	}
	for _, where := range o.Locations {
		reg.locations = append(reg.locations, &location{where: where})
	}
	err := reg.readRules()
	return reg, err
}

// readRules reads the file of rules if it has changed. An invalid file changes nothing.
func (reg *Registry) readRules() error {
	if reg.options.Rules == "" {
		return nil
	}
	info, err := os.Stat(reg.options.Rules)
	if err != nil {
		return err
	}
	reg.mu.Lock()
	same := info.ModTime().Equal(reg.rulesAt)
	reg.rulesAt = info.ModTime() // also of a broken file, which is reported once
	reg.mu.Unlock()
	if same {
		return nil
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s: this is not a regular file", reg.options.Rules)
	}
	content, err := os.ReadFile(reg.options.Rules)
	if err != nil {
		return err
	}
	rules, err := ParseRules(content)
	if err != nil {
		return fmt.Errorf("%s: %w", reg.options.Rules, err)
	}
	reg.mu.Lock()
	defer reg.mu.Unlock()
	reg.rules = *rules
	return nil
}

// Lease returns the version that answers a request. The caller must Release it; until then it stays usable, even if it is
// replaced. An empty name means the only model. Requests with the same id, if not empty, get the same version.
func (reg *Registry) Lease(name, version, id string) (*Version, error) {
	reg.mu.RLock()
	defer reg.mu.RUnlock()
	if name == "" {
		if len(reg.versions) != 1 {
			return nil, &NotFoundError{}
		}
		for only := range reg.versions {
			name = only
		}
	}
	versions := reg.versions[name]
	if len(versions) == 0 {
		return nil, &NotFoundError{Name: name}
	}
	rule := reg.rules.Models[name]
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

// Shadow returns a lease of the shadow version that sees the same rows as v; nil if there is none.
func (reg *Registry) Shadow(of *Version) *Version {
	reg.mu.RLock()
	defer reg.mu.RUnlock()
	rule := reg.rules.Models[of.Name]
	v := reg.versions[of.Name][rule.version(rule.Shadow)]
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

// Names returns the names of the models in service, sorted.
func (reg *Registry) Names() []string {
	reg.mu.RLock()
	defer reg.mu.RUnlock()
	return slices.Sorted(maps.Keys(reg.versions))
}

// Versions returns the versions of a model in service, in ascending order.
func (reg *Registry) Versions(name string) []string {
	reg.mu.RLock()
	defer reg.mu.RUnlock()
	return slices.SortedFunc(maps.Keys(reg.versions[name]), compareVersions)
}

// Index lists all versions, with the reason of those that are not in service. A version is listed twice if its new file
// failed and an older one is in service.
func (reg *Registry) Index() []Status {
	reg.mu.RLock()
	defer reg.mu.RUnlock()
	var all []Status
	for name, versions := range reg.versions {
		for number := range versions {
			all = append(all, Status{name, number, Ready, ""})
		}
	}
	for _, r := range reg.records {
		if r.failed != nil && !reg.off[r.name] {
			all = append(all, Status{r.name, r.version, Unavailable, r.failed.Error()})
		}
	}
	slices.SortFunc(all, func(a, b Status) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), compareVersions(a.Version, b.Version), cmp.Compare(a.State, b.State))
	})
	return all
}

// Close stops listings and loads, and frees all models when their leases end. It returns an error if something has not ended
// before the context does.
func (reg *Registry) Close(ctx context.Context) error {
	reg.mu.Lock()
	reg.closed = true
	for _, r := range reg.records {
		r.cancel()
	}
	reg.mu.Unlock()
	reg.retireIf(func(*Version) bool { return true })
	done := make(chan struct{})
	go func() {
		reg.working.Wait()
		reg.retiring.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		return errors.New("shutdown timeout: a model that is being loaded or used was left behind")
	}
	var err error
	for _, p := range reg.locations {
		if at := p.opened.Load(); at != nil {
			err = errors.Join(err, at.objects.Close())
		}
	}
	return err
}
