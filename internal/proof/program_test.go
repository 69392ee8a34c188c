package proof

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/psi-shapley/psi/internal/benchset"
)

// program builds psi.
func program(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "psi")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", path, "github.com/psi-shapley/psi/cmd/psi")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

// run runs a program to its end and returns what it used.
func run(t *testing.T, environment []string, program string, args ...string) *syscall.Rusage {
	t.Helper()
	command := exec.CommandContext(t.Context(), program, args...)
	command.Env = append(os.Environ(), environment...)
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", command.Args, err, out)
	}
	return command.ProcessState.SysUsage().(*syscall.Rusage)
}

func digest(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	check(t, err)
	return fmt.Sprintf("%x", sha256.Sum256(content))
}

// A training killed ten times at any moment and resumed ends in the bytes of one that was
// never killed, and two trainings of one seed in the same bytes.
func TestKilledTenTimes(t *testing.T) {
	slow(t)
	psi, dir := program(t), t.TempDir()
	rows := filepath.Join(dir, "s.csv")
	run(t, nil, psi, "sample", "synth3", "-o", rows)
	training := func(model string, more ...string) []string {
		return append([]string{"train", rows, "--target", "y", "--members", "2", "-o", model}, more...)
	}
	whole, again, killed := filepath.Join(dir, "whole.psi"), filepath.Join(dir, "again.psi"), filepath.Join(dir, "killed.psi")
	start := time.Now()
	run(t, nil, psi, training(whole)...)
	took := time.Since(start)
	run(t, nil, psi, training(again)...)

	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d, one training takes %v", seed, took.Round(time.Second))
	rng := rand.New(rand.NewPCG(seed, 0))
	for kill := range 10 {
		command := exec.CommandContext(t.Context(), psi, training(killed, "--resume")...)
		check(t, command.Start())
		wait := time.Duration(rng.Float64() * float64(took) / 5)
		time.Sleep(wait)
		check(t, command.Process.Signal(syscall.SIGKILL))
		_ = command.Wait() // it was killed
		_, err := os.Stat(killed)
		t.Logf("kill %d after %v; finished: %v", kill+1, wait.Round(time.Millisecond), err == nil)
	}
	run(t, nil, psi, training(killed, "--resume")...)
	if a, b, c := digest(t, whole), digest(t, again), digest(t, killed); a != b || a != c {
		t.Errorf("never killed %s, again %s, killed %s", a, b, c)
	} else {
		t.Logf("all three: %s", a)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*check*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// repeated writes a real set as CSV, over and over with a little noise on its numbers,
// until it has that many bytes or rows.
func repeated(t *testing.T, set, path string, bytes int64, rows int) (written int) {
	t.Helper()
	s := load(t, set)
	file, err := os.Create(path)
	check(t, err)
	out := bufio.NewWriterSize(file, 1<<20)
	rng := rand.New(rand.NewPCG(1, 1))
	line := []byte{}
	for j, c := range s.Table.Columns {
		if j > 0 {
			line = append(line, ',')
		}
		line = append(line, c.Name...)
	}
	size := int64(0)
	for written = -1; written < rows || size < bytes; written++ {
		if written >= 0 {
			line = line[:0]
			i := written % s.Table.Rows()
			for j, c := range s.Table.Columns {
				if j > 0 {
					line = append(line, ',')
				}
				if c.Observed[i] {
					line = strconv.AppendFloat(line, c.Numbers[i]*(1+0.01*rng.NormFloat64()), 'g', 9, 64)
				}
			}
		}
		line = append(line, '\n')
		n, err := out.Write(line)
		check(t, err)
		size += int64(n)
	}
	check(t, out.Flush())
	check(t, file.Close())
	return written
}

func load(t *testing.T, set string) *benchset.Set {
	t.Helper()
	s, err := benchset.Load(set)
	if err != nil {
		t.Skip(err)
	}
	return s
}

// A table of 2 GB trains within 1 GiB.
func TestTableLargerThanMemory(t *testing.T) {
	slow(t)
	psi, dir := program(t), t.TempDir()
	rows := filepath.Join(dir, "huge.csv")
	n := repeated(t, "california", rows, 2<<30, 0)
	model := filepath.Join(dir, "huge.psi")
	start := time.Now()
	used := run(t, []string{"GOMEMLIMIT=1GiB"}, psi, "train", rows, "--target", load(t, "california").Target, "--time-budget", "5m", "-o", model)
	t.Logf("%d rows, 2 GiB of CSV: %v, peak memory %d MiB, %d pages read back from disk",
		n, time.Since(start).Round(time.Second), used.Maxrss>>10, used.Majflt)
	if used.Maxrss>>10 > 1200 {
		t.Errorf("peak memory %d MiB", used.Maxrss>>10)
	}
}

// Explaining a million rows, from CSV to Parquet.
func TestMillionRows(t *testing.T) {
	slow(t)
	psi, dir := program(t), t.TempDir()
	rows, model, out := filepath.Join(dir, "m.csv"), filepath.Join(dir, "m.psi"), filepath.Join(dir, "m.parquet")
	n := repeated(t, "california", rows, 0, 1_000_000)
	small := filepath.Join(dir, "s.csv")
	repeated(t, "california", small, 0, 20_640)
	run(t, nil, psi, "train", small, "--target", load(t, "california").Target, "--time-budget", "30s", "-o", model)
	for _, pinned := range []bool{false, true} {
		command := []string{psi, "explain", model, rows, "-o", out}
		if pinned {
			command = append([]string{"taskset", "-c", "0"}, command...)
		}
		start := time.Now()
		used := run(t, nil, command[0], command[1:]...)
		wall := time.Since(start)
		cpu := time.Duration(used.Utime.Nano() + used.Stime.Nano())
		t.Logf("one core %v: %d rows in %v wall, %v CPU: %.0f rows/s, %.0f rows per CPU second, peak memory %d MiB",
			pinned, n, wall.Round(time.Millisecond), cpu.Round(time.Millisecond), float64(n)/wall.Seconds(), float64(n)/cpu.Seconds(), used.Maxrss>>10)
		if used.Maxrss>>10 > 500 {
			t.Errorf("peak memory %d MiB is over 500", used.Maxrss>>10)
		}
	}
}
