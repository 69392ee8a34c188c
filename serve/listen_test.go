package serve

import (
	"io"
	"net"
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
