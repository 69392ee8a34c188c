package batch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/psi-shapley/psi/batch/internal/queue"
	"github.com/psi-shapley/psi/internal/store"
)

// Runner plans, runs and observes one job. It holds no connection; its methods open what they need, and are safe for
// concurrent use.
type Runner struct {
	// Out is the location of the results: a directory, or the URL of a bucket and a prefix.
	Out string
	// Queue is the shared queue of the job. Without a URL, the job has a queue of its own on this machine while Run runs.
	Queue Queue
}

// Queue says how to reach a shared queue: servers of NATS with JetStream.
type Queue struct {
	// URL lists the servers, separated by commas: nats://HOST:PORT, or tls://HOST:PORT to require TLS. USER:PASSWORD@ or
	// TOKEN@ may precede a host.
	URL         string
	Credentials string            // file of NATS credentials (.creds)
	CA          string            // file of the CA that signed the servers' certificates, if the system does not know it
	Certificate string            // file of a client certificate
	Key         string            // file of the key of Certificate
	Name        string            // name of the connection in the servers' lists
	Log         func(line string) // called when the connection is lost and restored; may be nil

	ackWait time.Duration // without a heartbeat, until a unit goes to another worker; 0 means 30 s
}

// QueuedJob is the entry of a job in the list that a queue keeps.
type QueuedJob struct {
	ID        string    `json:"id"`
	Out       string    `json:"out"`
	State     string    `json:"state"`
	Units     int       `json:"units"`
	Submitted time.Time `json:"submitted"`
}

// Errors that callers can test for.
var (
	// ErrNoBatch reports that Out holds no job.
	ErrNoBatch = errors.New("no batch was planned here")
	// ErrOtherBatch reports that Out holds another job than the one to plan.
	ErrOtherBatch = errors.New("another batch was planned here, of other files, another model or other options")
	// ErrOverlap reports that the input contains the output, or the output the input.
	ErrOverlap = errors.New("the results would lie among the tables that are read")
	// ErrForeign reports that Out holds results of another program, such as Spark's _SUCCESS.
	ErrForeign = errors.New("the results of another program are here")
	// ErrNoQueue reports that the job has a queue of its own, which is not running.
	ErrNoQueue = errors.New("no queue is running here")
	// ErrUnreachable reports that the queue of a job cannot be reached.
	ErrUnreachable = errors.New("the queue cannot be reached")
)

// Open returns the runner of the job at out, with the queue that the job was last submitted to. If q has a URL, that queue
// is used instead; else q provides the credentials. Open fails with [ErrNoBatch] if there is nothing at out.
func Open(ctx context.Context, out string, q Queue) (*Runner, error) {
	r := &Runner{Out: out, Queue: q}
	if q.URL != "" {
		return r, nil
	}
	if _, running, err := ownQueue(out); err != nil || running {
		return r, err
	}
	var err error
	r.Queue.URL, err = submittedTo(ctx, out)
	return r, err
}

// Find returns the runner of a job that the queue lists.
func (q Queue) Find(ctx context.Context, job string) (*Runner, error) {
	c, err := q.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	found, err := c.Job(ctx, job)
	return &Runner{Out: found.Out, Queue: q}, err
}

// Jobs lists the jobs that were submitted to the queue, the latest first.
func (q Queue) Jobs(ctx context.Context) ([]QueuedJob, error) {
	c, err := q.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	list, err := c.Jobs(ctx)
	var jobs []QueuedJob
	for _, job := range list {
		jobs = append(jobs, QueuedJob(job))
	}
	return jobs, err
}

func (q Queue) connect(ctx context.Context) (*queue.Queue, error) {
	c, err := queue.Connect(ctx, queue.Options{
		URL: q.URL, Credentials: q.Credentials, CA: q.CA, Certificate: q.Certificate, Key: q.Key, Name: q.Name, Log: q.Log, AckWait: q.ackWait,
	})
	if err != nil {
		return nil, &unreachableError{err}
	}
	return c, nil
}

// unreachableError is an ErrUnreachable with the text of its cause.
type unreachableError struct{ cause error }

