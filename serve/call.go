package serve

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/stats"

	"github.com/psi-shapley/psi/serve/internal/h2"
)

// call is a gRPC call in progress, from the moment its header was read.
type call struct {
	connection *connection
	stream     uint32
	refused    error // why it is refused; nil if it is not
	budget     *budget
	encoding   string        // compression of its messages
	cancel     func()        // cancels its context
	late       func()        // ends the context of a stream whose message takes too long
	leave      []func()      // called at its end
	unbegun    func() bool   // stops waiting for the end of a call that gRPC never begins
	wakeup     chan struct{} // receives when something has arrived
	once       sync.Once

	// Guarded by connection.mu.
	messages   h2.Messages
	incomplete int64     // bytes of an incomplete message
	complete   []message // complete messages that were not taken
	last       bool      // there are no more messages
	held       int64     // bytes of the call itself
	answered   int64     // bytes of its answer
	counted    bool      // it is among the calls of the connection
	handled    bool
	sending    *time.Timer // until the answer must have been sent
}

// message is a message that has arrived.
type message struct {
	packed bool
	held   int64 // bytes of the connection's budget
}

type callKey struct{}

// callOf returns the call of a context.
func callOf(ctx context.Context) *call {
	k, _ := ctx.Value(callKey{}).(*call)
	return k
}

// wake wakes the goroutine that waits for the next message.
func (k *call) wake() {
	select {
	case k.wakeup <- struct{}{}:
	default:
	}
}

// received returns the bytes of messages that were not taken.
func (k *call) received() int64 {
	n := k.incomplete
	for _, m := range k.complete {
		n += m.held
	}
	return n
}

// next takes the oldest complete message.
func (k *call) next() message {
	k.connection.mu.Lock()
	defer k.connection.mu.Unlock()
	if len(k.complete) == 0 {
		return message{}
	}
	m := k.complete[0]
	if k.complete = k.complete[1:]; len(k.complete) == 0 {
		k.complete = nil
	}
	return m
}

// waits reports whether no part of the next message has arrived.
func (k *call) waits() bool {
	k.connection.mu.Lock()
	defer k.connection.mu.Unlock()
	return !k.last && !k.messages.Within() && len(k.complete) == 0
}

// answer reserves the bytes of an answer until it is sent. An earlier answer of the stream has been sent by then, except the
// little that gRPC buffers.
func (k *call) answer(n int64) error {
	const waiting = 64 << 10
	c := k.connection
	c.mu.Lock()
	n += min(waiting, k.answered)
	more := n - k.answered
	c.mu.Unlock()
	if err := c.budget.Reserve(more); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls[k.stream] == nil {
		return c.budget.Reserve(-more) // the client is gone
	}
	k.answered = n
	return nil
}

// end releases what the call holds, except its answer, which must be sent in time.
func (k *call) end() {
	k.once.Do(func() {
		k.cancel()
		for _, leave := range k.leave {
			leave()
		}
		k.budget.Close()
		c := k.connection
		c.mu.Lock()
		defer c.mu.Unlock()
		n := k.received()
		k.incomplete, k.complete, k.handled = 0, nil, true
		if c.calls[k.stream] != nil {
			k.sending = time.AfterFunc(c.timeout, c.drop)
		}
		_ = c.budget.Reserve(-n) // which never fails
		if k.counted {
			c.unhandled--
			c.settle()
		}
	})
}

// untilLate returns the context of a stream. Its end is not known in advance, so each of its messages has its own timeout.
func (k *call) untilLate(ctx context.Context) context.Context {
	c := &lateContext{}
	c.Context, k.cancel = context.WithCancel(ctx)
	k.late = func() {
		c.late.Store(true)
		k.cancel()
	}
	return c
}

// lateContext is a context that can end as if it had a deadline.
type lateContext struct {
	context.Context //nolint:containedctx // it is one
	late            atomic.Bool
}

// Err implements context.Context.
func (c *lateContext) Err() error {
	err := c.Context.Err()
	if err != nil && c.late.Load() {
		return context.DeadlineExceeded
	}
	return err
}

// callEvents passes events of gRPC to calls.
type callEvents struct{}

// TagRPC implements stats.Handler.
func (callEvents) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

// HandleRPC implements stats.Handler.
func (callEvents) HandleRPC(ctx context.Context, event stats.RPCStats) {
	switch e := event.(type) {
	case *stats.InHeader:
		if k := callOf(ctx); k != nil {
			k.unbegun()
			k.encoding = e.Compression
		}
	case *stats.End:
		if k := callOf(ctx); k != nil {
			k.end()
		}
	}
}

// TagConn implements stats.Handler.
func (callEvents) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn implements stats.Handler.
func (callEvents) HandleConn(context.Context, stats.ConnStats) {}
