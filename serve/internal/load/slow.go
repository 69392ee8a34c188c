package main

import (
	"context"
	"errors"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"
)

// crawlers are connections that send a byte a second, as callers on bad lines do, and those who mean harm.
type crawlers struct {
	http, grpc string
	mu         sync.Mutex
	ends       map[string]int
}

// notLetIn is the end of a connection that could not be made.
const notLetIn = "not let in"

// crawl opens one such connection after another.
func (c *crawlers) crawl(ctx context.Context, i int) {
	kinds := []struct{ name, address, at, slowly string }{
		{"header", c.http, "POST /explain HTTP/1.1\r\nHost: localhost\r\n", "X-Slow: " + strings.Repeat("a", 1000)},
		{"body", c.http, "POST /explain HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n", strings.Repeat(" ", 5000)},
		{"preface", c.grpc, "", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + strings.Repeat("\x00", 1000)},
	}
	for k := i; ctx.Err() == nil; k++ {
		kind := kinds[k%len(kinds)]
		end := crawlOnce(ctx, kind.address, kind.at, kind.slowly)
		if ctx.Err() != nil {
			return
		}
		c.mu.Lock()
		c.ends[kind.name+": "+end]++
		c.mu.Unlock()
		if end == notLetIn {
			time.Sleep(100 * time.Millisecond) // a server that is gone may come back
		}
	}
}

// crawlOnce sends some bytes at once and others slowly, and says how the server ended that.
func crawlOnce(ctx context.Context, address, at, slowly string) string {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return notLetIn
	}
	defer conn.Close()
	start := time.Now()
	if _, err := conn.Write([]byte(at)); err != nil {
		return "closed at once"
	}
	heard := make([]byte, 4096)
	for i := range len(slowly) {
		if ctx.Err() != nil {
			return "left"
		}
		_, sent := conn.Write([]byte{slowly[i]}) // if the server is gone, it may have said something first
		if err := conn.SetReadDeadline(time.Now().Add(time.Second)); err != nil {
			return after(start)
		}
		n, err := conn.Read(heard)
		if strings.HasPrefix(string(heard[:n]), "HTTP/") && n >= 12 {
			return "HTTP " + string(heard[9:12]) + ", " + after(start)
		}
		var waits net.Error
		if sent != nil || err != nil && !(errors.As(err, &waits) && waits.Timeout()) {
			return after(start)
		}
	}
	return "never ended"
}

// after says when the server closed a connection, to five seconds.
func after(start time.Time) string {
	const step = 5
	return "closed after about " + strconv.Itoa((int(time.Since(start).Seconds())+step/2)/step*step) + " s"
}
