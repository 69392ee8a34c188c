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

// record is what the registry knows of a file that is in a location: how it looks now, and what came of loading it.
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

// cancel ends the load that is under way.
func (r *record) cancel() {
	if r.attempt != nil {
		r.attempt.cancel()
	}
}

// Watch looks at the locations, and loads what is new or not what it was, until the context ends. Each location is looked at by
// itself: one that does not answer keeps no other waiting.
func (reg *Registry) Watch(ctx context.Context) {
	for _, p := range reg.locations {
		reg.working.Go(func() { reg.repeat(ctx, func() { reg.look(ctx, p) }) })
	}
	told := ""
	reg.repeat(ctx, func() {
		if err := reg.readRules(); err != nil && err.Error() != told {
			told = err.Error()
			reg.options.Observer.Unlisted(err)
		}
	})
}

// repeat does something until the context ends.
func (reg *Registry) repeat(ctx context.Context, do func()) {
	tick := time.NewTicker(reg.options.Every)
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

// look lists a location and starts what follows from it.
func (reg *Registry) look(ctx context.Context, p *location) {
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

// refusal is why a location can never be looked at, as far as its first listing tells: one that may succeed later is no
// reason.
func (p *location) refusal() error {
	if p.err != nil && !store.Passing(p.err) {
		return p.err
	}
	if _, _, is := p.single(); is && p.err == nil && len(p.entries) == 0 {
		return fmt.Errorf("%s: %w", p.where, store.ErrNotFound)
	}
	return nil
}

// failFirst ends the first look with an error. Only what a location or a file shows at first may do so: a server that has been
// at work for a while does not end because of one of them. It needs the lock.
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

// reconcile compares what is in the locations with what is loaded: new and changed files are loaded, versions whose file is
// gone are retired. As long as a location cannot be listed nothing is retired.
func (reg *Registry) reconcile() {
	var told []func()
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
			told = append(told, reg.refuse(r))
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
	for _, tell := range told {
		tell()
	}
	reg.retireIf(func(v *Version) bool { return reg.records[v.file.id()] == nil })
}

// record is that of a file, which may be new. It needs the lock.
func (reg *Registry) record(e entry) *record {
	r := reg.records[e.id()]
	if r == nil {
		r = &record{}
		reg.records[e.id()] = r
	}
	r.entry, r.listed = e, time.Now()
	return r
}

// refuse takes note of a file that cannot be a model, and returns what tells so, once. It needs the lock.
func (reg *Registry) refuse(r *record) (tell func()) {
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

// due tells whether a file is to be loaded now. It needs the lock.
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

// endFirst ends the first look if all locations were listed and all files tried. It needs the lock.
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

// First waits for the end of the first look: all locations were listed and each of their files was tried. It fails if a
// location can never be looked at, or if a single file that was named cannot be loaded for a reason that will not pass.
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

// Ready tells why the registry is not ready, or nil if it is: the first look has ended, every single file that was named
// answers, and so does at least one model if the locations hold any. What was unloaded on request need not answer.
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

// named tells whether a file is a location by itself, not one of a directory or bucket.
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
