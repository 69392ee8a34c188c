// Package queue is a durable, replicated work queue on NATS JetStream. It hands out a unit of work again and again until a
// worker reports that it is done. If the queue loses its leader or single servers, or cannot be reached for a while, callers
// wait and then continue.
//
// The queue may hand out a unit twice, so units must be repeatable.
package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Names of the stream, its consumer, the list of jobs and the subjects on the servers.
const (
	stream   = "PSI_WORK"
	consumer = "workers"
	bucket   = "PSI_JOBS"
	subjects = "psi.work."
)

const (
	// ackWait is how long a unit stays with a worker that sends no heartbeat. Workers send four in that time.
	ackWait = 30 * time.Second
	// waiting is the maximum number of workers that wait for a unit. The server's own limit is 512. It costs nothing until
	// used.
	waiting = 1 << 16
	// duplicateWindow is how long the servers recognise a message that is sent twice: longer than a change of leader, or
	// half a minute without a connection.
	duplicateWindow = time.Minute
	// connectTimeout is how long Connect tries to reach a queue that does not answer.
	connectTimeout = 15 * time.Second
)

// Options say how to reach the queue, and how to create it.
type Options struct {
	// URL lists one or more servers, separated by commas: nats://host:4222, or tls:// to require TLS. user:password@ or
	// token@ may precede a host.
	URL string
	// Credentials is a .creds file. CA is a file of the authority that signed the servers' certificates, if the system does
	// not know it. Certificate and Key are files of the client certificate.
	Credentials, CA, Certificate, Key string
	// Name is the name of the connection in the servers' lists.
	Name string
	// Replicas is the number of servers that keep the queue, if Connect creates it. 0 means three in a cluster and one on a
	// single server.
	Replicas int
	// AckWait is the time without a heartbeat after which a unit goes to another worker, if Connect creates the queue. 0
	// means 30 s.
	AckWait time.Duration
	// Log is called when the connection is lost and restored. It may be nil.
	Log func(message string)
}

// Queue is a connection to the queue. It is safe for concurrent use.
//
// Its calls outlast reconnects and changes of leader: they wait for the queue until their context ends. An error that
// waiting does not help, such as a wrong password, is returned at once and matches ErrRefused.
type Queue struct {
	connection    *nats.Conn
	js            jetstream.JetStream
	work          jetstream.Stream
	workers       jetstream.Consumer
	jobs          jetstream.KeyValue
	renewInterval time.Duration
	address       address
	log           func(string)
	denied        atomic.Pointer[error] // the permission that the servers deny to this caller
}

// Connect connects to the queue, and creates it if it does not exist. It tries for at most 15 s.
func Connect(ctx context.Context, o Options) (*Queue, error) {
	at, err := parseAddress(o.URL)
	if err != nil {
		return nil, err
	}
	q := &Queue{address: at, log: o.Log}
	if q.log == nil {
		q.log = func(string) {}
	}
	settings, err := q.settings(o)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	if err := q.dial(ctx, settings); err != nil {
		return nil, err
	}
	if err := q.prepare(ctx, o); err != nil {
		q.connection.Close()
		return nil, err
	}
	return q, nil
}

// dial tries until a server accepts or refuses the connection.
func (q *Queue) dial(ctx context.Context, settings []nats.Option) error {
	reported := false
	for {
		connection, err := nats.Connect(q.address.servers, settings...)
		if err == nil {
			q.connection = connection
			return nil
		}
		err = q.fault(err)
		if refused(err) {
			return err
		}
		if !reported {
			q.log(err.Error() + "; trying again")
			reported = true
		}
		if !pause(ctx, 250*time.Millisecond) {
			return err
		}
	}
}

// prepare finds the stream, its consumer and the list of jobs, or creates them. It does not change existing ones: else
// workers of two versions would overwrite their settings in turn.
func (q *Queue) prepare(ctx context.Context, o Options) error {
	js, err := jetstream.New(q.connection, jetstream.WithPublishAsyncMaxPending(2*inFlight), jetstream.WithPublishAsyncTimeout(answer))
	if err != nil {
		return q.fault(err)
	}
	q.js = js
	replicas := o.Replicas
	if replicas == 0 {
		replicas = 1
		if q.connection.ConnectedClusterName() != "" {
			replicas = 3
		}
	}
	err = q.try(ctx, func(ctx context.Context) (err error) {
		q.work, err = js.Stream(ctx, stream)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			q.work, err = js.CreateStream(ctx, streamConfig(replicas))
		}
		return err
	})
	if err != nil {
		return err
	}
	if policy := q.work.CachedInfo().Config.Retention; policy != jetstream.WorkQueuePolicy {
		return fmt.Errorf("the stream %s at %s is not a work queue but %s: it was made by something else; remove it there, or take another account", stream, q.address, policy)
	}
	err = q.try(ctx, func(ctx context.Context) (err error) {
		q.workers, err = q.work.Consumer(ctx, consumer)
		if errors.Is(err, jetstream.ErrConsumerNotFound) {
			q.workers, err = q.work.CreateConsumer(ctx, consumerConfig(o.AckWait))
		}
		return err
	})
	if err != nil {
		return err
	}
	q.renewInterval = q.workers.CachedInfo().Config.AckWait / 4
	return q.try(ctx, func(ctx context.Context) (err error) {
		q.jobs, err = js.KeyValue(ctx, bucket)
		if errors.Is(err, jetstream.ErrBucketNotFound) {
			q.jobs, err = js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
				Bucket: bucket, Description: "psi's jobs", Storage: jetstream.FileStorage, Replicas: replicas,
			})
		}
		return err
	})
}

