package auth

import (
	"sync"
	"time"
)

// inside counts the requests in progress for each key.
type inside struct {
	most int // for each key; 0 means no limit

	mu    sync.Mutex
	count map[string]int // of the keys that have any
}

func newInside(most int) *inside { return &inside{most: most, count: map[string]int{}} }

// enter counts a request until leave is called, or returns a *TooManyError.
func (i *inside) enter(key string) (leave func(), err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.most > 0 && i.count[key] >= i.most {
		return nil, &TooManyError{RetryAfter: time.Second}
	}
	i.count[key]++
	return func() { i.leave(key) }, nil
}

func (i *inside) leave(key string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.count[key]--; i.count[key] == 0 {
		delete(i.count, key)
	}
}
