package kernel

import (
	"math"

	"github.com/psi-shapley/psi/internal/kernel/vector"
)

// cellCache keeps the records of a column's cells during a call. Cached and newly computed records have the same bits,
// so the cache only saves time.
type cellCache struct {
	records []float32 // [capacity, record]
	used    int       // number of records present

	slots      []slot // hash table with open addressing; nil if nothing is kept from one tile to the next
	age        uint32 // age of the used slots; others are free
	off        bool   // cells rarely repeat: looking them up would cost more than it saves
	seen, hits int    // since the cache was last emptied
}

// slot is an entry of the hash table.
type slot struct {
	key uint64
	at  uint32 // index of the record
	age uint32
}

// cacheBytes limits the caches of a call.
const cacheBytes = 4 << 20

// newCaches returns caches for the columns whose cells are computed. With few rows, a tile is enough.
func newCaches(n *Net, many bool, tile int) []cellCache {
	computed := 0
	for i := range n.columns {
		if n.columns[i].table == nil {
			computed++
		}
	}
	caches := make([]cellCache, len(n.columns))
	capacity := cacheBytes / max(1, 4*computed*n.record()) / tile * tile
	for i := range caches {
		c := &n.columns[i]
		switch {
		case c.table != nil:
		case !many || capacity < 2*tile || c.number != nil && c.number.cycles != nil:
			caches[i].records = vector.Floats(tile * n.record())
		default:
			caches[i].records = vector.Floats(capacity * n.record())
			caches[i].slots = make([]slot, 1<<int(math.Ceil(math.Log2(float64(2*capacity)))))
			caches[i].age = 1
		}
	}
	return caches
}

// reset empties the cache for another call.
func (c *cellCache) reset() {
	c.off = false
	c.empty()
}

// begin makes room for a tile.
func (c *cellCache) begin(tile, record int) {
	if c.slots != nil && !c.off && c.used+tile <= len(c.records)/record {
		return
	}
	c.off = c.off || c.seen > 0 && 4*c.hits < c.seen
	c.empty()
}

func (c *cellCache) empty() {
	c.used, c.seen, c.hits = 0, 0, 0
	if c.age++; c.age == 0 {
		clear(c.slots)
		c.age = 1
	}
}

// find returns the index of a cell's record, and whether it is present or must be computed.
func (c *cellCache) find(key uint64) (at int, there bool) {
	if c.slots == nil || c.off {
		c.used++
		return c.used - 1, false
	}
	c.seen++
	mask := uint64(len(c.slots) - 1)
	for i := key * 0x9e3779b97f4a7c15 >> 32; ; i++ {
		s := &c.slots[i&mask]
		if s.age != c.age {
			*s = slot{key, uint32(c.used), c.age}
			c.used++
			return c.used - 1, false
		}
		if s.key == key {
			c.hits++
			return int(s.at), true
		}
	}
}

func numberKey(position, value float32) uint64 {
	return uint64(math.Float32bits(position))<<32 | uint64(math.Float32bits(value))
}
