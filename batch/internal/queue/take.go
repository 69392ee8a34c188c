package queue

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// heartbeatInterval is the interval of heartbeats from a server to a waiting worker. After two missed ones the worker asks
// again, since the leader that knew of it may be gone.
const heartbeatInterval = 3 * time.Second

// confirmTimeout is how long a connected worker repeats that a unit is done before it gives up. A new leader may not know
// of the delivery and never answer, until it hands out the unit again.
const confirmTimeout = time.Minute

// ErrUnconfirmed matches the error of a unit that was settled without the confirmation of the queue, which may hand it out
// again.
var ErrUnconfirmed = errors.New("the queue did not confirm")

// Delivery is a unit that this worker has. Heartbeats keep it until Done, Requeue or Drop settles it.
type Delivery struct {
	Job     string
	Body    []byte
	Attempt int // number of deliveries, including this one

	queue   *Queue
	message jetstream.Msg
	end     func() // ends the heartbeats
}

// Take waits for a unit. It takes one at a time: another worker can begin a second one sooner, and fewer are lost with a
// worker.
func (q *Queue) Take(ctx context.Context) (*Delivery, error) {
	message, err := q.next(ctx)
	if err != nil {
		return nil, err
	}
	facts, err := message.Metadata()
	if err != nil {
		return nil, q.fault(err)
	}
	d := &Delivery{
		Job: strings.TrimPrefix(message.Subject(), subjects), Body: message.Data(), Attempt: int(facts.NumDelivered),
		queue: q, message: message,
	}
	d.hold()
	return d, nil
}

func (q *Queue) next(ctx context.Context) (jetstream.Msg, error) {
	// The server would use the deadline of a context to forget the request, which must not be soon.
	fetchCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, cancel)
	defer stop()
	for wait := 50 * time.Millisecond; ; {
		if err := q.reachable(ctx); err != nil {
			return nil, err
		}
		began := time.Now()
		message, err := q.workers.Next(jetstream.FetchContext(fetchCtx), jetstream.FetchHeartbeat(heartbeatInterval))
		if err == nil {
			return message, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err := q.missing(err); err != nil {
			return nil, err
		}
		if denied := q.denied.Load(); denied != nil {
			return nil, refuse(*denied, "%s", (*denied).Error())
		}
		// A request that was answered late, or never, is repeated at once; one that failed at once, later.
		if wait = min(2*wait, 2*time.Second); time.Since(began) > heartbeatInterval {
			wait = 50 * time.Millisecond
		}
		pause(ctx, wait)
	}
}

// missing returns an error if the consumer was deleted: nothing would ever be delivered.
func (q *Queue) missing(err error) error {
	if errors.Is(err, jetstream.ErrConsumerDeleted) || errors.Is(err, jetstream.ErrConsumerNotFound) || errors.Is(err, jetstream.ErrConsumerDoesNotExist) {
		return refuse(err, "the queue at %s was removed: put its jobs in again by psi batch resume", q.address)
	}
	return nil
}

// hold sends heartbeats from its own goroutine, so that they continue while the model computes.
func (d *Delivery) hold() {
	stop := make(chan struct{})
	d.end = sync.OnceFunc(func() { close(stop) })
	beat := d.queue.renewInterval
	go func() {
		ticker := time.NewTicker(beat)
		defer ticker.Stop()
		for {
			select {
			case <-stop:
				return
			case <-ticker.C:
				// The next heartbeat makes up for a lost one.
				_ = d.message.InProgress()
				if d.queue.connection.IsClosed() {
					return
				}
			}
		}
	}()
}

// Done removes the unit from the queue. It returns when the servers have confirmed.
func (d *Delivery) Done(ctx context.Context) error { return d.settle(ctx, "+ACK") }

// Requeue returns the unit to the queue, which hands it out again after a pause.
func (d *Delivery) Requeue(ctx context.Context, after time.Duration) error {
	return d.settle(ctx, fmt.Sprintf(`-NAK {"delay": %d}`, max(after, 0).Nanoseconds()))
}

// Drop removes the unit from the queue although it is not done. The servers publish the reason as an advisory.
func (d *Delivery) Drop(ctx context.Context, reason string) error {
	return d.settle(ctx, "+TERM "+strings.Join(strings.Fields(reason), " "))
}

// settle repeats an acknowledgement until the servers confirm it. Heartbeats continue meanwhile.
func (d *Delivery) settle(ctx context.Context, how string) error {
	defer d.end()
	q := d.queue
	var since time.Time
	return q.try(ctx, func(ctx context.Context) error {
		if since.IsZero() {
			since = time.Now()
		}
		_, err := q.connection.RequestWithContext(ctx, d.message.Reply(), []byte(how))
		switch {
		case err == nil:
		case !q.connection.IsConnected():
			since = time.Time{}
		case time.Since(since) > confirmTimeout:
			return refuse(ErrUnconfirmed, "the queue at %s did not confirm that a unit of job %s is settled (%s): it may hand it out again", q.address, d.Job, q.address.redact(err.Error()))
		}
		return err
	})
}
