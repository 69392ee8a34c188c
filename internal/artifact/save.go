package artifact

import (
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/psi-shapley/psi/table"
)

// WriteFile writes a file atomically: it appears under its name only when it is complete and on disk. Until then an
// existing file stays unchanged. If anything fails, no file is left behind. A killed process leaves path.tmp, which the
// next one replaces. The digest covers the bytes written, as in [ReadFile].
func WriteFile(path string, f *File) (digest string, err error) {
	entries, err := pack(f)
	if err != nil {
		return "", during("writing", path, err)
	}
	if found, err := os.Stat(path); err == nil && found.IsDir() {
		return "", &table.Error{Row: -1, File: path, Message: "this is a directory", Remedy: "give the path of a file"}
	}
	draft, err := newDraft(path + ".tmp")
	if err != nil {
		return "", &table.Error{Row: -1, File: path, Message: "cannot be created: " + err.Error(), Remedy: "check the directory and its permissions", Err: err}
	}
	sum := sha256.New()
	err = write(io.MultiWriter(draft, sum), entries)
	if err == nil {
		err = draft.publish(path)
	}
	if err != nil {
		draft.drop()
		return "", during("writing", path, err)
	}
	if err := syncDirectory(filepath.Dir(path)); err != nil {
		return "", during("writing", path, err)
	}
	return digestOf(sum), nil
}

// draft is a file that does not have its final name yet.
type draft struct {
	*os.File
	info fs.FileInfo
}

// newDraft creates a new file instead of truncating an existing one, which may be a link to another file, or the draft
// of another process.
func newDraft(path string) (*draft, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(err, file.Close(), os.Remove(path))
	}
	return &draft{File: file, info: info}, nil
}

// ours reports whether the draft still exists under its name: another process that writes the same file may have
// replaced it.
func (d *draft) ours() bool {
	found, err := os.Lstat(d.Name())
	return err == nil && os.SameFile(found, d.info)
}

func (d *draft) publish(path string) error {
	if err := d.Sync(); err != nil {
		return err // after a crash the name must not refer to incomplete content
	}
	if err := d.Close(); err != nil {
		return err
	}
	if !d.ours() {
		return &table.Error{Row: -1, Message: "another program is writing this file", Remedy: "let it end, or write to another path"}
	}
	return os.Rename(d.Name(), path)
}

// drop removes the draft. Its errors are ignored, because an earlier error is already reported.
func (d *draft) drop() {
	_ = d.Close()
	if d.ours() {
		_ = os.Remove(d.Name())
	}
}

// syncDirectory makes a new name durable. Some systems cannot sync directories and do so by themselves.
func syncDirectory(path string) error {
	directory, err := os.Open(path)
	if err == nil {
		defer directory.Close()
		err = directory.Sync()
	}
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL) {
		return nil
	}
	return err
}
