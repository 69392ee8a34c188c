package auth

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

const (
	checkInterval = time.Second // at files, at most
	maxContent    = 4 << 20     // bytes of a file
)

// source is a file to read again when it changes.
type source struct {
	path   string
	secret bool // others must not be able to read or write it
}

// reloaded is a value made from files, and made again when they change. It looks at the files when the value is used, so
// there is nothing to close. It compares contents, since times and sizes miss changes.
type reloaded[T any] struct {
	sources []source
	parse   func(contents [][]byte) (T, error)
	report  func(error)
	now     func() time.Time

	current atomic.Pointer[T]
	looking sync.Mutex // held by the goroutine that looks; the others use the current value
	looked  atomic.Int64
	seen    [][]byte // contents that current was made of, or that were invalid
	problem string   // last reported
}

// reload reads the files for the first time. Later errors go to report.
func reload[T any](sources []source, parse func([][]byte) (T, error), report func(error), now func() time.Time) (*reloaded[T], error) {
	r := &reloaded[T]{sources: sources, parse: parse, report: report, now: now}
	contents, err := r.read()
	if err != nil {
		return nil, err
	}
	value, err := parse(contents)
	if err != nil {
		return nil, err
	}
	r.current.Store(&value)
	r.seen = contents
	r.looked.Store(now().UnixNano())
	return r, nil
}

func (r *reloaded[T]) get() T {
	now := r.now().UnixNano()
	if now-r.looked.Load() >= int64(checkInterval) && r.looking.TryLock() {
		defer r.looking.Unlock()
		r.looked.Store(now)
		r.look()
	}
	return *r.current.Load()
}

// look puts changed files into force, and reports each error once.
func (r *reloaded[T]) look() {
	contents, err := r.read()
	if err == nil {
		if equal(contents, r.seen) {
			return
		}
		r.seen = contents
		var value T
		if value, err = r.parse(contents); err == nil {
			r.current.Store(&value)
		}
	} else {
		r.seen = nil
	}
	problem := ""
	if err != nil {
		problem = err.Error()
		if problem != r.problem {
			r.report(fmt.Errorf("%w; what was read before stays in force", err))
		}
	}
	r.problem = problem
}

func (r *reloaded[T]) read() ([][]byte, error) {
	contents := make([][]byte, len(r.sources))
	for i, s := range r.sources {
		var err error
		if contents[i], err = s.read(); err != nil {
			return nil, err
		}
	}
	return contents, nil
}

func equal(a, b [][]byte) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !bytes.Equal(a[i], b[i]) {
			return false
		}
	}
	return true
}

func (s source) read() ([]byte, error) {
	file, err := os.Open(s.path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no file", s.path)
	}
	// The group may read: that is how a process that is not root reads a secret in Kubernetes.
	if s.secret && info.Mode().Perm()&0o037 != 0 && runtime.GOOS != "windows" {
		return nil, fmt.Errorf("%s is open to others (mode %04o): run chmod 600 %s; of a Kubernetes secret, set defaultMode to 0440",
			s.path, info.Mode().Perm(), s.path)
	}
	content, err := io.ReadAll(io.LimitReader(file, maxContent+1))
	if err != nil {
		return nil, err
	}
	if len(content) > maxContent {
		return nil, fmt.Errorf("%s has more than %d bytes", s.path, maxContent)
	}
	if len(content) == 0 {
		return nil, fmt.Errorf("%s: %w", s.path, errEmpty)
	}
	return content, nil
}

// errEmpty is the error of an empty file, which editors leave for a moment while they write.
var errEmpty = errors.New("the file is empty")