func streamConfig(replicas int) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: stream, Description: "psi's units of work", Subjects: []string{subjects + "*"},
		Retention: jetstream.WorkQueuePolicy, Storage: jetstream.FileStorage, Discard: jetstream.DiscardNew,
		Replicas: replicas, Duplicates: duplicateWindow,
	}
}

func consumerConfig(wait time.Duration) jetstream.ConsumerConfig {
	if wait == 0 {
		wait = ackWait
	}
	return jetstream.ConsumerConfig{
		Durable: consumer, AckPolicy: jetstream.AckExplicitPolicy, AckWait: wait,
		// No limits. The default limit of 1,000 units in flight would leave the 1,001st worker idle. A limit of deliveries
		// would drop a unit silently; the worker decides when a unit has failed too often.
		MaxAckPending: -1, MaxDeliver: -1, MaxWaiting: waiting,
	}
}

// State is the state of the queue, over all jobs.
type State struct {
	Pending     int // units that no worker has yet
	InFlight    int // units that a worker has
	Redelivered int // units in flight that were handed out before
	Waiting     int // workers that wait for a unit
}

// State returns the state of the queue.
func (q *Queue) State(ctx context.Context) (s State, err error) {
	err = q.try(ctx, func(ctx context.Context) error {
		info, err := q.workers.Info(ctx)
		if err == nil {
			s = State{Pending: int(info.NumPending), InFlight: info.NumAckPending, Redelivered: info.NumRedelivered, Waiting: info.NumWaiting}
		}
		return err
	})
	return s, err
}

// Left returns the number of units of a job that are not done, including those that workers have.
func (q *Queue) Left(ctx context.Context, job string) (left int, err error) {
	subject, err := subjectOf(job)
	if err != nil {
		return 0, err
	}
	err = q.try(ctx, func(ctx context.Context) error {
		info, err := q.work.Info(ctx, jetstream.WithSubjectFilter(subject))
		if err == nil {
			left = int(info.State.Subjects[subject])
		}
		return err
	})
	return left, err
}

// Clear removes all units of a job from the queue. A worker that has one continues with it, and may still report it done.
func (q *Queue) Clear(ctx context.Context, job string) error {
	subject, err := subjectOf(job)
	if err != nil {
		return err
	}
	return q.try(ctx, func(ctx context.Context) error { return q.work.Purge(ctx, jetstream.WithPurgeSubject(subject)) })
}

// Close closes the connection. Units that were taken and not settled go to other workers after AckWait.
func (q *Queue) Close() error {
	q.connection.Close()
	return nil
}

var jobName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// subjectOf returns the subject of a job's units. The servers give dots, stars and blanks a meaning, so it must be one word.
func subjectOf(job string) (string, error) {
	if !jobName.MatchString(job) {
		return "", fmt.Errorf("%q is not the name of a job: it has letters, digits, - and _ only", job)
	}
	return subjects + job, nil
}

// Job is the entry of a job in the list of the queue. Out is the location of its results, which hold its state.
type Job struct {
	ID        string    `json:"id"`
	Out       string    `json:"out"`
	State     string    `json:"state"`
	Units     int       `json:"units"`
	Submitted time.Time `json:"submitted"`
}

// ErrNoJob matches the error of a job that the queue does not list.
var ErrNoJob = errors.New("no such job")

// Remember writes a job into the list, and replaces its entry if there is one.
func (q *Queue) Remember(ctx context.Context, job Job) error {
	if _, err := subjectOf(job.ID); err != nil {
		return err
	}
	content, err := json.Marshal(job)
	if err != nil {
		return err
	}
	return q.try(ctx, func(ctx context.Context) error {
		_, err := q.jobs.Put(ctx, job.ID, content)
		return err
	})
}

// Job returns a job of the list, or ErrNoJob.
func (q *Queue) Job(ctx context.Context, id string) (job Job, err error) {
	if _, err := subjectOf(id); err != nil {
		return Job{}, err
	}
	err = q.try(ctx, func(ctx context.Context) error {
		entry, err := q.jobs.Get(ctx, id)
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			return refuse(ErrNoJob, "%s: the queue at %s does not know the job %s; psi batch status without a job lists those it knows", ErrNoJob, q.address, id)
		}
		if err != nil {
			return err
		}
		job, err = q.read(entry)
		return err
	})
	return job, err
}

// Jobs lists all jobs, the latest first.
func (q *Queue) Jobs(ctx context.Context) (jobs []Job, err error) {
	err = q.try(ctx, func(ctx context.Context) error {
		jobs = nil
		watcher, err := q.jobs.WatchAll(ctx, jetstream.IgnoreDeletes())
		if err != nil {
			return err
		}
		defer func() { _ = watcher.Stop() }()
		for {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case entry, open := <-watcher.Updates():
				if !open {
					return errors.New("the list of jobs broke off")
				}
				if entry == nil { // the list is complete
					return nil
				}
				job, err := q.read(entry)
				if err != nil {
					return err
				}
				jobs = append(jobs, job)
			}
		}
	})
	slices.SortFunc(jobs, func(a, b Job) int {
		if order := b.Submitted.Compare(a.Submitted); order != 0 {
			return order
		}
		return strings.Compare(a.ID, b.ID)
	})
	return jobs, err
}

func (q *Queue) read(entry jetstream.KeyValueEntry) (Job, error) {
	var job Job
	if err := json.Unmarshal(entry.Value(), &job); err != nil {
		err = fmt.Errorf("the queue at %s, list %s, job %s: %w", q.address, bucket, entry.Key(), err)
		return Job{}, refuse(err, "%s", err.Error())
	}
	return job, nil
}
