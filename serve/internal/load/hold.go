package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// held is how a number of calls that never finish their message ended.
type held struct {
	Calls   int             `json:"calls"`
	Sent    int64           `json:"sent_bytes"` // of messages, without the protocol's own
	Ends    map[outcome]int `json:"ends"`       // "held" is a call that the server let stand until the end
	First   string          `json:"first_end"`
	Seconds float64         `json:"seconds"`
}

// stillHeld is the outcome of a call that the server did not end.
const stillHeld outcome = "held"

// hold starts calls whose messages claim more bytes than they send, and keeps them open.
func hold(ctx context.Context, s *settings, methods []string) (any, error) {
	if s.grpc == "" || s.calls < 1 || s.bytes < 0 {
		return nil, errors.New("hold needs --grpc, and --calls above 0")
	}
	calls := newRawCalls(s)
	defer calls.Close()
	start := time.Now()
	ctx, cancel := context.WithTimeout(ctx, s.length)
	defer cancel()
	found := &held{Calls: s.calls, Ends: map[outcome]int{}}
	var sent atomic.Int64
	var mu sync.Mutex
	var under sync.WaitGroup
	for i := range s.calls {
		under.Go(func() {
			m := &unfinished{left: s.bytes, sent: &sent}
			m.over, m.end = context.WithCancel(ctx)
			if s.claim > 0 {
				m.head = frame(false, s.claim)
			}
			err := calls.send(ctx, i, methods[0], "", m)
			end := outcomeOf(err)
			if ctx.Err() != nil && (end == late || end == cancelled) {
				end, err = stillHeld, nil
			}
			mu.Lock()
			defer mu.Unlock()
			found.Ends[end]++
			if err != nil && found.First == "" {
				found.First = firstBytes(root(err).Error())
			}
		})
	}
	under.Wait()
	found.Sent, found.Seconds = sent.Load(), time.Since(start).Seconds()
	return found, nil
}

// unfinished is the body of a call that sends some bytes and then waits.
type unfinished struct {
	head []byte
	over context.Context //nolint:containedctx // the transport reads and closes without one
	end  func()
	left int64
	sent *atomic.Int64
}

func (u *unfinished) Read(p []byte) (n int, err error) {
	switch {
	case len(u.head) > 0:
		n = copy(p, u.head)
		u.head = u.head[n:]
	case u.left > 0:
		n = int(min(int64(len(p)), u.left))
		copy(p, bytes.Repeat([]byte{'a'}, n))
		u.left -= int64(n)
	default:
		<-u.over.Done()
		return 0, io.ErrUnexpectedEOF
	}
	u.sent.Add(int64(n))
	return n, nil
}

// Close ends the wait: the call is over.
func (u *unfinished) Close() error {
	u.end()
	return nil
}

// firstBytes shortens a message of the server.
func firstBytes(message string) string { return message[:min(len(message), 300)] }
