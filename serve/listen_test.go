package serve

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"
)

// A connection is read slowly until a request of it was admitted, and then as fast as it comes.
func TestStrangersAreReadSlowly(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	limits := newLimited(l, 10)
	t.Cleanup(func() { check(t, limits.Close()) })
	client, err := net.Dial("tcp", l.Addr().String())
	check(t, err)
	t.Cleanup(func() { _ = client.Close() })
	accepted, err := limits.Accept()
	check(t, err)
	server := accepted.(*counted)
	const size = 200 << 10
	go func() {
		_, _ = client.Write(make([]byte, size))
	}()
	var read atomic.Int64
	ended := make(chan error, 1)
	go func() {
		_, err := io.Copy(counting{&read}, io.LimitReader(server, size))
		ended <- err
	}()
	time.Sleep(500 * time.Millisecond)
	if n := read.Load(); n < unprovenBurst || n > unprovenBurst+2*unprovenRate {
		t.Errorf("%d bytes are read of a stranger", n)
	}
	server.prove()
	select {
	case err := <-ended:
		check(t, err)
	case <-time.After(5 * time.Second):
		t.Errorf("%d of %d bytes are read of a caller", read.Load(), size)
	}
	check(t, server.Close())
	if len(limits.held) != 0 || len(limits.unproven) != 0 {
		t.Error("a closed connection is counted")
	}
}

type counting struct{ n *atomic.Int64 }

func (c counting) Write(p []byte) (int, error) {
	c.n.Add(int64(len(p)))
	return len(p), nil
}

// A body that does not come in time is told so: the caller is slow, not gone.
func TestSlowBody(t *testing.T) {
	r := start(t, func(c *Config) { c.Timeout = 300 * time.Millisecond })
	web, _, _ := r.Addresses()
	for range 10 { // of two clocks, either may be first
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", web)
		check(t, err)
		_, err = fmt.Fprintf(c, "POST /explain HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{")
		check(t, err)
		answer, err := http.ReadResponse(bufio.NewReader(c), nil)
		check(t, err)
		check(t, answer.Body.Close())
		check(t, c.Close())
		if answer.StatusCode != http.StatusGatewayTimeout {
			t.Errorf("status %d, want 504", answer.StatusCode)
		}
	}
}
