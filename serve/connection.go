package serve

import (
	"bufio"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc/credentials"

	"github.com/psi-shapley/psi/serve/internal/h2"
)

// Bytes that parts of a gRPC call hold beside their data, measured by TestMemoryOfCalls.
const (
	callBytes    = 4 << 10 // a stream, its contexts and its goroutine
	frameBytes   = 96      // a DATA frame while its message is not complete
	messageBytes = 32      // a message that waits to be taken
	fieldBytes   = 64      // a field of a header
)

// unprovenBytes is the maximum memory of a connection before a call of it was admitted.
const unprovenBytes = 256 << 10

// watched wraps the credentials of a gRPC server: it gives each connection a budget.
type watched struct {
	credentials.TransportCredentials
	open func(c, raw net.Conn) *connection
}

// ServerHandshake implements credentials.TransportCredentials.
func (w watched) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	secured, info, err := w.TransportCredentials.ServerHandshake(raw)
	if err != nil {
		return nil, nil, err
	}
	c := w.open(secured, raw)
	return c, opened{info, c}, nil
}

// Clone implements credentials.TransportCredentials.
func (w watched) Clone() credentials.TransportCredentials {
	return watched{w.TransportCredentials.Clone(), w.open}
}

// opened is the authentication of a peer, with its connection.
type opened struct {
	credentials.AuthInfo
	connection *connection
}

// connection is the gRPC connection of a client. It observes frames as they are read and written. So it can count the memory
// of incomplete messages, which gRPC does not report, and of answers that are not sent yet.
type connection struct {
	net.Conn
	raw     net.Conn // below TLS
	in      *bufio.Reader
	timeout time.Duration // for sending an answer
	budget  *budget
	trusted int64 // limit of the budget after a call was admitted

	received, sent h2.Frames
	last           h2.Frame // last HEADERS frame

	mu        sync.Mutex
	calls     map[uint32]*call // by stream, until the client or the server ends it
	unhandled int              // calls that may hold received messages
	closed    bool
}

// readBytes is the size of one read from a connection.
const readBytes = 16 << 10

// newConnection returns a connection with a budget. gRPC must read it without its own buffer: the last frame that was
// observed must be the one that gRPC is at.
func newConnection(c, raw net.Conn, m *memory, trusted int64, timeout time.Duration) *connection {
	watch := &connection{
		Conn: c, raw: raw, in: bufio.NewReaderSize(c, readBytes), timeout: timeout,
		budget: m.budget(min(trusted, unprovenBytes)), trusted: trusted, received: h2.Input(), calls: map[uint32]*call{},
	}
	watch.budget.arrive(watch.drop)
	return watch
}

// Read reads what the client sends. It fails when the budget is exceeded, which ends the connection.
func (c *connection) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	if full := c.received.Pass(p[:n], (*receiving)(c)); full != nil {
		return 0, full
	}
	return n, err
}

// Write sends what the server answers. A client that does not read it in time loses the connection.
func (c *connection) Write(p []byte) (int, error) {
	if err := c.Conn.SetWriteDeadline(time.Now().Add(c.timeout)); err != nil {
		return 0, err
	}
	n, err := c.Conn.Write(p)
	_ = c.sent.Pass(p[:n], (*sending)(c)) // which refuses nothing
	return n, err
}

// Close releases the memory of the connection, except messages that calls still work on.
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

// settle closes the budget of a closed connection when the last of its calls has ended.
func (c *connection) settle() {
	if c.closed && c.unhandled == 0 {
		c.budget.Close()
	}
}

// drop closes the connection at once. The goroutine that reads it cleans up.
func (c *connection) drop() { _ = c.raw.Close() } // whatever comes of it, it is closed

// prove raises the limit of the connection to that of a known caller.
func (c *connection) prove() {
	c.budget.allow(c.trusted)
	if raw, is := c.raw.(*counted); is {
		raw.prove()
	}
}

// receiving observes the frames that a client sends.
type receiving connection

// Begin implements h2.Visitor. It reserves the memory of a DATA frame before gRPC allocates it.
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

// Data implements h2.Visitor.
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
		k.complete = append(k.complete, message{packed, k.incomplete + messageBytes})
		k.incomplete = 0
		complete++
	})
	c.mu.Unlock()
	k.wake()
	return c.budget.Reserve(complete * messageBytes)
}

// sending observes the frames that the server sends.
type sending connection

// Begin implements h2.Visitor.
func (s *sending) Begin(f h2.Frame) error {
	if f.Ends() {
		(*connection)(s).over(f.Stream)
	}
	return nil
}

// Data implements h2.Visitor.
func (s *sending) Data(uint32, []byte) error { return nil }

// take reserves the bytes of a DATA frame.
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
	k.incomplete += n
	if f.Ends() {
		k.last = true
		k.wake()
	}
	return nil
}

// begin counts the call of the last HEADERS frame. The goroutine that reads the connection must call it.
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

// over ends a stream on which nothing more is sent, and releases its answer.
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
