package registry

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/psi-shapley/psi/internal/store"
)

// record is the state of a file in a location: its last listing, and the result of loading it.
type record struct {
	entry             // as it was listed last
	listed  time.Time // when that was, or later
	attempt *attempt  // the load that is under way; nil

	tried    found // the file that was last tried to load
	ended    bool  // whether a load ended, or the file cannot be loaded
	failed   error // of the last load; nil if it succeeded
	final    bool  // what failed will fail until the file changes
	failures int   // since the last success
	next     time.Time
}

// cancel ends the load in progress.
func (r *record) cancel() {
	if r.attempt != nil {
		r.attempt.cancel()
	}
}

// Watch lists the locations again and again, and loads new and changed files, until the context ends. It lists each location
// separately: one that does not answer does not delay the others.
func (reg *Registry) Watch(ctx context.Context) {
	for _, p := range reg.locations {
		reg.working.Go(func() { reg.repeat(ctx, func() { reg.poll(ctx, p) }) })
	}
	reported := ""
	reg.repeat(ctx, func() {
		if err := reg.readRules(); err != nil && err.Error() != reported {
			reported = err.Error()
			reg.options.Observer.Unlisted(err)
		}
	})
}

// repeat calls a function until the context ends.
func (reg *Registry) repeat(ctx context.Context, do func()) {
	tick := time.NewTicker(reg.options.PollInterval)
	defer tick.Stop()
	for {
		do()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// poll lists a location and starts the loads that follow from it.
func (reg *Registry) poll(ctx context.Context, p *location) {
	began := time.Now()
	limited, cancel := context.WithTimeout(ctx, reg.options.ReadTimeout)
	entries, err := p.list(limited)
	cancel()
	if ctx.Err() != nil {
		return
	}
	reg.mu.Lock()
	before := p.err
	if p.err = err; err == nil {
		p.entries, p.began = entries, began
	}
	if !p.tried {
		reg.failFirst(p.refusal())
	}
	p.tried, p.looked = true, p.looked || err == nil
	reg.mu.Unlock()
	if err != nil && (before == nil || before.Error() != err.Error()) {
		reg.options.Observer.Unlisted(err)
	}
	reg.reconcile()
}

// refusal returns the error of a location that can never be listed. An error that may pass is not one.
func (p *location) refusal() error {
	if p.err != nil && !store.IsTransient(p.err) {
		return p.err
	}
	if _, _, is := p.single(); is && p.err == nil && len(p.entries) == 0 {
		return fmt.Errorf("%s: %w", p.where, store.ErrNotFound)
	}
	return nil
}

// failFirst ends the first search with an error. Only the first listing of a location, and the first load of a named file,
// may do so: a server that has been running does not stop because of them. The caller holds the lock.
func (reg *Registry) failFirst(err error) {
	if err != nil && reg.failure == nil && !reg.firstEnded() {
		reg.failure = err
		close(reg.first)
	}
}

func (reg *Registry) firstEnded() bool {
	select {
	case <-reg.first:
		return true
	default:
		return false
	}
}

// reconcile compares the files in the locations with the loaded versions. It loads new and changed files, and retires
// versions whose file is gone. While a location cannot be listed, it retires nothing.
func (reg *Registry) reconcile() {
	var pending []func()
	reg.mu.Lock()
	complete, began := true, time.Now() // when the oldest listing did
	there := map[string]entry{}
	for _, p := range reg.locations {
		complete = complete && p.looked && p.err == nil
		if p.began.Before(began) {
			began = p.began
		}
		for _, e := range p.entries {
			if _, has := there[e.id()]; !has {
				there[e.id()] = e
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(there)) {
		r := reg.record(there[id])
		if r.err != nil {
			pending = append(pending, reg.refuse(r))
		} else if reg.due(r) {
			reg.begin(r)
		}
	}
	if complete {
		for id, r := range reg.records {
			if _, is := there[id]; !is && r.listed.Before(began) { // else Load has found it since
				r.cancel()
				delete(reg.records, id)
			}
		}
	}
	reg.endFirst()
	reg.mu.Unlock()
	for _, notify := range pending {
		notify()
	}
	reg.retireIf(func(v *Version) bool { return reg.records[v.file.id()] == nil })
}

// record returns the record of a file, and creates it for a new file. The caller holds the lock.
func (reg *Registry) record(e entry) *record {
	r := reg.records[e.id()]
	if r == nil {
		r = &record{}
		reg.records[e.id()] = r
	}
	r.entry, r.listed = e, time.Now()
	return r
}

// refuse records a file that cannot be a model. It returns a function that reports this, once. The caller holds the lock.
func (reg *Registry) refuse(r *record) (notify func()) {
	before := r.failed
	if reg.named(r.found) && !r.ended {
		reg.failFirst(r.err)
	}
	r.ended, r.failed, r.final = true, r.err, false
	if before != nil && before.Error() == r.err.Error() {
		return func() {}
	}
	name, version, err := r.name, r.version, r.err
	return func() { reg.options.Observer.Failed(name, version, err, 0) }
}

// due reports whether a file is to be loaded now. The caller holds the lock.
func (reg *Registry) due(r *record) bool {
	current := reg.versions[r.name][r.version]
	switch {
	case reg.closed || reg.off[r.name] || r.attempt != nil:
		return false
	case current != nil && current.file.same(r.found):
		r.ended, r.failed = true, nil // what failed in between is gone
		return false
	case r.failed != nil && r.tried.same(r.found):
		return !r.final && !time.Now().Before(r.next)
	}
	return true
}

// endFirst ends the first search if all locations were listed and all files tried. The caller holds the lock.
func (reg *Registry) endFirst() {
	if reg.firstEnded() || slices.ContainsFunc(reg.locations, func(p *location) bool { return !p.looked }) {
		return
	}
	for _, r := range reg.records {
		if !r.ended && !reg.off[r.name] {
			return
		}
	}
	close(reg.first)
}

// First waits for the first search: until all locations were listed and each of their files was tried. It returns an error
// if a location can never be listed, or if a single named file cannot be loaded for a reason that will not pass.
func (reg *Registry) First(ctx context.Context) error {
	select {
	case <-reg.first:
		reg.mu.RLock()
		defer reg.mu.RUnlock()
		return reg.failure
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Ready returns nil if the registry is ready, and the reason otherwise. It is ready when the first search has ended, every
// named file is in service, and at least one model is if the locations hold any. Unloaded models do not count.
func (reg *Registry) Ready() error {
	reg.mu.RLock()
	defer reg.mu.RUnlock()
	if !reg.firstEnded() || reg.failure != nil {
		return errors.New("models are being loaded")
	}
	for _, p := range reg.locations {
		if name, version, is := p.single(); is && !reg.off[name] && reg.versions[name][version] == nil {
			return errors.New("a model that was named at the start does not answer")
		}
	}
	for _, r := range reg.records {
		if len(reg.versions) == 0 && r.err == nil && !reg.off[r.name] {
			return errors.New("no model answers")
		}
	}
	return nil
}

// named reports whether a file is itself a location, and not one of a directory or bucket.
func (reg *Registry) named(file found) bool {
	return slices.ContainsFunc(reg.locations, func(p *location) bool {
		name, version, is := p.single()
		return is && name == file.name && version == file.version
	})
}

func (reg *Registry) retireIf(is func(v *Version) bool) {
	reg.mu.Lock()
	defer reg.mu.Unlock()
	for name, versions := range reg.versions {
		for number, v := range versions {
			if is(v) {
				delete(versions, number)
				reg.retiring.Go(v.retire)
			}
		}
		if len(versions) == 0 {
			delete(reg.versions, name)
		}
	}
}
