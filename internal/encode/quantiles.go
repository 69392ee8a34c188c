package encode

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// Edges returns the bin edges, at most the given number, for the sorted values x: quantiles, or every distinct value if
// there are few. If ties make quantiles coincide, the spare edges divide the fullest bins.
func Edges(x []float64, bins int) []float64 {
	all := ranked{values: x, upTo: make([]int64, len(x))}
	for i := range x {
		all.upTo[i] = int64(i) + 1
	}
	return all.edges(bins)
}

// ranked holds sorted distinct values with multiplicities: values[i] has the ranks from upTo[i-1] to upTo[i]-1.
type ranked struct {
	values []float64
	upTo   []int64
}

// add appends a value that is not below the last one.
func (r *ranked) add(v float64, times int64) {
	r.upTo = append(r.upTo, r.below(len(r.values))+times)
	r.values = append(r.values, v)
}

// below returns the number of values that the first i represent.
func (r *ranked) below(i int) int64 {
	if i == 0 {
		return 0
	}
	return r.upTo[i-1]
}

// at returns the value of a rank, from 0.
func (r *ranked) at(rank int64) float64 {
	return r.values[sort.Search(len(r.upTo), func(i int) bool { return r.upTo[i] > rank })]
}

func (r *ranked) edges(bins int) []float64 {
	distinct := mergeDistinct(r.values, nil, bins+2)
	if len(distinct) <= bins+1 {
		return distinct
	}
	last := r.values[len(r.values)-1]
	edges := []float64{r.values[0]}
	for i := 1; i < bins; i++ {
		if q := r.quantile(float64(i) / float64(bins)); q > edges[len(edges)-1] && q < last {
			edges = append(edges, q)
		}
	}
	edges = append(edges, last)
	for len(edges) <= bins {
		at, edge, ok := r.splitFullest(edges)
		if !ok {
			break
		}
		edges = append(edges, 0)
		copy(edges[at+1:], edges[at:])
		edges[at] = edge
	}
	return edges
}

// quantile interpolates between ranks at fraction f.
func (r *ranked) quantile(f float64) float64 {
	n := r.below(len(r.values))
	at := f * float64(n-1)
	k := min(int64(at), n-2)
	f = at - float64(k)
	return (1-f)*r.at(k) + f*r.at(k+1) // instead of x[k] + f·(x[k+1] − x[k]), whose difference may overflow
}

// splitFullest finds the bin with the most values strictly inside it and returns their median, which becomes edges[at].
func (r *ranked) splitFullest(edges []float64) (at int, edge float64, ok bool) {
	largest := int64(0)
	for k := 1; k < len(edges); k++ {
		from := r.below(sort.Search(len(r.values), func(i int) bool { return r.values[i] > edges[k-1] }))
		to := r.below(sort.SearchFloat64s(r.values, edges[k]))
		if to-from > largest {
			largest, at, edge, ok = to-from, k, r.at((from+to)/2), true
		}
	}
	return at, edge, ok
}

// position returns the position of v among the edges: the number of whole bins below it, plus its share of its bin.
// Values beyond the edges are clipped.
func position(edges []float64, v float64) float64 {
	k := sort.SearchFloat64s(edges, v) // edges[k-1] < v <= edges[k]
	switch k {
	case 0:
		return 0
	case len(edges):
		return float64(len(edges) - 1)
	}
	from, to := edges[k-1], edges[k]
	if math.IsInf(to-from, 0) {
		from, v, to = from/2, v/2, to/2
	}
	return float64(k-1) + (v-from)/(to-from)
}

// Sizes of a sketch; ADR 0009 derives the error from them.
const (
	exactValues  = 1 << 17 // up to this number all values are kept
	blockValues  = 1 << 15 // values sorted at a time, beyond that number
	bufferValues = 1 << 13 // values kept of a block
	stride       = blockValues / bufferValues
)

// sketch keeps what bin edges need of a stream of values, in bounded memory and deterministically: the same values in
// the same order give the same sketch.
//
// Up to exactValues it keeps all values. Beyond, every block is sorted and thinned to a buffer of evenly spaced values,
// and two buffers of one level are merged and thinned to one of the next (Munro and Paterson 1980). A thinned block is
// off by at most stride/2 ranks. A merge on level i errs by at most stride·2^i, alternately upwards and downwards.
// After B blocks, a rank is thus off by at most
//
//	B·stride/2 + Σ_i stride·2^i·⌈⌊B/2^(i+1)⌋/2⌉  ≤  B·(4 + log₂ B)
//
// which is 0.068 % of 10^10 values. The minimum and the maximum stay exact, and so do all values of a column with few
// distinct ones.
type sketch struct {
	recent []float64 // not in a buffer yet, in order of arrival
	levels []level
	spare  [][]float64 // unused buffers

	scratch []float64 // to sort a block

	// Of the values in buffers:
	min, max float64
	few      []float64 // the distinct ones in order, while they fit in bins + 1
	bins     int
}

