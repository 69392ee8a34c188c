package observe

import (
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/psi-shapley/psi/explain"
)

// fullDisk is a directory on a file system of its own with so many bytes left, and the file that takes up the rest.
func fullDisk(t *testing.T, bytes, left int64) (dir, ballast string) {
	t.Helper()
	dir = t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("a small file system cannot be mounted, which takes root: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	ballast = filepath.Join(dir, "ballast")
	f, err := os.Create(ballast)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if n, err := io.CopyN(f, endless{}, 2*bytes); n != bytes || !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("%d bytes fill the disk, want %d: %v", n, bytes, err)
	}
	if err := f.Truncate(bytes - left); err != nil {
		t.Fatal(err)
	}
	return dir, ballast
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// A disk that fills up and is cleared again, before or in the midst of a file, loses only what came meanwhile and had no
// room in memory.
func TestLogOnAFullDisk(t *testing.T) {
	const bytes = 1 << 20
	for _, left := range []int64{0, 64 << 10} {
		dir, ballast := fullDisk(t, bytes, left)
		synctest.Test(t, func(t *testing.T) {
			var said []string
			l := openLog(t, LogOptions{Dir: dir, Share: 1, Lines: 5000, Report: func(err error) { said = append(said, err.Error()) }})
			rng := newRand(t)
			add := func(requests int) {
				for range requests {
					l.Add("m", "", "", thousandLines(rng))
					synctest.Wait()
				}
			}
			add(5) // the batch is full
			add(3) // dropped
			time.Sleep(25 * time.Second)
			synctest.Wait()
			expectRows(t, l, map[string]float64{dropped: 1500})
			if len(logFilesIn(t, dir)) != 0 {
				t.Error("there is a file on a full disk")
			}
			if len(said) != 1 || !strings.Contains(said[0], "no space left") {
				t.Errorf("reported in half a minute: %q, want one about the space", said)
			}

			if err := os.Remove(ballast); err != nil {
				t.Fatal(err)
			}
			time.Sleep(retryAfter)
			synctest.Wait()
			add(1)
			closeLog(t, l)
			expectRows(t, l, map[string]float64{written: 3000, dropped: 1500})
			if files := readLog(t, dir); len(files) != 2 || files[0].Rows() != 5000 || files[1].Rows() != 1000 {
				t.Errorf("%d files, want two of 5,000 and 1,000 lines", len(files))
			}
			if drafts, _ := filepath.Glob(filepath.Join(dir, ".*")); len(drafts) > 0 {
				t.Errorf("left behind: %v", drafts)
			}
		})
	}
}

// What cannot be written at all is said at the start.
func TestLogOnADiskForReading(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_RDONLY, ""); err != nil {
		t.Skipf("a file system cannot be mounted, which takes root: %v", err)
	}
	defer func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	}()
	if _, err := OpenExplanationLog(LogOptions{Dir: dir, Share: 1}); !errors.Is(err, syscall.EROFS) {
		t.Errorf("a log on a disk that is for reading only: %v", err)
	}
}

// thousandLines take up some 40 kB of a file.
func thousandLines(rng *rand.Rand) *explain.Explanation {
	rows := make([][]float64, 500)
	for i := range rows {
		rows[i] = []float64{rng.NormFloat64(), rng.NormFloat64()}
	}
	return rowsOf(rows)
}
