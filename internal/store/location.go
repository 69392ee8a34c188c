// Package store is the locations where tables, models and results lie: directories, and buckets of an object store.
// Both are listed in order and in bounded memory, read by ranges, and written so that an object is there whole or not at all.
package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
)

// Object is one that was found in a location.
type Object struct {
	Key     string // with slashes, from the location on
	Size    int64
	Version string // differs when the content does: the ETag; on disk, size and time of the last change
}

// Location is where objects lie: a directory, or a bucket below a prefix. It is safe for concurrent use.
type Location struct{ backend }

// backend is what directories and buckets have in common.
type backend interface {
	list(ctx context.Context, p pattern) iter.Seq2[Object, error]
	stat(ctx context.Context, key string) (Object, error)
	open(ctx context.Context, o Object) (access, error)
	create(ctx context.Context, key string) (*Writer, error)
	remove(ctx context.Context, key string) error
	name(key string) string
	close() error
}

// Errors that callers tell apart; those of this package wrap them.
var (
	ErrNotFound = errors.New("there is no such file or object")
	ErrChanged  = errors.New("the object is not what it was: it has been changed or replaced")

	ErrNotRegular = errors.New("this is not a regular file")
)

// directoryError is the error of a directory where an object is looked for.
type directoryError struct{}

func (directoryError) Error() string        { return "this is a directory, not a file" }
func (directoryError) Is(target error) bool { return target == ErrNotFound || target == ErrNotRegular }

func isDirectory(err error) bool {
	_, is := errors.AsType[directoryError](err)
	return is
}

// Open finds what people name: a file, a directory, or a pattern of either, by path or by URL. The location ends where the
// first wildcard's directory ends, and the pattern is the rest. An object's own name is a pattern that matches just it,
// and "" matches everything below.
func Open(ctx context.Context, where string) (*Location, string, error) {
	if !IsURL(where) {
		return openDisk(where)
	}
	a, err := parseAddress(where)
	if err != nil {
		return nil, "", err
	}
	if a.scheme == fileScheme {
		return openDisk(a.path)
	}
	return openBucket(ctx, a)
}

// Create is the location that where names, to write into. A directory is made if it is not there.
func Create(ctx context.Context, where string) (*Location, error) {
	if IsURL(where) {
		a, err := parseAddress(where)
		if err != nil {
			return nil, err
		}
		if a.scheme != fileScheme {
			return createBucket(ctx, a)
		}
		where = a.path
	}
	if err := makeDirectory(filepath.Clean(where)); err != nil {
		return nil, fault(where, err)
	}
	return &Location{disk{where}}, nil
}

// List is the objects that match a pattern, in the order of their keys' bytes. * stands for any part of a name, ? for one
// character, [ab] for one of some, and ** for any directories; a backslash makes the next character mean itself. Names
// that begin with _ or . are left out, and so is what lies below them, unless the pattern's own part begins so.
//
// A file that cannot be looked at, or is not a regular one, is an error beside an Object that has its key; the listing can
// go on past it. An error without a key ends it.
func (l *Location) List(ctx context.Context, text string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		for o, err := range l.Entries(ctx, text) {
			if !isDirectory(err) && !yield(o, err) {
				return
			}
		}
	}
}

// Entries is List, with an error also for every directory whose name matches.
func (l *Location) Entries(ctx context.Context, text string) iter.Seq2[Object, error] {
	parsed, err := parsePattern(text)
	if err != nil {
		return func(yield func(Object, error) bool) { yield(Object{}, err) }
	}
	key, single := parsed.literal()
	if !single {
		return l.list(ctx, parsed)
	}
	return func(yield func(Object, error) bool) {
		o, err := l.stat(ctx, key)
		if !errors.Is(err, ErrNotFound) {
			yield(o, err)
		}
	}
}

// Stat is the object of a key.
func (l *Location) Stat(ctx context.Context, key string) (Object, error) { return l.stat(ctx, key) }

// Same sees that an object is what it was.
func (l *Location) Same(ctx context.Context, o Object) error {
	now, err := l.stat(ctx, o.Key)
	if err != nil {
		return err
	}
	if now != o {
		return fmt.Errorf("%s: %w", l.name(o.Key), ErrChanged)
	}
	return nil
}

// Open reads an object, and fails with ErrChanged if it is not what it was. S3 sees to that at every range; elsewhere
// what is replaced later is seen by Same only.
func (l *Location) Open(ctx context.Context, o Object) (*Reader, error) {
	from, err := l.open(ctx, o)
	if err != nil {
		return nil, err
	}
	return &Reader{access: from}, nil
}

// Read is the content of the object of a key that has at most that many bytes.
func (l *Location) Read(ctx context.Context, key string, most int64) ([]byte, error) {
	o, err := l.stat(ctx, key)
	if err != nil {
		return nil, err
	}
	return l.Content(ctx, o, most)
}

// Content is the content of an object that has at most that many bytes. It is that of the object as it was found, or an
// error that wraps ErrChanged.
func (l *Location) Content(ctx context.Context, o Object, most int64) ([]byte, error) {
	if o.Size > most {
		return nil, fmt.Errorf("%s has %d bytes, more than %d", l.name(o.Key), o.Size, most)
	}
	r, err := l.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	content := make([]byte, o.Size)
	if _, err := io.ReadFull(r, content); err != nil {
		return nil, fault(l.name(o.Key), err)
	}
	return content, fault(l.name(o.Key), r.access.unchanged())
}

// Create writes an object, which is there when the writer has been closed without an error, and not before.
func (l *Location) Create(ctx context.Context, key string) (*Writer, error) {
	return l.create(ctx, key)
}

// Write is Create with all of the content.
func (l *Location) Write(ctx context.Context, key string, content []byte) error {
	w, err := l.create(ctx, key)
	if err != nil {
		return err
	}
	if _, err := w.Write(content); err != nil {
		w.Abort()
		return err
	}
	return w.Close()
}

// Delete removes an object. One that is not there is no error.
func (l *Location) Delete(ctx context.Context, key string) error {
	if err := l.remove(ctx, key); !errors.Is(err, ErrNotFound) {
		return err
	}
	return nil
}

// Name is what people call an object: its path, or its URL without the query.
func (l *Location) Name(key string) string { return l.name(key) }

// Close lets go of the location.
func (l *Location) Close() error { return l.close() }

// openDisk finds a path or a pattern of paths.
func openDisk(where string) (*Location, string, error) {
	info, err := os.Stat(where)
	switch {
	case err == nil && info.IsDir():
		return &Location{disk{where}}, "", nil
	case err == nil:
		directory, base := filepath.Split(where)
		return &Location{disk{filepath.Clean(directory)}}, Quote(base), nil
	case !strings.ContainsAny(where, wildcards):
		return nil, "", fault(where, err)
	}
	directory, rest := splitPattern(filepath.ToSlash(where), wildcards)
	if _, err := parsePattern(rest); err != nil {
		return nil, "", err
	}
	directory = filepath.FromSlash(directory)
	if directory == "" {
		directory = "."
	}
	if _, err := os.Stat(directory); err != nil {
		return nil, "", fault(directory, err)
	}
	return &Location{disk{directory}}, rest, nil
}

// splitPattern splits behind the last slash before the first wildcard.
func splitPattern(where, special string) (directory, rest string) {
	first := strings.IndexAny(where, special)
	if first < 0 {
		first = len(where)
	}
	cut := strings.LastIndexByte(where[:first], '/') + 1
	return where[:cut], where[cut:]
}
