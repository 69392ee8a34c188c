package observe

import (
	"sync"
	"time"
)

// complaintEvery is the minimum time between two reports of a fault.
const complaintEvery = time.Minute

// complaint reports a recurring fault, at most once a minute.
type complaint struct {
	report func(error)

	mu   sync.Mutex
	last time.Time
}

func (c *complaint) about(err error) {
	if err == nil || c.report == nil {
		return
	}
	now := time.Now()
	c.mu.Lock()
	due := c.last.IsZero() || now.Sub(c.last) >= complaintEvery
	if due {
		c.last = now
	}
	c.mu.Unlock()
	if due {
		c.report(err)
	}
}
