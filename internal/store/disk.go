package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// disk is a directory.
type disk struct{ directory string }

func (d disk) name(key string) string {
	return filepath.Join(d.directory, filepath.FromSlash(key))
}

// path returns the path of a key, which must not leave the directory.
func (d disk) path(key string) (string, error) {
	if local := filepath.FromSlash(key); filepath.IsLocal(local) {
		return filepath.Join(d.directory, local), nil
	}
	return "", fmt.Errorf("%q is no name of an object", key)
}

func (d disk) stat(_ context.Context, key string) (Object, error) {
	path, err := d.path(key)
	if err != nil {
		return Object{}, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return Object{}, fault(path, err)
	}
	switch {
	case info.IsDir():
		return Object{}, fmt.Errorf("%s: %w", path, directoryError{})
	case !info.Mode().IsRegular():
		return Object{}, fmt.Errorf("%s: %w", path, ErrNotRegular)
	}
	return found(key, info), nil
}

func found(key string, info fs.FileInfo) Object {
	return Object{Key: key, Size: info.Size(), Version: fmt.Sprintf("%d-%d", info.Size(), info.ModTime().UnixNano())}
}

func (d disk) list(ctx context.Context, p pattern) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) { d.walk(ctx, p, nil, yield) }
}

// walk lists a directory recursively; false ends the listing.
func (d disk) walk(ctx context.Context, p pattern, at []string, yield func(Object, error) bool) bool {
	above := strings.Join(at, "/")
	names, err := d.names(ctx, p, at)
	if err != nil {
		return yield(Object{}, fault(d.name(above), err))
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return yield(Object{}, err)
		}
		if directory, is := strings.CutSuffix(name, "/"); is {
			if !d.walk(ctx, p, append(slices.Clip(at), directory), yield) {
				return false
			}
			continue
		}
		key := name
		if above != "" {
			key = above + "/" + name
		}
		o, err := d.stat(ctx, key)
		if errors.Is(err, ErrNotFound) && !isDirectory(err) {
			continue // removed since the directory was read
		}
		o.Key = key // set for errors too
		if !yield(o, err) {
			return false
		}
	}
	return true
}

// names returns the relevant entries of a directory, directories with a trailing slash, so that keys are sorted by
// their bytes. It holds only names, 10⁶ of them in some 60 MB.
func (d disk) names(ctx context.Context, p pattern, at []string) ([]string, error) {
	const page = 4096
	f, err := os.Open(d.name(strings.Join(at, "/")))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var names []string
	for {
		entries, err := f.ReadDir(page)
		for _, entry := range entries {
			key := append(slices.Clip(at), entry.Name())
			switch directory := d.isDirectory(entry, key, p.follows()); {
			case directory && p.enters(key):
				names = append(names, entry.Name()+"/")
			case p.match(key): // also directories, which the listing reports
				names = append(names, entry.Name())
			}
		}
		if errors.Is(err, io.EOF) {
			slices.Sort(names)
			return names, nil
		}
		if err := errors.Join(err, ctx.Err()); err != nil {
			return nil, err
		}
	}
}

// isDirectory reports whether an entry, or its link target, is a directory.
func (d disk) isDirectory(entry fs.DirEntry, key []string, follow bool) bool {
	if entry.Type()&fs.ModeSymlink == 0 || !follow {
		return entry.IsDir()
	}
	info, err := os.Stat(d.name(strings.Join(key, "/")))
	return err == nil && info.IsDir()
}

func (d disk) open(_ context.Context, o Object) (access, error) {
	path, err := d.path(o.Key)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // do not wait for a FIFO that has replaced the file
	if err != nil {
		return nil, fault(path, err)
	}
	opened := &diskFile{f, o}
	if err := opened.unchanged(); err != nil {
		_ = f.Close() // nothing was read
		return nil, fault(path, err)
	}
	return opened, nil
}

// diskFile is an open file that was found as an object.
type diskFile struct {
	*os.File
	object Object
}

func (f *diskFile) unchanged() error {
	info, err := f.Stat()
	if err == nil && (!info.Mode().IsRegular() || found(f.object.Key, info) != f.object) {
		err = ErrChanged
	}
	return err
}

func (d disk) remove(_ context.Context, key string) error {
	path, err := d.path(key)
	if err != nil {
		return err
	}
	return fault(path, os.Remove(path))
}

func (d disk) close() error { return nil }

// create writes to a hidden name beside the object and renames it at the end. Leftovers of a killed process are never
// listed.
func (d disk) create(_ context.Context, key string) (*Writer, error) {
	path, err := d.path(key)
	if err != nil {
		return nil, err
	}
	directory := filepath.Dir(path)
	if err := makeDirectory(directory); err != nil {
		return nil, fault(directory, err)
	}
	f, err := os.CreateTemp(directory, "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return nil, fault(path, err)
	}
	drop := func() {
		_ = f.Close() // the file is removed
		_ = os.Remove(f.Name())
	}
	finish := func() error {
		err := errors.Join(f.Chmod(objectMode), f.Sync(), f.Close())
		if err == nil {
			err = os.Rename(f.Name(), path)
		}
		if err != nil {
			drop()
			return err
		}
		return syncDirectory(directory)
	}
	return &Writer{to: f, name: path, finish: finish, drop: drop}, nil
}

// Modes of new files and directories: readable by others, as far as their parents allow.
const (
	objectMode    = 0o644
	directoryMode = 0o755
)

// makeDirectory creates a directory and its parents, and makes their names durable.
func makeDirectory(path string) error {
	info, err := os.Stat(path)
	if err == nil {
		if !info.IsDir() {
			return errors.New("this is a file, not a directory")
		}
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	above := filepath.Dir(path)
	if err := makeDirectory(above); err != nil {
		return err
	}
	if err := os.Mkdir(path, directoryMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDirectory(above)
}

func syncDirectory(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
