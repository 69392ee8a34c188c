package auth

import (
	"container/list"
	"math"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// maxKeys is the maximum number of callers and addresses to remember. A forgotten one starts with a full bucket, as a new
// one does.
const maxKeys = 10_000

// DefaultPublicRate is the default of Config.PublicRate. The most expensive public request, the live page, takes about 0.2
// ms of a core, so one address can use a hundredth of a core.
const DefaultPublicRate = 50

// maxUnadmitted is the maximum number of concurrent requests of one address that are not admitted.
const maxUnadmitted = 256

// rates is a token bucket for each key.
type rates struct {
	perSecond rate.Limit
	burst     int

	mu      sync.Mutex
	buckets *lru[string, *rate.Limiter]
}

// newRates makes buckets that gain perSecond tokens a second and hold as many.
func newRates(perSecond float64) *rates {
	return &rates{
		perSecond: rate.Limit(perSecond),
		burst:     int(max(1, min(math.Ceil(perSecond), math.MaxInt32))),
		buckets:   newLRU[string, *rate.Limiter](maxKeys),
	}
}

// take takes a token out of a key's bucket, or returns how long to wait for one.
func (r *rates) take(key string, now time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	bucket, ok := r.buckets.get(key)
	if !ok {
		bucket = rate.NewLimiter(r.perSecond, r.burst)
		r.buckets.put(key, bucket)
	}
	reservation := bucket.ReserveN(now, 1)
	if wait := reservation.DelayFrom(now); wait > 0 {
		reservation.CancelAt(now)
		return &TooManyError{RetryAfter: wait}
	}
	return nil
}

// An address that sends maxFailures wrong credentials within failureWindow must wait for failureWait.
const (
	maxFailures   = 20
	failureWindow = time.Minute
	failureWait   = time.Minute
)

// failures counts wrong credentials by address.
type failures struct {
	mu    sync.Mutex
	count *lru[string, failed]
}

type failed struct {
	since time.Time // when the window began
	times int
	until time.Time // when it may try again
}

func newFailures() *failures { return &failures{count: newLRU[string, failed](maxKeys)} }

// locked returns an error if an address must wait.
func (f *failures) locked(address string, now time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if entry, ok := f.count.get(address); ok && now.Before(entry.until) {
		return &TooManyError{RetryAfter: entry.until.Sub(now)}
	}
	return nil
}

func (f *failures) add(address string, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	entry, ok := f.count.get(address)
	if !ok || now.Sub(entry.since) >= failureWindow {
		entry = failed{since: now, until: entry.until}
	}
	if entry.times++; entry.times >= maxFailures {
		entry = failed{since: now, until: now.Add(failureWait)}
	}
	f.count.put(address, entry)
}

// AddressKey returns the key by which an address is counted: the IP without its port. For IPv6 it is the network of 64 bits,
// since one visitor owns all of it.
func AddressKey(remote string) string {
	ip, err := netip.ParseAddr(hostOf(remote))
	if err != nil {
		return "local" // a Unix socket has no address
	}
	ip = ip.Unmap().WithZone("")
	if ip.Is6() {
		if network, err := ip.Prefix(64); err == nil {
			return network.String()
		}
	}
	return ip.String()
}

// lru is a map with a maximum number of keys. It drops the least recently used. It is not safe for concurrent use.
type lru[K comparable, V any] struct {
	limit int
	items map[K]*list.Element
	order list.List // of *pair[K, V], the latest in front
}

type pair[K comparable, V any] struct {
	key   K
	value V
}

func newLRU[K comparable, V any](limit int) *lru[K, V] {
	return &lru[K, V]{limit: limit, items: map[K]*list.Element{}}
}

func (c *lru[K, V]) get(key K) (value V, ok bool) {
	item, ok := c.items[key]
	if !ok {
		return value, false
	}
	c.order.MoveToFront(item)
	return item.Value.(*pair[K, V]).value, true
}

func (c *lru[K, V]) put(key K, value V) {
	if item, ok := c.items[key]; ok {
		c.order.MoveToFront(item)
		item.Value.(*pair[K, V]).value = value
		return
	}
	if len(c.items) >= c.limit {
		last := c.order.Back()
		delete(c.items, c.order.Remove(last).(*pair[K, V]).key)
	}
	c.items[key] = c.order.PushFront(&pair[K, V]{key, value})
}

// inProgress counts the requests in progress for each key.
type inProgress struct {
	limit int // for each key; 0 means no limit

	mu    sync.Mutex
	count map[string]int // of the keys that have any
}

func newInProgress(limit int) *inProgress { return &inProgress{limit: limit, count: map[string]int{}} }

// enter counts a request until leave is called, or returns a *TooManyError.
func (i *inProgress) enter(key string) (leave func(), err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.limit > 0 && i.count[key] >= i.limit {
		return nil, &TooManyError{RetryAfter: time.Second}
	}
	i.count[key]++
	return func() { i.leave(key) }, nil
}

func (i *inProgress) leave(key string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.count[key]--; i.count[key] == 0 {
		delete(i.count, key)
	}
}
