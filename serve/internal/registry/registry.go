// Package registry keeps the models of a server. It finds model files in directories and buckets, loads new versions beside
// old ones and swaps them without losing a request. It chooses the version that answers a request, and lets requests share
// passes of a model.
package registry

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/psi-shapley/psi"
)

// Options configure a registry.
type Options struct {
	Locations    []string      // model files, directories and URLs of buckets
	Rules        string        // YAML file of rules; "" means none
	Backend      psi.Backend   // backend of the models
	Limits       Limits        // of the queue of each version
	PollInterval time.Duration // interval of the listings
	Observer     Observer

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
	failure  error         // why the first poll failed, if it cannot succeed
	first    chan struct{} // closed when the first poll has ended

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

// Rules say which version of a model answers, if not the highest. They are read from YAML:
//
//	models:
//	  credit:
//	    labels: {stable: "3", canary: "4"}   # other names for versions
//	    default: stable                      # answers requests that name no version
//	    split: {stable: 95, canary: 5}       # or: these do, by weight
//	    shadow: canary                       # sees the same rows; nobody gets its answers
type Rules struct {
	Models map[string]Rule `yaml:"models"`
}

// Rule is the rule of one model. It may name versions by their labels.
type Rule struct {
	Labels  map[string]string  `yaml:"labels"`
	Default string             `yaml:"default"`
	Split   map[string]float64 `yaml:"split"`
	Shadow  string             `yaml:"shadow"`
}

// ParseRules parses and checks rules in YAML.
func ParseRules(content []byte) (*Rules, error) {
	var r Rules
	d := yaml.NewDecoder(bytes.NewReader(content))
	d.KnownFields(true)
	if err := d.Decode(&r); err != nil {
		return nil, err
	}
	for name, rule := range r.Models {
		if rule.Default != "" && len(rule.Split) > 0 {
			return nil, fmt.Errorf("model %q has a default and a split: choose one", name)
		}
		sum := 0.0
		for version, weight := range rule.Split {
			if !(weight >= 0) || math.IsInf(weight, 0) {
				return nil, fmt.Errorf("model %q: version %q has the weight %g: it must be a number from 0", name, version, weight)
			}
			sum += weight
		}
		if len(rule.Split) > 0 && !(sum > 0) {
			return nil, fmt.Errorf("model %q: all weights of its split are 0", name)
		}
	}
	return &r, nil
}

// version resolves a label. Other names stand for themselves.
func (r Rule) version(name string) string {
	if v, is := r.Labels[name]; is {
		return v
	}
	return name
}

// choose returns the version for a request that names none: by the split, else the default, else "" for the highest.
// Requests with the same id get the same version while the split stays the same.
func (r Rule) choose(id string) string {
	if len(r.Split) == 0 {
		return r.version(r.Default)
	}
	at := rand.Float64()
	if id != "" {
		h := fnv.New64a()
		_, _ = h.Write([]byte(id)) // never fails
		at = float64(mixed(h.Sum64())>>11) / (1 << 53)
	}
	names := slices.Sorted(maps.Keys(r.Split))
	sum := 0.0
	for _, name := range names {
		sum += r.Split[name]
	}
	for _, name := range names {
		if at -= r.Split[name] / sum; at < 0 {
			return r.version(name)
		}
	}
	return r.version(names[len(names)-1]) // rounding
}

// mixed spreads differences in the low bits over all bits, since ids often differ only in their last letter.
func mixed(h uint64) uint64 {
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

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
