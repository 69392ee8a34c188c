package serve

import (
	"bufio"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc/credentials"

	"github.com/psi-shapley/psi/serve/internal/h2"
)

// What parts of a call of gRPC hold, beside their bytes: measured by TestMemoryOfCalls.
const (
	callBytes    = 4 << 10 // a stream, its contexts and its goroutine
	frameBytes   = 96      // a DATA frame while its message is not complete
	messageBytes = 32      // a message that waits to be taken
	fieldBytes   = 64      // a field of a header
)

// unprovenBytes is what a connection may hold before a call of it was admitted.
const unprovenBytes = 256 << 10

// watched is how a server of gRPC takes connections: as the credentials within do, and each within a budget.
type watched struct {
	credentials.TransportCredentials
	open func(c, raw net.Conn) *connection
}

// ServerHandshake is of credentials.TransportCredentials.
func (w watched) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	secured, info, err := w.TransportCredentials.ServerHandshake(raw)
	if err != nil {
		return nil, nil, err
	}
	c := w.open(secured, raw)
	return c, opened{info, c}, nil
}

// Clone is of credentials.TransportCredentials.
func (w watched) Clone() credentials.TransportCredentials {
	return watched{w.TransportCredentials.Clone(), w.open}
}

// opened is what is known of a peer, and its connection.
type opened struct {
	credentials.AuthInfo
	connection *connection
}

// connection is a client's connection of gRPC. It counts what arrives before gRPC does, which knows of messages only when
// they are complete, and what of the answers is not sent: frames are seen as they are read and written.
type connection struct {
	net.Conn
	raw     net.Conn // beneath TLS
	in      *bufio.Reader
	timeout time.Duration // to send what was answered
	budget  *budget
	trusted int64 // limit of the budget once a call was admitted

	received, sent h2.Frames
	last           h2.Frame // HEADERS that were read last

	mu        sync.Mutex
	calls     map[uint32]*call // by stream, until client or server has ended it
	unhandled int              // calls that may hold what has arrived
	closed    bool
}

// readBytes is how much is read from a connection at a time.
const readBytes = 16 << 10

// newConnection counts what a connection holds. gRPC must read it without a buffer of its own: the frame that was seen last
// must be the frame that gRPC is at.
func newConnection(c, raw net.Conn, m *memory, trusted int64, timeout time.Duration) *connection {
	watch := &connection{
		Conn: c, raw: raw, in: bufio.NewReaderSize(c, readBytes), timeout: timeout,
		budget: m.budget(min(trusted, unprovenBytes)), trusted: trusted, received: h2.Input(), calls: map[uint32]*call{},
	}
	watch.budget.arrive(watch.drop)
	return watch
}

// Read reads what the client sends. It fails when the client may hold no more, which ends the connection.
func (c *connection) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	if full := c.received.Pass(p[:n], (*receiving)(c)); full != nil {
		return 0, full
	}
	return n, err
}

// Write sends what the server answers. A client that does not take it in time loses the connection.
func (c *connection) Write(p []byte) (int, error) {
	if err := c.Conn.SetWriteDeadline(time.Now().Add(c.timeout)); err != nil {
		return 0, err
	}
	n, err := c.Conn.Write(p)
	_ = c.sent.Pass(p[:n], (*sending)(c)) // which refuses nothing
	return n, err
}

// Close gives back what the connection holds, but for what calls have received and are still at work on.
func (c *connection) Close() error {
	c.mu.Lock()
	for stream := range c.calls {
		c.forget(stream)
	}
	c.closed = true
	c.settle()
	c.mu.Unlock()
	return c.Conn.Close()
}

// settle closes the budget of a connection that is closed when the last of its calls has ended.
func (c *connection) settle() {
	if c.closed && c.unhandled == 0 {
		c.budget.Close()
	}
}

// drop ends the connection without waiting for anything; whoever reads it then closes it.
func (c *connection) drop() { _ = c.raw.Close() } // whatever comes of it, it is closed

// prove lets the connection hold what that of a known caller may.
func (c *connection) prove() {
	c.budget.allow(c.trusted)
	if raw, is := c.raw.(*counted); is {
		raw.prove()
	}
}

// receiving sees the frames that a client sends.
type receiving connection

// Begin is of h2.Visitor. The memory of a DATA frame is taken before gRPC does.
func (r *receiving) Begin(f h2.Frame) error {
	c := (*connection)(r)
	switch f.Type {
	case h2.Headers:
		c.last = f
	case h2.Data:
		return c.take(f, int64(f.Length)+frameBytes)
	case h2.Reset:
		c.over(f.Stream)
	}
	return nil
}

// Data is of h2.Visitor.
func (r *receiving) Data(stream uint32, part []byte) error {
	c := (*connection)(r)
	c.mu.Lock()
	k := c.calls[stream]
	if k == nil {
		c.mu.Unlock()
		return nil // gRPC drops what belongs to no call
	}
	complete := int64(0)
	k.messages.Pass(part, func(packed bool) {
		k.complete = append(k.complete, message{packed, k.partly + messageBytes})
		k.partly = 0
		complete++
	})
	c.mu.Unlock()
	k.stir()
	return c.budget.Reserve(complete * messageBytes)
}

// sending sees the frames that the server sends.
type sending connection

// Begin is of h2.Visitor.
func (s *sending) Begin(f h2.Frame) error {
	if f.Ends() {
		(*connection)(s).over(f.Stream)
	}
	return nil
}

// Data is of h2.Visitor.
func (s *sending) Data(uint32, []byte) error { return nil }

// take holds the bytes of a DATA frame.
func (c *connection) take(f h2.Frame, n int64) error {
	if err := c.budget.Reserve(n); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.calls[f.Stream]
	if k == nil {
		return c.budget.Reserve(-n)
	}
	k.partly += n
	if f.Ends() {
		k.last = true
		k.stir()
	}
	return nil
}

// begin counts the call whose HEADERS were read last. It must be called by whoever reads the connection.
func (c *connection) begin(k *call, header int64) error {
	k.connection, k.stream, k.held, k.last = c, c.last.Stream, callBytes+header, c.last.Ends()
	if err := c.budget.Reserve(k.held); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls[k.stream] = k
	c.unhandled++
	k.counted = true
	return nil
}

// over ends a stream of which nothing more is sent: its answer is not held any more.
func (c *connection) over(stream uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forget(stream)
}

func (c *connection) forget(stream uint32) {
	k := c.calls[stream]
	if k == nil {
		return
	}
	delete(c.calls, stream)
	if k.sending != nil {
		k.sending.Stop()
	}
	n := k.held + k.answered
	if k.handled {
		n += k.received()
	}
	k.held, k.answered = 0, 0
	_ = c.budget.Reserve(-n) // which never fails
}
