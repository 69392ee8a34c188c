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

// WriteFile writes a file that appears under its name only when it is whole and on
// disk; until then a file of that name stays as it is. If anything fails, nothing is
// left behind. A process that is killed leaves path.tmp, which the next one replaces.
// The digest is of the bytes that were written, as [ReadFile] gives it.
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

// draft is a file that has not got its name yet.
type draft struct {
	*os.File
	info fs.FileInfo
}

// newDraft creates a file anew rather than truncate what is there, which may be a link
// to another file, or the draft of another process.
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

// ours tells whether the draft is still there under its name: another process that
// writes the same file has replaced it by its own.
func (d *draft) ours() bool {
	found, err := os.Lstat(d.Name())
	return err == nil && os.SameFile(found, d.info)
}

func (d *draft) publish(path string) error {
	if err := d.Sync(); err != nil {
		return err // the name must not outlive a crash that the content does not
	}
	if err := d.Close(); err != nil {
		return err
	}
	if !d.ours() {
		return &table.Error{Row: -1, Message: "another program is writing this file", Remedy: "let it end, or write to another path"}
	}
	return os.Rename(d.Name(), path)
}

// drop removes the draft. What fails here cannot be mended, and hides no error: the one
// that led here is reported.
func (d *draft) drop() {
	_ = d.Close()
	if d.ours() {
		_ = os.Remove(d.Name())
	}
}

// syncDirectory makes a new name last. Where directories cannot be synced, the system
// keeps names in its own way.
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
