package batch

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/batch/internal/queue"
)

// Local configures [Runner.Run]. All fields may be zero.
type Local struct {
	Workers int         // number of workers; 0 means one for each processor
	Backend psi.Backend // backend of the models of workers in this process; "" means psi.Auto

	// Command returns the command of a worker process that takes its units from a queue. The URL holds a secret: pass it by the
	// environment, since all users of a machine can see arguments. The process must stop on SIGTERM and when its standard
	// input ends; Run forwards its standard error to Log. Without Command, workers run in this process.
	Command func(ctx context.Context, queueURL string) *exec.Cmd

	Progress func(*Status)     // called about twice a second
	Log      func(line string) // called with warnings and errors of the workers, from any goroutine
}

// How long a worker may take to stop.
const (
	stopping   = 20 * time.Second // a process
	localDrain = 10 * time.Second // the unit of a worker in this process
)

// Run explains the units of the planned job that have no part yet, with workers on this machine and a queue of its own. It
// returns when no unit is left, with the number of failed units in the status. If the context ends before, Run returns the
// last status and the context's error; finished parts stay, and Run continues from there when it is called again.
func (r *Runner) Run(ctx context.Context, l Local) (*Status, error) {
	l.Workers = cmp.Or(l.Workers, runtime.NumCPU())
	if l.Progress == nil {
		l.Progress = func(*Status) {}
	}
	if l.Log == nil {
		l.Log = func(string) {}
	}
	if _, err := r.Job(ctx); err != nil { // before the queue makes its directory
		return nil, err
	}
	dir, err := ownQueueDir(r.Out)
	if err != nil {
		return nil, err
	}
	server, err := queue.Start(dir)
	if err != nil {
		return nil, err
	}
	defer server.Close()
	own := &Runner{Out: r.Out, Queue: Queue{URL: server.URL(), Name: "psi batch run", Log: l.Log}}
	o, err := own.openQueued(ctx)
	if err != nil {
		return nil, err
	}
	defer o.Close()
	if _, err := o.submit(ctx, func() error { return o.out.Delete(ctx, queueKey) }); err != nil {
		return nil, err
	}

	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	workers := sync.WaitGroup{}
	for range l.Workers {
		workers.Go(func() {
			if err := l.keep(ctx, server.URL()); err != nil {
				stop(err)
			}
		})
	}
	status, err := o.await(ctx, time.Second/2, l.Progress)
	if err != nil && context.Cause(ctx) != nil {
		err = context.Cause(ctx)
	}
	stop(nil)
	workers.Wait()
	return status, err
}

// keep has a worker running until the context ends. A killed process is replaced. A worker that gives up would do so again.
func (l *Local) keep(ctx context.Context, url string) error {
	for {
		began := time.Now()
		err := l.work(ctx, url)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // it was told to end
		}
		if exit, is := errors.AsType[*exec.ExitError](err); err != nil && (!is || exit.Exited()) {
			return fmt.Errorf("a worker ended: %w", err)
		}
		l.Log("a worker was lost: another takes its place")
		if time.Since(began) < time.Second {
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
	}
}

// work runs a worker until it ends.
func (l *Local) work(ctx context.Context, url string) error {
	if l.Command != nil {
		return l.process(ctx, url)
	}
	w := &Worker{Queue: Queue{URL: url, Name: "psi batch worker", Log: l.Log}, Backend: l.Backend, Drain: localDrain, Log: slog.New(slog.NewTextHandler(lines(l.Log), &slog.HandlerOptions{
		Level: slog.LevelWarn,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey || a.Key == slog.LevelKey {
				return slog.Attr{}
			}
			return a
		},
	}))}
	return w.Run(ctx)
}

// lines hands each line of a log to a function.
type lines func(line string)

// Write implements io.Writer for one line.
func (l lines) Write(line []byte) (int, error) {
	l(strings.TrimSuffix(string(line), "\n"))
	return len(line), nil
}

// process starts a worker process and waits for its end. When the context ends, it gets a signal and its input ends. By its
// input it also ends when this process is killed.
func (l *Local) process(ctx context.Context, url string) error {
	c := l.Command(ctx, url)
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	c.WaitDelay = stopping
	input, err := c.StdinPipe()
	if err != nil {
		return err
	}
	defer input.Close()
	words, err := c.StderrPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	l.forward(words)
	return c.Wait()
}

// forward hands the lines of a worker to Log until there are no more.
func (l *Local) forward(from io.Reader) {
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		l.Log(lines.Text())
	}
}