func (e *unreachableError) Error() string        { return e.cause.Error() }
func (e *unreachableError) Unwrap() error        { return e.cause }
func (e *unreachableError) Is(target error) bool { return target == ErrUnreachable }

// opened is a job with its results and its queue.
type opened struct {
	*Job
	where string
	out   *store.Location
	queue *queue.Queue // nil if the job has a queue of its own that is not running
}

// open opens the results of the job, and connects to its queue. If the queue alone fails, the job is opened without one and
// the error is an ErrUnreachable.
func (r *Runner) open(ctx context.Context) (*opened, error) {
	out, err := locationOf(ctx, r.Out)
	if err != nil {
		return nil, err
	}
	o := &opened{where: r.Out, out: out}
	if o.Job, err = readJob(ctx, out); err != nil {
		return nil, errors.Join(err, out.Close())
	}
	at, running := r.Queue, true
	if at.URL == "" {
		if at.URL, running, err = ownQueue(r.Out); err != nil {
			return o, &unreachableError{err}
		}
	}
	if running {
		o.queue, err = at.connect(ctx)
	}
	return o, err
}

// openQueued opens a job that must have a queue.
func (r *Runner) openQueued(ctx context.Context) (*opened, error) {
	o, err := r.open(ctx)
	if err == nil && o.queue == nil {
		err = ErrNoQueue
	}
	if err == nil {
		return o, nil
	}
	if o != nil {
		err = errors.Join(err, o.Close())
	}
	return nil, err
}

// Close closes the results and the connection to the queue.
func (o *opened) Close() error {
	if o.queue != nil {
		_ = o.queue.Close() // which never fails
	}
	return o.out.Close()
}

// Job returns the job that was planned, or [ErrNoBatch].
func (r *Runner) Job(ctx context.Context) (*Job, error) {
	out, err := locationOf(ctx, r.Out)
	if err != nil {
		return nil, err
	}
	job, err := readJob(ctx, out)
	return job, errors.Join(err, out.Close())
}

// Cancel removes the units that no worker has begun from the queue. Finished parts stay, and the job can be submitted again.
// Cancel fails with [ErrNoQueue] if the job is not in a queue.
func (r *Runner) Cancel(ctx context.Context) (*Job, error) {
	o, err := r.openQueued(ctx)
	if err != nil {
		return nil, err
	}
	defer o.Close()
	if err := o.queue.Clear(ctx, o.ID); err != nil {
		return nil, err
	}
	return o.Job, o.remember(ctx, Cancelled)
}

// remember writes the state of the job into the queue's list.
func (o *opened) remember(ctx context.Context, state string) error {
	return remember(ctx, o.queue, o.Job, o.where, state)
}

func remember(ctx context.Context, q *queue.Queue, job *Job, out, state string) error {
	return q.Remember(ctx, queue.Job{ID: job.ID, Out: absolute(out), State: state, Units: job.Units, Submitted: job.Submitted})
}

// ownQueueDir is the directory of a job's own queue: beside the results, or in the user's cache if these are in a bucket.
func ownQueueDir(out string) (string, error) {
	if !store.IsURL(out) {
		return filepath.Join(out, "_psi", "queue"), nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(cache, "psi", "batch", digestOf([]byte(out))[len("sha256:"):][:16]), nil
}

// ownQueue returns the URL of a job's own queue, if that is running on this machine.
func ownQueue(out string) (url string, running bool, err error) {
	dir, err := ownQueueDir(out)
	if err != nil {
		return "", false, err
	}
	return queue.Find(dir)
}

// sharedQueue is the document that names the shared queue of a job, without passwords.
type sharedQueue struct {
	Queue string `json:"queue"`
}

// submittedTo returns the URL of the shared queue that a job was submitted to, without passwords; "" if there is none.
func submittedTo(ctx context.Context, where string) (string, error) {
	out, err := locationOf(ctx, where)
	if err != nil {
		return "", err
	}
	defer out.Close()
	content, err := out.Read(ctx, queueKey, maxJSON)
	if errors.Is(err, store.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	var document sharedQueue
	if err := json.Unmarshal(content, &document); err != nil {
		return "", fmt.Errorf("%s: %w", out.Name(queueKey), err)
	}
	return document.Queue, nil
}
