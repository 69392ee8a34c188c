package fleet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/psi-shapley/psi/internal/store"
)

// record is what the fleet knows of a file that is in a place: how it looks now, and what came of loading it.
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

// Watch looks at the places, and loads what is new or not what it was, until the context ends. Each place is looked at by
// itself: one that does not answer keeps no other waiting.
func (f *Fleet) Watch(ctx context.Context) {
	for _, p := range f.places {
		f.working.Go(func() { f.repeat(ctx, func() { f.look(ctx, p) }) })
	}
	told := ""
	f.repeat(ctx, func() {
		if err := f.readRules(); err != nil && err.Error() != told {
			told = err.Error()
			f.options.Observer.Unlisted(err)
		}
	})
}

// repeat does something until the context ends.
func (f *Fleet) repeat(ctx context.Context, do func()) {
	tick := time.NewTicker(f.options.Every)
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

// look lists a place and starts what follows from it.
func (f *Fleet) look(ctx context.Context, p *place) {
	began := time.Now()
	limited, cancel := context.WithTimeout(ctx, f.options.ReadTimeout)
	entries, err := p.list(limited)
	cancel()
	if ctx.Err() != nil {
		return
	}
	f.mu.Lock()
	before := p.err
	if p.err = err; err == nil {
		p.entries, p.began = entries, began
	}
	if !p.tried {
		f.failFirst(p.refusal())
	}
	p.tried, p.looked = true, p.looked || err == nil
	f.mu.Unlock()
	if err != nil && (before == nil || before.Error() != err.Error()) {
		f.options.Observer.Unlisted(err)
	}
	f.reconcile()
}

// refusal is why a place can never be looked at, as far as its first listing tells: one that may succeed later is no
// reason.
func (p *place) refusal() error {
	if p.err != nil && !store.Passing(p.err) {
		return p.err
	}
	if _, _, is := p.single(); is && p.err == nil && len(p.entries) == 0 {
		return fmt.Errorf("%s: %w", p.where, store.ErrNotFound)
	}
	return nil
}

// failFirst ends the first look with an error. Only what a place or a file shows at first may do so: a server that has been
// at work for a while does not end because of one of them. It needs the lock.
func (f *Fleet) failFirst(err error) {
	if err != nil && f.failure == nil && !f.firstEnded() {
		f.failure = err
		close(f.first)
	}
}

func (f *Fleet) firstEnded() bool {
	select {
	case <-f.first:
		return true
	default:
		return false
	}
}

// reconcile compares what is in the places with what is loaded: new and changed files are loaded, versions whose file is
// gone are retired. As long as a place cannot be listed nothing is retired.
func (f *Fleet) reconcile() {
	var told []func()
	f.mu.Lock()
	complete, began := true, time.Now() // when the oldest listing did
	there := map[string]entry{}
	for _, p := range f.places {
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
		r := f.record(there[id])
		if r.err != nil {
			told = append(told, f.refuse(r))
		} else if f.due(r) {
			f.begin(r)
		}
	}
	if complete {
		for id, r := range f.records {
			if _, is := there[id]; !is && r.listed.Before(began) { // else Load has found it since
				r.cancel()
				delete(f.records, id)
			}
		}
	}
	f.endFirst()
	f.mu.Unlock()
	for _, tell := range told {
		tell()
	}
	f.retireIf(func(v *Version) bool { return f.records[v.file.id()] == nil })
}

// record is that of a file, which may be new. It needs the lock.
func (f *Fleet) record(e entry) *record {
	r := f.records[e.id()]
	if r == nil {
		r = &record{}
		f.records[e.id()] = r
	}
	r.entry, r.listed = e, time.Now()
	return r
}

// refuse takes note of a file that cannot be a model, and returns what tells so, once. It needs the lock.
func (f *Fleet) refuse(r *record) (tell func()) {
	before := r.failed
	if f.named(r.found) && !r.ended {
		f.failFirst(r.err)
	}
	r.ended, r.failed, r.final = true, r.err, false
	if before != nil && before.Error() == r.err.Error() {
		return func() {}
	}
	name, version, err := r.name, r.version, r.err
	return func() { f.options.Observer.Failed(name, version, err, 0) }
}

// due tells whether a file is to be loaded now. It needs the lock.
func (f *Fleet) due(r *record) bool {
	current := f.versions[r.name][r.version]
	switch {
	case f.closed || f.off[r.name] || r.attempt != nil:
		return false
	case current != nil && current.file.same(r.found):
		r.ended, r.failed = true, nil // what failed in between is gone
		return false
	case r.failed != nil && r.tried.same(r.found):
		return !r.final && !time.Now().Before(r.next)
	}
	return true
}

// endFirst ends the first look if all places were listed and all files tried. It needs the lock.
func (f *Fleet) endFirst() {
	if f.firstEnded() || slices.ContainsFunc(f.places, func(p *place) bool { return !p.looked }) {
		return
	}
	for _, r := range f.records {
		if !r.ended && !f.off[r.name] {
			return
		}
	}
	close(f.first)
}

// First waits for the end of the first look: all places were listed and each of their files was tried. It fails if a
// place can never be looked at, or if a single file that was named cannot be loaded for a reason that will not pass.
func (f *Fleet) First(ctx context.Context) error {
	select {
	case <-f.first:
		f.mu.RLock()
		defer f.mu.RUnlock()
		return f.failure
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Ready tells why the fleet is not ready, or nil if it is: the first look has ended, every single file that was named
// answers, and so does at least one model if the places hold any. What was unloaded on request need not answer.
func (f *Fleet) Ready() error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if !f.firstEnded() || f.failure != nil {
		return errors.New("models are being loaded")
	}
	for _, p := range f.places {
		if name, version, is := p.single(); is && !f.off[name] && f.versions[name][version] == nil {
			return errors.New("a model that was named at the start does not answer")
		}
	}
	for _, r := range f.records {
		if len(f.versions) == 0 && r.err == nil && !f.off[r.name] {
			return errors.New("no model answers")
		}
	}
	return nil
}

// named tells whether a file is a place by itself, not one of a directory or bucket.
func (f *Fleet) named(file found) bool {
	return slices.ContainsFunc(f.places, func(p *place) bool {
		name, version, is := p.single()
		return is && name == file.name && version == file.version
	})
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
