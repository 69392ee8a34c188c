// Package store accesses the locations of tables, models and results: directories, and buckets of an object store. Both
// are listed in order and in bounded memory, read by ranges, and written atomically: an object is complete or does not
// exist.
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

// Object is an object found in a location.
type Object struct {
	Key     string // with slashes, relative to the location
	Size    int64
	Version string // changes with the content: the ETag; on disk, size and modification time
}

// Location is a directory, or a bucket below a prefix. It is safe for concurrent use.
type Location struct{ backend }

// backend is the interface of directories and buckets.
type backend interface {
	list(ctx context.Context, p pattern) iter.Seq2[Object, error]
	stat(ctx context.Context, key string) (Object, error)
	open(ctx context.Context, o Object) (access, error)
	create(ctx context.Context, key string) (*Writer, error)
	remove(ctx context.Context, key string) error
	name(key string) string
	close() error
}

// Errors for errors.Is; other errors of this package wrap them.
var (
	ErrNotFound = errors.New("there is no such file or object")
	ErrChanged  = errors.New("the object is not what it was: it has been changed or replaced")

	ErrNotRegular = errors.New("this is not a regular file")
)

// directoryError reports a directory where an object is expected.
type directoryError struct{}

func (directoryError) Error() string        { return "this is a directory, not a file" }
func (directoryError) Is(target error) bool { return target == ErrNotFound || target == ErrNotRegular }

func isDirectory(err error) bool {
	_, is := errors.AsType[directoryError](err)
	return is
}

// Open resolves a file, a directory, or a pattern of either, by path or by URL. The location ends at the directory of
// the first wildcard; the pattern is the rest. The name of an object is a pattern that matches only it, and "" matches
// everything below.
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

// Create returns the location for writing. It creates a directory that does not exist.
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

// List yields the objects that match a pattern, in the order of their keys' bytes. * matches any part of a name, ? one
// character, [ab] one of several, and ** any directories; a backslash escapes the next character. Names that begin with
// _ or . are skipped, with everything below them, unless the pattern's element begins likewise.
//
// If a file cannot be examined, or is not a regular one, List yields an error with an Object that has its key; the
// listing can continue. An error without a key ends it.
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

// Stat returns the object of a key.
func (l *Location) Stat(ctx context.Context, key string) (Object, error) { return l.stat(ctx, key) }

// Same returns ErrChanged if an object has changed.
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

// Open opens an object for reading, and returns ErrChanged if it has changed. S3 checks that at every range; elsewhere
// only Same detects later changes.
func (l *Location) Open(ctx context.Context, o Object) (*Reader, error) {
	from, err := l.open(ctx, o)
	if err != nil {
		return nil, err
	}
	return &Reader{access: from}, nil
}

// Read returns the content of the object of a key, which may have at most the given number of bytes.
func (l *Location) Read(ctx context.Context, key string, limit int64) ([]byte, error) {
	o, err := l.stat(ctx, key)
	if err != nil {
		return nil, err
	}
	return l.Content(ctx, o, limit)
}

// Content returns the content of an object, which may have at most the given number of bytes. It returns an error that
// wraps ErrChanged if the object has changed.
func (l *Location) Content(ctx context.Context, o Object, limit int64) ([]byte, error) {
	if o.Size > limit {
		return nil, fmt.Errorf("%s has %d bytes, more than %d", l.name(o.Key), o.Size, limit)
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

// Create returns a writer of an object. The object appears when the writer is closed without an error.
func (l *Location) Create(ctx context.Context, key string) (*Writer, error) {
	return l.create(ctx, key)
}

// Write writes an object with the given content.
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

// Delete removes an object. It returns no error if the object does not exist.
func (l *Location) Delete(ctx context.Context, key string) error {
	if err := l.remove(ctx, key); !errors.Is(err, ErrNotFound) {
		return err
	}
	return nil
}

// Name returns the object's name for people: its path, or its URL without the query.
func (l *Location) Name(key string) string { return l.name(key) }

// Close releases the location.
func (l *Location) Close() error { return l.close() }

// openDisk resolves a path or a pattern of paths.
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

// splitPattern splits after the last slash before the first wildcard.
func splitPattern(where, special string) (directory, rest string) {
	first := strings.IndexAny(where, special)
	if first < 0 {
		first = len(where)
	}
	cut := strings.LastIndexByte(where[:first], '/') + 1
	return where[:cut], where[cut:]
}
