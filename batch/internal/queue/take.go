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

// pulse is how often a server says to a worker that waits that it is still there. After two that did not come the worker
// asks again, since the leader that knew of it may be gone.
const pulse = 3 * time.Second

// unanswered is how long a worker that is connected tells that a unit is done before it gives up. A leader that has just
// taken over may not know of the delivery and never answer, until it hands the unit out again.
const unanswered = time.Minute

// ErrUnconfirmed is a unit that was settled, but the queue did not say so. If it does not know, it hands the unit out again.
var ErrUnconfirmed = errors.New("the queue did not confirm")

// Delivery is a unit that this worker has. Heartbeats hold it until it is settled by Done, Again or Drop.
type Delivery struct {
	Job     string
	Body    []byte
	Attempt int // times it was handed out, this one too

	queue   *Queue
	message jetstream.Msg
	end     func() // of the heartbeats
}

// Take waits for a unit, one at a time: what a worker has not begun is better with another one, and what it has dies with it.
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
	// A context with a deadline would set the time after which the server forgets the question, which must not be short.
	asked, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, cancel)
	defer stop()
	for wait := 50 * time.Millisecond; ; {
		if err := q.reachable(ctx); err != nil {
			return nil, err
		}
		began := time.Now()
		message, err := q.workers.Next(jetstream.FetchContext(asked), jetstream.FetchHeartbeat(pulse))
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
		// A question that was answered late, or not at all, is put again at once; one that failed at once, later.
		if wait = min(2*wait, 2*time.Second); time.Since(began) > pulse {
			wait = 50 * time.Millisecond
		}
		pause(ctx, wait)
	}
}

// missing is an error if the consumer was removed: nobody would ever answer.
func (q *Queue) missing(err error) error {
	if errors.Is(err, jetstream.ErrConsumerDeleted) || errors.Is(err, jetstream.ErrConsumerNotFound) || errors.Is(err, jetstream.ErrConsumerDoesNotExist) {
		return refuse(err, "the queue at %s was removed: put its jobs in again by psi batch resume", q.address)
	}
	return nil
}

// hold sends heartbeats from a goroutine of its own, so that they go on while the engine computes.
func (d *Delivery) hold() {
	stop := make(chan struct{})
	d.end = sync.OnceFunc(func() { close(stop) })
	beat := d.queue.beat
	go func() {
		ticker := time.NewTicker(beat)
		defer ticker.Stop()
		for {
			select {
			case <-stop:
				return
			case <-ticker.C:
				// One that is lost is made good by the next.
				_ = d.message.InProgress()
				if d.queue.connection.IsClosed() {
					return
				}
			}
		}
	}()
}

// Done takes the unit out of the queue. It returns when the servers have said so.
func (d *Delivery) Done(ctx context.Context) error { return d.settle(ctx, "+ACK") }

// Again gives the unit back, to be handed out after a while.
func (d *Delivery) Again(ctx context.Context, after time.Duration) error {
	return d.settle(ctx, fmt.Sprintf(`-NAK {"delay": %d}`, max(after, 0).Nanoseconds()))
}

// Drop takes the unit out of the queue although it is not done. The servers tell the reason to those who listen.
func (d *Delivery) Drop(ctx context.Context, reason string) error {
	return d.settle(ctx, "+TERM "+strings.Join(strings.Fields(reason), " "))
}

// settle tells the servers until they answer. Heartbeats go on meanwhile.
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
		case time.Since(since) > unanswered:
			return refuse(ErrUnconfirmed, "the queue at %s did not confirm that a unit of job %s is settled (%s): it may hand it out again", q.address, d.Job, q.address.redact(err.Error()))
		}
		return err
	})
}
