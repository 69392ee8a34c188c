package registry

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/psi-shapley/psi/internal/artifact"
	"github.com/psi-shapley/psi/internal/store"
)

// Limits of loading.
const (
	maxReads           = 16 // files read at once; the number of cores limits decoding
	defaultReadTimeout = 30 * time.Second
	minReadRate        = 1 << 20     // bytes a second
	maxBackoff         = time.Minute // between attempts to load a failing file
)

// slots limits the number of concurrent operations.
type slots chan struct{}

// take waits for a slot, unless the operation is urgent.
func (s slots) take(ctx context.Context, urgent <-chan struct{}) (free func(), err error) {
	select {
	case s <- struct{}{}:
		return func() { <-s }, nil
	case <-urgent:
		return func() {}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// attempt is a load in progress.
type attempt struct {
	file       found
	cancel     context.CancelFunc
	urgent     chan struct{} // closed if it must not wait for other loads
	urgentOnce sync.Once
	done       chan struct{}
	err        error // once it is done
}

// begin starts to load a file. The caller holds the lock.
func (reg *Registry) begin(r *record) {
	ctx, cancel := context.WithCancel(context.Background())
	a := &attempt{file: r.found, cancel: cancel, urgent: make(chan struct{}), done: make(chan struct{})}
	r.attempt = a
	reg.working.Go(func() {
		defer cancel()
		v, err := reg.load(ctx, a)
		reg.ended(a, v, err)
	})
}

// load reads a file, checks that the model answers, and starts its workers.
func (reg *Registry) load(ctx context.Context, a *attempt) (*Version, error) {
	free, err := reg.readers.take(ctx, a.urgent)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	content, err := reg.read(ctx, a.file)
	took := time.Since(start)
	var build func()
	if err == nil {
		build, err = reg.builders.take(ctx, a.urgent)
	}
	free() // not earlier: the contents of files that wait to be decoded are in memory
	if err != nil {
		return nil, err
	}
	defer build()
	start = time.Now()
	v, err := reg.build(a.file, content)
	if err != nil {
		return nil, err
	}
	v.Cost = Cost{File: int64(len(content)), Took: took + time.Since(start), Memory: v.Model.Memory()}
	return v, nil
}

// read returns the content of a file. The timeout depends on its size.
func (reg *Registry) read(ctx context.Context, file found) ([]byte, error) {
	limit := reg.options.ReadTimeout + time.Duration(file.object.Size/minReadRate)*time.Second
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	content, err := file.read(ctx)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return nil, fmt.Errorf("%s: reading took longer than %v: %w", file.at.objects.Name(file.object.Key), limit, context.DeadlineExceeded)
	}
	return content, err
}

// ended puts a loaded version into service, or records why it failed.
func (reg *Registry) ended(a *attempt, v *Version, err error) {
	notify := func() {}
	reg.mu.Lock()
	r := reg.records[a.file.id()]
	switch {
	case reg.closed || reg.off[a.file.name] || r == nil || r.attempt != a || errors.Is(err, context.Canceled): // nobody wants it any more
		a.err = context.Canceled
		if v != nil {
			reg.retiring.Go(v.retire)
		}
	case err != nil:
		a.err = err
		notify = reg.fail(r, a.file, err)
	default:
		notify = reg.swap(r, v)
	}
	if r != nil && r.attempt == a {
		r.attempt, r.ended = nil, true
	}
	reg.endFirst()
	reg.mu.Unlock()
	notify()
	close(a.done)
}

// fail records a failed load, and returns a function that reports it. Only a fault of the content itself is final; other
// errors are tried again after increasing pauses. The caller holds the lock.
func (reg *Registry) fail(r *record, file found, err error) (notify func()) {
	if errors.Is(err, store.ErrChanged) || errors.Is(err, store.ErrNotFound) {
		return func() {} // the next listing tells what is there now
	}
	if !r.tried.same(file) {
		r.failures = 0
	}
	r.final = artifact.Refused(err)
	pause := min(maxBackoff, reg.options.PollInterval<<min(r.failures, 10))
	r.tried, r.failed, r.failures, r.next = file, err, r.failures+1, time.Now().Add(pause)
	if r.final {
		pause = 0
	}
	if reg.named(file) && !r.ended && !store.IsTransient(err) {
		reg.failFirst(err)
	}
	return func() { reg.options.Observer.Failed(file.name, file.version, err, pause) }
}

// swap puts a version into service and retires the one it replaces. It returns a function that reports this. The caller
// holds the lock.
func (reg *Registry) swap(r *record, v *Version) (notify func()) {
	old := reg.versions[v.Name][v.Version]
	if reg.versions[v.Name] == nil {
		reg.versions[v.Name] = map[string]*Version{}
	}
	reg.versions[v.Name][v.Version] = v
	r.tried, r.failed, r.final, r.failures = v.file, nil, false, 0
	if old != nil {
		reg.retiring.Go(old.retire)
	}
	return func() { reg.options.Observer.Loaded(v) }
}

// Load searches for new versions of a model at once, even if the model was unloaded, and tries failed ones again. It does
// not wait for other models. It returns an error if a version cannot be loaded, and a *NotFoundError if there is none.
func (reg *Registry) Load(ctx context.Context, name string) error {
	reg.mu.Lock()
	delete(reg.off, name)
	reg.mu.Unlock()
	entries, err := reg.find(ctx, name)
	if len(entries) == 0 {
		if err == nil {
			err = &NotFoundError{Name: name}
		}
		return err
	}
	var failed error
	for _, e := range entries {
		if failed == nil {
			failed = e.err
		}
		for a := reg.loadNow(e); a != nil; {
			select {
			case <-a.done:
			case <-ctx.Done():
				return ctx.Err()
			}
			if a.file.same(e.found) && !errors.Is(a.err, context.Canceled) {
				failed = errors.Join(failed, a.err)
				break
			}
			a = reg.loadNow(e) // what was under way was another content, or was unloaded
		}
	}
	return failed
}

// find lists the files of a model. It leaves out locations that do not answer soon.
func (reg *Registry) find(ctx context.Context, name string) (all []entry, err error) {
	const soon = 5 * time.Second
	ctx, cancel := context.WithTimeout(ctx, min(soon, reg.options.ReadTimeout))
	defer cancel()
	type listing struct {
		entries []entry
		err     error
	}
	lists := make([]chan listing, len(reg.locations))
	for i, p := range reg.locations {
		lists[i] = make(chan listing, 1)
		go func() {
			entries, err := p.list(ctx)
			lists[i] <- listing{entries, err}
		}()
	}
	known := map[string]bool{}
	for i := range lists {
		var l listing
		select {
		case l = <-lists[i]:
		case <-ctx.Done():
			l.err = fmt.Errorf("%s: %w", reg.locations[i].where, ctx.Err())
		}
		err = errors.Join(err, l.err)
		for _, e := range l.entries {
			if e.name == name && !known[e.id()] {
				known[e.id()] = true
				all = append(all, e)
			}
		}
	}
	return all, err
}

// loadNow loads a file at once, even if it failed before. It returns nil if the file is already in service or cannot be a
// model.
func (reg *Registry) loadNow(e entry) *attempt {
	reg.mu.Lock()
	defer reg.mu.Unlock()
	current := reg.versions[e.name][e.version]
	if reg.closed || e.err != nil || current != nil && current.file.same(e.found) {
		return nil
	}
	r := reg.record(e)
	if r.attempt == nil {
		reg.begin(r)
	}
	r.attempt.urgentOnce.Do(func() { close(r.attempt.urgent) })
	return r.attempt
}

// Unload takes a model out of service until Load is called. It returns a *NotFoundError if there is none of that name.
func (reg *Registry) Unload(name string) error {
	reg.mu.Lock()
	known := len(reg.versions[name]) > 0
	for _, r := range reg.records {
		known = known || r.name == name && (r.attempt != nil || r.failed != nil)
	}
	if !known || reg.off[name] {
		reg.mu.Unlock()
		return &NotFoundError{Name: name}
	}
	reg.off[name] = true
	for _, r := range reg.records {
		if r.name == name {
			r.cancel()
			r.failed, r.final = nil, false
		}
	}
	reg.mu.Unlock()
	reg.retireIf(func(v *Version) bool { return v.Name == name })
	return nil
}