// level i holds at most one buffer, each value of which represents stride·2^i values.
type level struct {
	buffer []float64 // sorted; nil if there is none
	upper  bool      // the next merge keeps the greater value of each pair
}

func newSketch(bins int) *sketch { return &sketch{bins: bins} }

func (s *sketch) add(v float64) {
	if len(s.recent) == cap(s.recent) {
		s.makeRoom()
	}
	s.recent = append(s.recent, v)
}

func (s *sketch) makeRoom() {
	if s.exact() && len(s.recent) < exactValues {
		const minCapacity = 1 << 10
		s.recent = append(make([]float64, 0, max(minCapacity, 2*cap(s.recent))), s.recent...)
		return
	}
	first := s.exact()
	if first {
		s.scratch = make([]float64, blockValues)
	}
	for block := range slices.Chunk(s.recent, blockValues) {
		s.takeIn(block)
	}
	s.recent = s.recent[:0]
	if first {
		s.recent = make([]float64, 0, blockValues)
	}
}

// exact reports whether all values are still present.
func (s *sketch) exact() bool { return len(s.levels) == 0 }

// takeIn sorts and thins a block, and merges buffers like carries in binary counting.
func (s *sketch) takeIn(block []float64) {
	radixSort(block, s.scratch)
	if s.exact() {
		s.min, s.max = block[0], block[len(block)-1]
	}
	s.min, s.max = min(s.min, block[0]), max(s.max, block[len(block)-1])
	if len(s.few) <= s.bins+1 {
		s.few = mergeDistinct(s.few, block, s.bins+2)
	}

	carry := s.takeBuffer()
	for i := range carry {
		carry[i] = block[i*stride+stride/2]
	}
	for i := range s.levels {
		at := &s.levels[i]
		if at.buffer == nil {
			at.buffer = carry
			return
		}
		merged := s.takeBuffer()
		mergeHalf(merged, at.buffer, carry, at.upper)
		s.spare = append(s.spare, at.buffer, carry)
		at.buffer, at.upper = nil, !at.upper
		carry = merged
	}
	s.levels = append(s.levels, level{buffer: carry})
}

func (s *sketch) takeBuffer() []float64 {
	last := len(s.spare) - 1
	if last < 0 {
		return make([]float64, bufferValues)
	}
	buffer := s.spare[last]
	s.spare = s.spare[:last]
	return buffer
}

// mergeHalf merges the sorted a and b and writes one value of each pair of neighbours to half: the greater or the
// smaller one.
func mergeHalf(half, a, b []float64, greater bool) {
	for i := range half {
		first, second := takeLeast(&a, &b), takeLeast(&a, &b)
		if greater {
			first = second
		}
		half[i] = first
	}
}

// mergeDistinct returns the distinct values of the sorted a and b in order, at most the given number.
func mergeDistinct(a, b []float64, limit int) []float64 {
	var distinct []float64
	for len(a)+len(b) > 0 && len(distinct) < limit {
		if v := takeLeast(&a, &b); len(distinct) == 0 || v != distinct[len(distinct)-1] {
			distinct = append(distinct, v)
		}
	}
	return distinct
}

// takeLeast removes and returns the smallest value of the sorted a and b, of which one may be empty.
func takeLeast(a, b *[]float64) float64 {
	if len(*b) == 0 || len(*a) > 0 && (*a)[0] <= (*b)[0] {
		b = a
	}
	v := (*b)[0]
	*b = (*b)[1:]
	return v
}

// edges returns the bin edges of the column.
func (s *sketch) edges() []float64 {
	recent := slices.Clone(s.recent)
	slices.Sort(recent)
	if s.exact() {
		return Edges(recent, s.bins)
	}
	if few := mergeDistinct(s.few, recent, s.bins+2); len(few) <= s.bins+1 {
		return few
	}
	return s.sample(recent).edges(s.bins)
}

// sample returns the sketch as weighted values.
func (s *sketch) sample(recent []float64) *ranked {
	type weighted struct {
		value  float64
		weight int64
	}
	var all []weighted
	take := func(values []float64, weight int64) {
		for _, v := range values {
			all = append(all, weighted{v, weight})
		}
	}
	take(recent, 1)
	for i, at := range s.levels {
		take(at.buffer, stride<<i)
	}
	slices.SortFunc(all, func(a, b weighted) int { return cmp.Compare(a.value, b.value) })

	// The minimum and the maximum have weight 1.
	least, largest := s.min, s.max
	if len(recent) > 0 {
		least, largest = min(least, recent[0]), max(largest, recent[len(recent)-1])
	}
	all[0].weight--
	all[len(all)-1].weight--

	sample := &ranked{}
	sample.add(least, 1)
	for _, w := range all {
		sample.add(w.value, w.weight)
	}
	sample.add(largest, 1)
	return sample
}

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
