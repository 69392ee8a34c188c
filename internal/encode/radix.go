package encode

import "math"

// radixSort sorts x in ascending order, byte by byte from the least significant. It is three times as fast as comparing
// on the blocks of a sketch, which spends nearly all its time sorting. scratch is as long as x, which is not empty.
func radixSort(x, scratch []float64) {
	const bytes = 8
	var counts [bytes][256]int32
	for _, v := range x {
		key := ascendingBits(v)
		for i := range counts {
			counts[i][byte(key>>(8*i))]++
		}
	}
	from, to := x, scratch
	for i := range counts {
		starts, shift := &counts[i], 8*i
		if starts[byte(ascendingBits(x[0])>>shift)] == int32(len(x)) {
			continue // all numbers have the same byte here
		}
		at := int32(0)
		for b, n := range starts {
			starts[b] = at
			at += n
		}
		for _, v := range from {
			b := byte(ascendingBits(v) >> shift)
			to[starts[b]] = v
			starts[b]++
		}
		from, to = to, from
	}
	if &from[0] != &x[0] {
		copy(x, from)
	}
}

// ascendingBits returns the bits of v, changed so that they order as the numbers do: all bits flipped if v is negative,
// else the sign bit. It has no branch, which random signs would make slow.
func ascendingBits(v float64) uint64 {
	bits := math.Float64bits(v)
	return bits ^ (uint64(int64(bits)>>63) | 1<<63)
}
