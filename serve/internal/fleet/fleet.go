package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
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

// Fleet is the models that answer requests.
type Fleet struct {
	options Options
	places  []*place

	scanning sync.Mutex // one look at the places at a time; guards what follows
	refused  map[string]found
	rulesAt  time.Time

	mu       sync.RWMutex
	versions map[string]map[string]*Version // by name and version
	failures map[string]Status              // of files that could not be loaded, by key
	off      map[string]bool                // names that were unloaded on request
	rules    Rules

	retiring sync.WaitGroup
}

// Status is that of a version in an index.
type Status struct{ Name, Version, State, Reason string }

// States of versions.
const (
	Ready       = "READY"
	Unavailable = "UNAVAILABLE"
)

// Open finds the models and loads them. Of a directory or bucket, what can be loaded is; a single file must be.
func Open(ctx context.Context, o Options) (*Fleet, error) {
	f := &Fleet{
		options: o, refused: map[string]found{}, versions: map[string]map[string]*Version{},
		failures: map[string]Status{}, off: map[string]bool{},
	}
	for _, where := range o.Places {
		p, err := openPlace(ctx, where)
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		f.places = append(f.places, p)
	}
	if err := f.readRules(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if err := f.scan(ctx); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	for _, p := range f.places {
		for _, s := range f.failures {
			if p.only != "" && p.only == s.Name+suffix {
				return nil, errors.Join(errors.New(s.Reason), f.Close())
			}
		}
	}
	return f, nil
}

// Watch looks at the places again and again until the context ends.
func (f *Fleet) Watch(ctx context.Context) {
	tick := time.NewTicker(f.options.Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := f.readRules(); err != nil {
			f.options.Observer.Unlisted(err)
		}
		if err := f.scan(ctx); err != nil && ctx.Err() == nil {
			f.options.Observer.Unlisted(err)
		}
	}
}

// readRules takes in the rules if their file is new. Broken ones change nothing.
func (f *Fleet) readRules() error {
	if f.options.Rules == "" {
		return nil
	}
	f.scanning.Lock()
	defer f.scanning.Unlock()
	info, err := os.Stat(f.options.Rules)
	if err != nil || info.ModTime().Equal(f.rulesAt) {
		return err
	}
	f.rulesAt = info.ModTime() // also of a broken file, which is told once
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

// scan compares what is in the places with what is loaded: new and changed files are loaded, versions whose file is gone
// are retired. If a place cannot be listed nothing is retired.
func (f *Fleet) scan(ctx context.Context) error {
	f.scanning.Lock()
	defer f.scanning.Unlock()
	there := map[string]found{}
	var failed error
	for _, p := range f.places {
		list, err := p.list(ctx)
		failed = errors.Join(failed, err)
		for _, file := range list {
			if id := file.name + "@" + file.version; there[id].place == nil {
				there[id] = file
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(there)) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		f.consider(ctx, id, there[id])
	}
	if failed == nil {
		f.retireMissing(there)
	}
	return failed
}

// consider loads a file that is new, or not what it was.
func (f *Fleet) consider(ctx context.Context, id string, file found) {
	f.mu.RLock()
	current, off := f.versions[file.name][file.version], f.off[file.name]
	f.mu.RUnlock()
	if off || current != nil && current.file.same(file) || f.refused[id].same(file) {
		return
	}
	v, err := f.load(ctx, file)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		f.refused[id] = file
		f.mu.Lock()
		f.failures[id] = Status{file.name, file.version, Unavailable, err.Error()}
		f.mu.Unlock()
		f.options.Observer.Failed(file.name, file.version, err)
		return
	}
	delete(f.refused, id)
	f.swap(v)
}

// swap lets a version answer from now on; the one it replaces is retired.
func (f *Fleet) swap(v *Version) {
	f.mu.Lock()
	old := f.versions[v.Name][v.Version]
	if f.versions[v.Name] == nil {
		f.versions[v.Name] = map[string]*Version{}
	}
	f.versions[v.Name][v.Version] = v
	delete(f.failures, v.Name+"@"+v.Version)
	f.mu.Unlock()
	if old != nil {
		f.retiring.Go(old.retire)
	}
	f.options.Observer.Loaded(v)
}

// retireMissing retires versions whose file is gone, and forgets failures of such files.
func (f *Fleet) retireMissing(there map[string]found) {
	f.retireIf(func(v *Version) bool { return there[v.Name+"@"+v.Version].place == nil })
	f.mu.Lock()
	defer f.mu.Unlock()
	for id := range f.failures {
		if there[id].place == nil {
			delete(f.failures, id)
			delete(f.refused, id)
		}
	}
}

func (f *Fleet) retireIf(is func(v *Version) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for name, versions := range f.versions {
		for number, v := range versions {
			if is(v) {
				delete(versions, number)
				f.retiring.Go(v.retire)
			}
		}
		if len(versions) == 0 {
			delete(f.versions, name)
		}
	}
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

// Index lists all versions, with why some cannot answer.
func (f *Fleet) Index() []Status {
	f.mu.RLock()
	defer f.mu.RUnlock()
	var all []Status
	for name, versions := range f.versions {
		for number := range versions {
			all = append(all, Status{name, number, Ready, ""})
		}
	}
	all = slices.AppendSeq(all, maps.Values(f.failures))
	slices.SortFunc(all, func(a, b Status) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), compareVersions(a.Version, b.Version), cmp.Compare(a.State, b.State))
	})
	return all
}

// Load looks for new versions of a model at once, also if it was unloaded. It fails if one cannot be loaded, or if none is
// there.
func (f *Fleet) Load(ctx context.Context, name string) error {
	f.mu.Lock()
	delete(f.off, name)
	f.mu.Unlock()
	if err := f.scan(ctx); err != nil {
		return err
	}
	for _, s := range f.Index() {
		if s.Name == name && s.State == Unavailable {
			return errors.New(s.Reason)
		}
	}
	if len(f.Versions(name)) == 0 {
		return &NotFoundError{Name: name}
	}
	return nil
}

// Unload retires a model until Load is called.
func (f *Fleet) Unload(name string) error {
	f.scanning.Lock() // so that no look that is under way loads it again
	defer f.scanning.Unlock()
	if len(f.Versions(name)) == 0 {
		return &NotFoundError{Name: name}
	}
	f.mu.Lock()
	f.off[name] = true
	f.mu.Unlock()
	f.retireIf(func(v *Version) bool { return v.Name == name })
	return nil
}

// Close retires all models once nobody uses them.
func (f *Fleet) Close() error {
	f.retireIf(func(*Version) bool { return true })
	f.retiring.Wait()
	var err error
	for _, p := range f.places {
		err = errors.Join(err, p.objects.Close())
	}
	return err
}
