package auth

import (
	"sync"
	"time"
)

// inside counts the requests under way of each key.
type inside struct {
	most int // of one key; 0 is no limit

	mu    sync.Mutex
	count map[string]int // of the keys that have any
}

func newInside(most int) *inside { return &inside{most: most, count: map[string]int{}} }

// enter counts one more request until leave is called, or says that there are too many.
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
