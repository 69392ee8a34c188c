package serve

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// rawCalls is a client of gRPC that sends what no library does: parts of messages, and nothing to end them.
type rawCalls struct {
	net.Conn
	framer *http2.Framer

	mu      sync.Mutex
	writing sync.Mutex
	waiting *sync.Cond
	windows map[uint32]int64     // that may be sent on a stream; 0 is the connection
	initial int64                // of a stream
	ends    map[uint32]streamEnd // of streams that the server has ended
	err     error                // that the connection ended with
	next    uint32
}

// streamEnd is how the server ended a stream.
type streamEnd struct{ status, message string }

// raw opens a connection. Settings may limit what the server may send.
func (r *running) raw(t *testing.T, settings ...http2.Setting) *rawCalls {
	t.Helper()
	_, address, _ := r.Addresses()
	connection, err := net.Dial("tcp", address)
	check(t, err)
	t.Cleanup(func() { _ = connection.Close() })
	c := &rawCalls{Conn: connection, framer: http2.NewFramer(connection, connection), windows: map[uint32]int64{0: 65_535}, initial: 65_535, ends: map[uint32]streamEnd{}, next: 1}
	c.waiting = sync.NewCond(&c.mu)
	c.framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	_, err = io.WriteString(connection, http2.ClientPreface)
	check(t, err)
	check(t, c.framer.WriteSettings(settings...))
	go c.read()
	return c
}

func (c *rawCalls) read() {
	for {
		frame, err := c.framer.ReadFrame()
		c.mu.Lock()
		switch f := frame.(type) {
		case *http2.SettingsFrame:
			if v, has := f.Value(http2.SettingInitialWindowSize); has {
				for stream := range c.windows {
					if stream != 0 {
						c.windows[stream] += int64(v) - c.initial
					}
				}
				c.initial = int64(v)
			}
			if !f.IsAck() {
				go func() { _ = c.write(func() error { return c.framer.WriteSettingsAck() }) }() // reading ends if it fails
			}
		case *http2.WindowUpdateFrame:
			c.windows[f.StreamID] += int64(f.Increment)
		case *http2.PingFrame:
			if data := f.Data; !f.IsAck() {
				go func() { _ = c.write(func() error { return c.framer.WritePing(true, data) }) }()
			}
		case *http2.MetaHeadersFrame:
			if f.StreamEnded() {
				var end streamEnd
				for _, field := range f.Fields {
					switch field.Name {
					case "grpc-status":
						end.status = field.Value
					case "grpc-message":
						end.message = field.Value
					}
				}
				c.ends[f.StreamID] = end
			}
		case *http2.RSTStreamFrame:
			if _, has := c.ends[f.StreamID]; !has {
				c.ends[f.StreamID] = streamEnd{status: f.ErrCode.String()}
			}
		}
		var ofStream http2.StreamError
		if err != nil && !errors.As(err, &ofStream) {
			c.err = err
		}
		c.waiting.Broadcast()
		c.mu.Unlock()
		if c.err != nil {
			return
		}
	}
}

func (c *rawCalls) write(do func() error) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	return do()
}

// open starts a call and returns its stream. Fields are pairs of name and value.
func (c *rawCalls) open(method string, fields ...string) (uint32, error) {
	c.mu.Lock()
	stream := c.next
	c.next += 2
	c.windows[stream] = c.initial
	c.mu.Unlock()
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	encoder.SetMaxDynamicTableSize(0)
	fields = append([]string{":method", "POST", ":scheme", "http", ":path", "/inference.GRPCInferenceService/" + method, ":authority", "localhost", "content-type", "application/grpc", "te", "trailers"}, fields...)
	for i := 0; i < len(fields); i += 2 {
		if err := encoder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]}); err != nil {
			return 0, err
		}
	}
	return stream, c.write(func() error {
		return c.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: block.Bytes(), EndHeaders: true})
	})
}

// claim begins a message of so many bytes and sends some of them, in frames of at most size. It waits for the server to
// take them, but not for longer than a moment.
func (c *rawCalls) claim(stream uint32, length, sent, size int) error {
	data := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(length)), make([]byte, sent)...)
	return c.data(stream, data, size, false)
}

func (c *rawCalls) data(stream uint32, data []byte, size int, last bool) error {
	for len(data) > 0 {
		n := min(size, len(data))
		if err := c.room(stream, int64(n)); err != nil {
			return err
		}
		if err := c.write(func() error { return c.framer.WriteData(stream, last && n == len(data), data[:n]) }); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

var errNoRoom = errors.New("the server takes no more")

// room waits for the server to take bytes of a stream.
func (c *rawCalls) room(stream uint32, n int64) error {
	late := time.AfterFunc(3*time.Second, c.waiting.Broadcast)
	defer late.Stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	for start := time.Now(); c.windows[stream] < n || c.windows[0] < n; c.waiting.Wait() {
		if c.err != nil {
			return c.err
		}
		if _, ended := c.ends[stream]; ended || time.Since(start) > 2*time.Second {
			return errNoRoom
		}
	}
	c.windows[stream] -= n
	c.windows[0] -= n
	return nil
}

// end waits for the server to end a stream.
func (c *rawCalls) end(t *testing.T, stream uint32) (end streamEnd) {
	t.Helper()
	eventually(t, "the stream is ended", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		ended, has := c.ends[stream]
		if c.err != nil {
			end = streamEnd{status: "closed", message: c.err.Error()}
		}
		if has {
			end = ended
		}
		return has || c.err != nil
	})
	return end
}

// closed reports whether the server has closed the connection.
func (c *rawCalls) closed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err != nil
}
