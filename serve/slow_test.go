package serve

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"
)

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
