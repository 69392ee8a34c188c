package queue

import (
	"context"
	"errors"
	"iter"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

const (
	// inFlight is the maximum number of units that are sent and not yet stored. It bounds the memory of Put.
	inFlight = 2048
	// maxAttempts is how often a unit is sent to servers that have no room.
	maxAttempts = 5
)

// Put puts units of a job into the queue. It returns their number once the servers have stored them. Put keeps each body
// until then, so bodies must not share memory.
//
// A unit that is sent twice because its answer was lost is stored once. Another Put creates new units, even with the same
// bodies: Clear the job first to put it again.
func (q *Queue) Put(ctx context.Context, job string, bodies iter.Seq2[[]byte, error]) (int, error) {
	subject, err := subjectOf(job)
	if err != nil {
		return 0, err
	}
	p := &putState{queue: q, prefix: nuid.Next() + "-", subject: subject}
	for body, err := range bodies {
		if err != nil {
			return p.stored, err
		}
		if len(p.sent) == inFlight {
			if err := p.await(ctx); err != nil {
				return p.stored, err
			}
		}
		p.add(body)
	}
	for len(p.sent) > 0 {
		if err := p.await(ctx); err != nil {
			return p.stored, err
		}
	}
	return p.stored, nil
}

// putState is the state of one Put.
type putState struct {
	queue    *Queue
	prefix   string // of the messages' ids; differs between Puts
	subject  string
	sent     []*sentUnit // not known to be stored, oldest first
	n        int         // sent so far
	stored   int
	patience int // times in a row that there was no room
}

// sentUnit is a unit that was sent.
type sentUnit struct {
	message *nats.Msg
	future  jetstream.PubAckFuture
	failed  error
}

func (p *putState) add(body []byte) {
	message := nats.NewMsg(p.subject)
	message.Data = body
	message.Header.Set(jetstream.MsgIDHeader, p.prefix+strconv.FormatInt(int64(p.n), 36))
	p.n++
	one := &sentUnit{message: message}
	p.send(one)
	p.sent = append(p.sent, one)
}

func (p *putState) send(one *sentUnit) {
	// Put retries itself: the library gives up after two attempts.
	one.future, one.failed = p.queue.js.PublishMsgAsync(one.message, jetstream.WithRetryAttempts(0))
}

// await waits until the oldest unit is stored.
func (p *putState) await(ctx context.Context) error {
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		oldest := p.sent[0]
		if oldest.failed == nil {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-oldest.future.Ok():
				p.sent[0] = nil
				p.sent = p.sent[1:]
				p.stored++
				p.patience = 0
				return nil
			case oldest.failed = <-oldest.future.Err():
			}
		}
		if err := p.recover(ctx, wait); err != nil {
			return err
		}
	}
}

// recover sends all failed parcels again, after a pause.
func (p *putState) recover(ctx context.Context, wait time.Duration) error {
	q := p.queue
	err := q.fault(p.sent[0].failed)
	switch {
	case refused(err):
		return err
	case errors.Is(err, ErrFull):
		if p.patience++; p.patience == maxAttempts {
			return err
		}
		wait = time.Second
	}
	if denied := q.denied.Load(); denied != nil {
		return refuse(*denied, "%s", (*denied).Error())
	}
	if !pause(ctx, wait) {
		return q.withLastError(ctx.Err(), err)
	}
	if fault := q.reachable(ctx); fault != nil {
		return q.withLastError(fault, err)
	}
	for _, one := range p.sent {
		if one.failed == nil {
			select {
			case one.failed = <-one.future.Err():
			default:
			}
		}
		if one.failed != nil {
			p.send(one)
		}
	}
	return nil
}
