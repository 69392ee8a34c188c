package batch

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/psi-shapley/psi/batch/internal/queue"
	"github.com/psi-shapley/psi/internal/store"
)

// QueueVariable is the environment variable that tells a worker where its queue is: arguments are seen by all users of a machine,
// and the address holds a secret.
const QueueVariable = "PSI_QUEUE"

// Local works on a job with a queue and workers of its own, on this machine.
type Local struct {
	Out     string
	Workers int
	Command func(context.Context) *exec.Cmd // of a worker that stops when it is told to, or its standard input ends
	Tell    func(*Status)
	Say     func(line string) // of the workers' troubles
}

// stopping is the time that a worker has to end in.
const stopping = 20 * time.Second

// LocalQueue is the directory of the queue that a job on this machine has: beside its result, or in the user's cache if that
// lies in a bucket.
func LocalQueue(out string) (string, error) {
	if !store.IsURL(out) {
		return filepath.Join(out, "_psi", "queue"), nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(cache, "psi", "batch", digestOf([]byte(out))[len("sha256:"):][:16]), nil
}

// LocalAt is where a queue of a job on this machine runs, if one does.
func LocalAt(out string) (at *QueueAt, err error) {
	dir, err := LocalQueue(out)
	if err != nil {
		return nil, err
	}
	url, running, err := queue.Find(dir)
	if err != nil || !running {
		return nil, err
	}
	return &QueueAt{URL: url}, nil
}

// Run works until the job is settled, or its context ends; what is done then stays done.
func (l *Local) Run(ctx context.Context) (*Status, error) {
	dir, err := LocalQueue(l.Out)
	if err != nil {
		return nil, err
	}
	server, err := queue.Start(dir)
	if err != nil {
		return nil, err
	}
	defer server.Close()
	at := QueueAt{URL: server.URL(), Name: "psi batch run", Log: l.Say}
	ours := func(out *store.Location) error { return out.Delete(ctx, queueKey) }
	if _, _, err := submit(ctx, at, l.Out, ours); err != nil {
		return nil, err
	}
	w, err := Look(ctx, &at, l.Out)
	if err != nil {
		return nil, err
	}
	defer w.Close()

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
	status, err := w.Await(ctx, time.Second/2, l.Tell)
	if err != nil && context.Cause(ctx) != nil {
		err = context.Cause(ctx)
	}
	stop(nil)
	workers.Wait()
	return status, err
}

// keep has a worker running until the context ends. One that was killed is replaced; one that gives up itself would do so again.
func (l *Local) keep(ctx context.Context, at string) error {
	for {
		began := time.Now()
		err := l.work(ctx, at)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // it was told to end
		}
		if exit, is := errors.AsType[*exec.ExitError](err); err != nil && (!is || exit.Exited()) {
			return fmt.Errorf("a worker ended: %w", err)
		}
		l.Say("a worker was lost: another takes its place")
		if time.Since(began) < time.Second {
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
	}
}

// work starts a worker and waits for its end. When the context ends it is asked to stop, by the end of its input too, so that
// it ends with this process however that dies.
func (l *Local) work(ctx context.Context, at string) error {
	c := l.Command(ctx)
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	c.WaitDelay = stopping
	c.Env = append(os.Environ(), QueueVariable+"="+at)
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
	l.hear(words)
	return c.Wait()
}

// hear passes on what a worker says, until it says nothing more.
func (l *Local) hear(words io.Reader) {
	lines := bufio.NewScanner(words)
	for lines.Scan() {
		l.Say(lines.Text())
	}
}
