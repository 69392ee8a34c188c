//go:build unix

package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// process is the program as a process of its own, in a directory of its own.
type process struct {
	*exec.Cmd
	dir, temporary string
	stdout, stderr bytes.Buffer
	ended          chan error
}

// newProcess makes a directory with a pipe p.csv, and the program ready to start in it. In a line, MODEL
// and DATA are those of the fixtures.
func newProcess(t *testing.T, line string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args := strings.Fields(strings.NewReplacer("MODEL", fixtures.model, "DATA", fixtures.table).Replace(line))
	p := &process{Cmd: exec.CommandContext(t.Context(), self, args...), dir: t.TempDir(), temporary: t.TempDir(), ended: make(chan error, 1)}
	p.Dir, p.Cmd.Stdout, p.Cmd.Stderr = p.dir, &p.stdout, &p.stderr
	p.Env = append(os.Environ(), asProgram+"=1", "TMPDIR="+p.temporary)
	for _, name := range []string{"p.csv", "p.parquet", "p.arrow", "p.yaml"} {
		if err := syscall.Mkfifo(filepath.Join(p.dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func (p *process) start(t *testing.T) {
	t.Helper()
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.ended <- p.Wait() }()
}

// wait returns how long the program took to end, and fails the test if it does not.
func (p *process) wait(t *testing.T, most time.Duration) time.Duration {
	t.Helper()
	began := time.Now()
	select {
	case <-p.ended:
	case <-time.After(most):
		_ = p.Process.Kill() // it does not end by itself
		<-p.ended
		t.Fatalf("it was still there after %v\n%s", most, p.stderr.String())
	}
	return time.Since(began)
}

// open opens the other end of a pipe, and so waits for the program to open its own.
func (p *process) open(t *testing.T, name string) *os.File {
	t.Helper()
	opened := make(chan *os.File, 1)
	go func() {
		file, err := os.OpenFile(filepath.Join(p.dir, name), os.O_WRONLY, 0)
		if err != nil {
			t.Error(err)
		}
		opened <- file
	}()
	select {
	case file := <-opened:
		return file
	case <-time.After(30 * time.Second):
		t.Fatalf("the program never opened %s\n%s", name, p.stderr.String())
		return nil
	}
}

// leftNothing sees that there is nothing in the directory but the pipes, and no temporary file of psi's.
func (p *process) leftNothing(t *testing.T) {
	t.Helper()
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Type()&os.ModeNamedPipe == 0 {
			t.Errorf("%s was left behind", e.Name())
		}
	}
	if left, err := filepath.Glob(filepath.Join(p.temporary, "psi*")); err != nil || len(left) > 0 {
		t.Errorf("%v was left behind, %v", left, err)
	}
}

// Within this time the program ends after a signal; it takes some milliseconds where nothing else runs.
const soon = 3 * time.Second

const someRows = "x1,x2,x3,y\n1,2,3,4\n2,3,4,5\n"

// rowsFor are rows that begin the input of a command; no rows begin Arrow so that it stays readable.
func rowsFor(line string) string {
	if strings.Contains(line, "arrow") {
		return ""
	}
	return someRows
}

// SIGTERM ends the program while it waits for a pipe: for somebody to open its other end, or to write to it.
func TestSignalEndsWaitingForAPipe(t *testing.T) {
	for _, line := range []string{
		"predict MODEL p.csv -o r.csv",
		"predict MODEL p.parquet -o r.parquet",
		"predict MODEL p.arrow --json",
		"explain MODEL p.csv -o r.json",
		"explain MODEL p.csv",
		"evaluate MODEL p.csv",
		"cv p.csv --target y --backend go",
		"train p.csv --target y -o m.psi --backend go",
		"train DATA --target y --validation p.csv -o m.psi --backend go",
		"train DATA --target y --config p.yaml -o m.psi --backend go",
		"train p.csv --target y -o m.psi --backend go --on-interrupt finish",
		"report MODEL p.csv -o r.html",
		"plot bar MODEL p.csv -o r.svg",
	} {
		name := "p.csv"
		for word := range strings.FieldsSeq(line) {
			if strings.HasPrefix(word, "p.") {
				name = word
			}
		}
		for _, stage := range []string{"open", "read"} {
			t.Run(stage+" "+line, func(t *testing.T) {
				t.Parallel()
				p := newProcess(t, line)
				p.start(t)
				if stage == "read" {
					other := p.open(t, name)
					defer other.Close()
					if _, err := io.WriteString(other, rowsFor(line)); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(time.Second) // until it waits; before that it would end all the sooner
				if err := p.Process.Signal(syscall.SIGTERM); err != nil {
					t.Fatal(err)
				}
				took := p.wait(t, soon)
				t.Logf("ended after %v", took)
				if code := p.ProcessState.ExitCode(); code != failed || !strings.Contains(p.stderr.String(), "stopped") {
					t.Errorf("exit %d, %s", code, p.stderr.String())
				}
				p.leftNothing(t)
			})
		}
	}
}

// SIGTERM ends the program while standard input says nothing, or nobody takes standard output.
func TestSignalEndsWaitingForStandardStreams(t *testing.T) {
	for _, line := range []string{
		"predict MODEL - --format csv -o r.csv",
		"explain MODEL - --format arrow -o r.arrow",
		"explain MODEL - --format parquet -o r.csv",
		"train - --format csv --target y -o m.psi --backend go",
		"predict MODEL long.csv",
		"explain MODEL long.csv --format csv",
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			p := newProcess(t, line)
			in, input, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			out, output, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer input.Close()
			defer out.Close()
			p.Stdin, p.Cmd.Stdout = in, output
			if strings.Contains(line, "long.csv") {
				write(t, filepath.Join(p.dir, "long.csv"), "x1,x2,x3\n"+strings.Repeat("1,2,3\n", 40_000))
			}
			p.start(t)
			if err := in.Close(); err != nil {
				t.Fatal(err)
			}
			if err := output.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(input, rowsFor(line)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Second)
			if err := p.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			took := p.wait(t, soon)
			t.Logf("ended after %v", took)
			if code := p.ProcessState.ExitCode(); code != failed || !strings.Contains(p.stderr.String(), "stopped") {
				t.Errorf("exit %d, %s", code, p.stderr.String())
			}
			if err := os.RemoveAll(filepath.Join(p.dir, "long.csv")); err != nil {
				t.Fatal(err)
			}
			p.leftNothing(t)
		})
	}
}

// A command that has what it needs ends although the other end of the pipe stays open.
func TestEndsBeforeThePipeDoes(t *testing.T) {
	p := newProcess(t, "explain MODEL p.csv")
	p.start(t)
	other := p.open(t, "p.csv")
	defer other.Close()
	// More than a reader looks at to find the delimiter, and less than it reads ahead.
	if _, err := io.WriteString(other, "x1,x2,x3\n"+strings.Repeat("1.0000,2.0000,3.0000\n", 20_000)); err != nil && !errors.Is(err, syscall.EPIPE) {
		t.Fatal(err)
	}
	p.wait(t, 10*time.Second)
	if code := p.ProcessState.ExitCode(); code != 0 || !strings.Contains(p.stderr.String(), "these are the first 10 rows") {
		t.Errorf("exit %d, %s", code, p.stderr.String())
	}
}

// A pipe gives its rows to the program, and the program gives its own to a pipe.
func TestPipesCarryTables(t *testing.T) {
	p := newProcess(t, "predict MODEL p.csv -o p.arrow")
	p.start(t)
	go func() {
		other := p.open(t, "p.csv")
		defer other.Close()
		if _, err := io.WriteString(other, someRows); err != nil {
			t.Error(err)
		}
	}()
	result, err := os.Open(filepath.Join(p.dir, "p.arrow"))
	if err != nil {
		t.Fatal(err)
	}
	defer result.Close()
	content, err := io.ReadAll(result)
	if err != nil {
		t.Fatal(err)
	}
	p.wait(t, 10*time.Second)
	copied := filepath.Join(t.TempDir(), "copy.arrow")
	write(t, copied, string(content))
	if got := readTable(t, copied); p.ProcessState.ExitCode() != 0 || got.Rows() != 2 {
		t.Errorf("exit %d, %d rows, %s", p.ProcessState.ExitCode(), got.Rows(), p.stderr.String())
	}
	p.leftNothing(t)
}

// A batch reads files more than once, so a pipe among them ends it before anything is computed.
func TestBatchWithPipes(t *testing.T) {
	p := newProcess(t, "batch run MODEL in out --workers 1 --backend go")
	in := filepath.Join(p.dir, "in")
	if err := os.Mkdir(in, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"p.csv", "p.parquet"} {
		if err := os.Rename(filepath.Join(p.dir, name), filepath.Join(in, name)); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(in, "a.csv"), someRows)
	p.start(t)
	p.wait(t, 60*time.Second)
	if code := p.ProcessState.ExitCode(); code != failed {
		t.Errorf("exit %d, %s", code, p.stderr.String())
	}
	wantText(t, p.stderr.String(), "p.csv: this is not a regular file")
	if parts, err := filepath.Glob(filepath.Join(p.dir, "out", "*")); err != nil || len(parts) != 0 {
		t.Errorf("parts %v, %v", parts, err)
	}
}
