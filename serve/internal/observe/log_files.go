package observe

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/psi-shapley/psi/table"
)

// Names of files begin with the time of writing, so that they sort by it.
const (
	logPrefix = "explanations-"
	logSuffix = ".parquet"
	logTime   = "20060102T150405.000Z"
)

// logFiles is the directory of a log.
type logFiles struct {
	dir   string
	files int
	bytes int64
	kept  []logFile // in the order they were written, whatever the clock said
}

type logFile struct {
	name  string
	bytes int64
}

// openLogFiles creates the directory, removes unfinished files and finds the files of earlier runs.
func openLogFiles(o LogOptions) (*logFiles, error) {
	l := &logFiles{dir: o.Dir, files: o.Files, bytes: o.Bytes}
	wrong := func(err error) error {
		return fmt.Errorf("explanations cannot be logged to %s: %w; check the directory and its permissions", o.Dir, err)
	}
	if err := l.makeDir(); err != nil {
		return nil, wrong(err)
	}
	if err := l.checkWritable(); err != nil {
		return nil, wrong(err)
	}
	entries, err := os.ReadDir(l.dir)
	if err != nil {
		return nil, wrong(err)
	}
	for _, entry := range entries {
		name := entry.Name()
		switch {
		case strings.HasPrefix(name, "."+logPrefix) && strings.HasSuffix(name, ".tmp"):
			if err := os.Remove(filepath.Join(l.dir, name)); err != nil {
				return nil, wrong(err)
			}
		case strings.HasPrefix(name, logPrefix) && strings.HasSuffix(name, logSuffix):
			info, err := entry.Info()
			if err != nil {
				return nil, wrong(err)
			}
			l.kept = append(l.kept, logFile{name, info.Size()})
		}
	}
	slices.SortFunc(l.kept, func(a, b logFile) int { return cmp.Compare(a.name, b.name) })
	if err := l.prune(); err != nil {
		return nil, err
	}
	return l, nil
}

// makeDir creates a directory that only the server can read.
func (l *logFiles) makeDir() error { return os.MkdirAll(l.dir, 0o700) }

// checkWritable reports errors early that would else appear with the first file. A full disk is not one, since it may have
// room by then.
func (l *logFiles) checkWritable() error {
	f, err := os.CreateTemp(l.dir, "."+logPrefix+"*.tmp")
	if errors.Is(err, syscall.ENOSPC) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// write writes one file.
func (l *logFiles) write(tables []*table.Table) error {
	if err := l.makeDir(); err != nil { // somebody may have removed it
		return fmt.Errorf("writing the explanation log: %w", err)
	}
	name := logPrefix + time.Now().UTC().Format(logTime) + "-" + strings.ToLower(rand.Text()[:6]) + logSuffix
	path := filepath.Join(l.dir, name)
	sink, err := table.Create(path)
	if err != nil {
		return fmt.Errorf("writing the explanation log: %w", err)
	}
	defer sink.Abort()
	for _, t := range tables {
		if err := sink.Write(context.Background(), t); err != nil {
			return fmt.Errorf("writing the explanation log: %w", err)
		}
	}
	if err := sink.Close(); err != nil {
		return fmt.Errorf("writing the explanation log: %w", err)
	}
	file := logFile{name: name}
	if info, err := os.Stat(path); err == nil {
		file.bytes = info.Size()
	}
	l.kept = append(l.kept, file)
	return nil
}

// prune removes the oldest files beyond the limits, never the newest.
func (l *logFiles) prune() error {
	total := int64(0)
	for _, f := range l.kept {
		total += f.bytes
	}
	for len(l.kept) > 1 && (len(l.kept) > l.files || total > l.bytes) {
		oldest := l.kept[0]
		if err := os.Remove(filepath.Join(l.dir, oldest.name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("an old explanation log cannot be removed: %w", err)
		}
		total -= oldest.bytes
		l.kept = l.kept[1:]
	}
	return nil
}
