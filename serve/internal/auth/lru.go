package auth

import "container/list"

// lru is a map with a maximum number of keys. It drops the least recently used. It is not safe for concurrent use.
type lru[K comparable, V any] struct {
	most  int
	items map[K]*list.Element
	order list.List // of *pair[K, V], the latest in front
}

type pair[K comparable, V any] struct {
	key   K
	value V
}

func newLRU[K comparable, V any](most int) *lru[K, V] {
	return &lru[K, V]{most: most, items: map[K]*list.Element{}}
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
	if len(c.items) >= c.most {
		last := c.order.Back()
		delete(c.items, c.order.Remove(last).(*pair[K, V]).key)
	}
	c.items[key] = c.order.PushFront(&pair[K, V]{key, value})
}
