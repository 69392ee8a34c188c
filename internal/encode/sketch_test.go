package encode

import (
	"flag"
	"math"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"sort"
	"testing"
)

var (
	seedFlag   = flag.Uint64("seed", 0, "seed of the random values; 0 draws one")
	valuesFlag = flag.Int64("values", 1_000_000_000, "length of the longest stream")
)

// newRand returns a generator whose seed is drawn anew in each run, for tests that hold
// for every seed.
func newRand(t testing.TB) *rand.Rand {
	t.Helper()
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

func sketchOf(x []float64, bins int) *sketch {
	s := newSketch(bins)
	for _, v := range x {
		s.add(v)
	}
	return s
}

// sampleOf is what a sketch that is no longer exact knows.
func sampleOf(s *sketch) *ranked {
	return s.sample(slices.Sorted(slices.Values(s.recent)))
}

func sorted(x []float64) []float64 {
	return slices.Sorted(slices.Values(x))
}

// rankBound is the number of ranks by which a sketch may be off after that many blocks,
// as its comment says.
func rankBound(blocks int64) int64 {
	bound := blocks * stride / 2
	for weight := int64(stride); blocks > 1; weight *= 2 {
		blocks /= 2 // merges of buffers of this weight
		bound += weight * ((blocks + 1) / 2)
	}
	return bound
}

func TestRankBound(t *testing.T) {
	for _, n := range []int64{exactValues, 1e6, 1e7, 1e8, 1e9, 1e10} {
		blocks := n / blockValues
		bound := rankBound(blocks)
		if rough := blocks * (4 + int64(bits.Len64(uint64(blocks))) - 1); bound > rough {
			t.Errorf("%d blocks: the bound %d is above B·(4 + log₂ B) = %d", blocks, bound, rough)
		}
		share := float64(bound) / float64(n)
		t.Logf("%.3g values: within %.4f %%", float64(n), 100*share)
		if share > 0.00068 {
			t.Errorf("%d values: ranks within %g of n, want 0.00068", n, share)
		}
	}
}

// streams are orders and shapes that are hard in different ways.
var streams = []struct {
	name string
	fill func(x []float64, rng *rand.Rand)
}{
	{"ascending", func(x []float64, _ *rand.Rand) {
		for i := range x {
			x[i] = float64(i)
		}
	}},
	{"descending", func(x []float64, _ *rand.Rand) {
		for i := range x {
			x[i] = -float64(i)
		}
	}},
	{"random", func(x []float64, rng *rand.Rand) {
		for i := range x {
			x[i] = rng.Float64()
		}
	}},
	{"zigzag", func(x []float64, _ *rand.Rand) { // from both ends to the middle
		for i := range x {
			x[i] = float64(i * (1 - 2*(i&1)))
		}
	}},
	// Blocks that lie between each other's values: every merge errs in the same ranks.
	{"interleaved", func(x []float64, _ *rand.Rand) {
		for i := range x {
			x[i] = float64(i%blockValues)*stride + float64(i/blockValues%2)
		}
	}},
	{"many ties", func(x []float64, rng *rand.Rand) {
		for i := range x {
			x[i] = math.Floor(math.Abs(rng.NormFloat64()) * 100)
		}
	}},
	{"heavy tails", func(x []float64, rng *rand.Rand) {
		for i := range x {
			x[i] = math.Ldexp(math.Tan(math.Pi*(rng.Float64()-0.5)), rng.IntN(60)-30)
		}
	}},
}

// rankErrors are how far the ranks that s gives to values are from their true ones: at
// most, and on average with sign.
func rankErrors(s *ranked, sorted []float64) (worst int64, mean float64) {
	const steps = 2000
	n := int64(len(sorted))
	for i := range int64(steps + 1) {
		rank := i * (n - 1) / steps
		v := s.at(rank)
		from := int64(sort.SearchFloat64s(sorted, v)) // v has the ranks from … to
		to := int64(sort.Search(len(sorted), func(i int) bool { return sorted[i] > v })) - 1
		off := max(0, from-rank) - max(0, rank-to)
		worst = max(worst, off, -off)
		mean += float64(off) / (steps + 1)
	}
	return worst, mean
}

func checkRanks(t *testing.T, n int) {
	rng := newRand(t)
	x := make([]float64, n)
	for _, stream := range streams {
		t.Run(stream.name, func(t *testing.T) {
			stream.fill(x, rng)
			s := sketchOf(x, 128)
			blocks := int64(n-len(s.recent)) / blockValues
			slices.Sort(x)
			sample := sampleOf(s)
			if got := sample.below(len(sample.values)); got != int64(n) {
				t.Fatalf("the sketch stands for %d values, not %d", got, n)
			}
			if first, last := sample.at(0), sample.at(int64(n)-1); first != x[0] || last != x[n-1] {
				t.Errorf("values from %g to %g, want %g to %g", first, last, x[0], x[n-1])
			}
			bound := rankBound(blocks)
			worst, mean := rankErrors(sample, x)
			t.Logf("off by %.4f %% of n at worst, bound %.4f %%", 100*float64(worst)/float64(n), 100*float64(bound)/float64(n))
			if worst > bound {
				t.Errorf("a rank is off by %d, bound %d", worst, bound)
			}
			if math.Abs(mean) > float64(bound)/4 {
				t.Errorf("ranks are off by %g on average: errors upwards and downwards do not take turns", mean)
			}
			checkEdges(t, s.edges(), x, bound)
		})
	}
}

// checkEdges checks that bins with no ties hold as many values as they should.
func checkEdges(t *testing.T, edges, sorted []float64, bound int64) {
	t.Helper()
	if len(edges) != 129 || edges[0] != sorted[0] || edges[128] != sorted[len(sorted)-1] {
		t.Fatalf("%d edges from %g to %g, want 129 from %g to %g", len(edges), edges[0], edges[len(edges)-1], sorted[0], sorted[len(sorted)-1])
	}
	if len(slices.Compact(slices.Clone(sorted))) < len(sorted)/2 {
		return
	}
	for k, edge := range edges {
		rank := int64(sort.SearchFloat64s(sorted, edge))
		if want := int64(k) * int64(len(sorted)-1) / 128; max(rank-want, want-rank) > bound+1 {
			t.Errorf("edge %d, %g, has rank %d, want %d ± %d", k, edge, rank, want, bound)
		}
	}
}

func TestRanksStayWithinTheBound(t *testing.T) { checkRanks(t, 1_000_000) }

func TestRanksOfLongStreamsStayWithinTheBound(t *testing.T) {
	if os.Getenv("PSI_SLOW") == "" {
		t.Skip("sorts 10^7 values again and again: set PSI_SLOW=1")
	}
	checkRanks(t, 10_000_000)
}

// A stream too long to keep, in an order whose ranks need no sorting: the whole numbers
// below n, in steps of the golden section.
func TestStreamTooLongToKeep(t *testing.T) {
	if os.Getenv("PSI_SLOW") == "" {
		t.Skip("takes a minute: set PSI_SLOW=1")
	}
	n := *valuesFlag
	step := int64(0.6180339887 * float64(n))
	for new(big.Int).GCD(nil, nil, big.NewInt(step), big.NewInt(n)).Int64() != 1 {
		step++
	}
	before := heap()
	s := newSketch(128)
	for i, v := int64(0), int64(0); i < n; i++ {
		s.add(float64(v))
		if v += step; v >= n {
			v -= n
		}
	}
	size := heap() - before
	sample := sampleOf(s)
	worst := int64(0)
	for rank := int64(0); rank < n; rank += 1 + n/10_007 {
		v := int64(sample.at(rank))
		worst = max(worst, v-rank, rank-v)
	}
	bound := rankBound((n - int64(len(s.recent))) / blockValues)
	t.Logf("%d bytes; off by %.4f %% of n at worst, bound %.4f %%", size, 100*float64(worst)/float64(n), 100*float64(bound)/float64(n))
	if worst > bound {
		t.Errorf("a rank is off by %d, bound %d", worst, bound)
	}
	if size > 2e6 {
		t.Errorf("the sketch takes %d bytes, more than 2 MB", size)
	}
}

// heap is the bytes in use after collecting garbage.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestSketchOfFewValuesIsExact(t *testing.T) {
	rng := newRand(t)
	zeros := []float64{0, math.Copysign(0, -1)}
	for _, n := range []int{0, 1, 2, 1023, 1024, 1025, 100_000, exactValues - 1, exactValues} {
		x := make([]float64, n)
		for i := range x {
			x[i] = rng.NormFloat64()
			if rng.IntN(4) == 0 {
				x[i] = zeros[rng.IntN(2)]
			}
		}
		s := sketchOf(x, 128)
		if !s.exact() {
			t.Fatalf("a sketch of %d values is not exact", n)
		}
		want := Edges(sorted(x), 128)
		if !slices.EqualFunc(s.edges(), want, sameBits) {
			t.Errorf("%d values: edges %v, want %v", n, s.edges(), want)
		}
	}
	if s := sketchOf(make([]float64, exactValues+1), 128); s.exact() {
		t.Errorf("a sketch of %d values is still exact", exactValues+1)
	}
}

func sameBits(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }

// Every value of a column with few of them is an edge, however rare it is and wherever
// it comes.
func TestFewDistinctValuesStayExact(t *testing.T) {
	rng := newRand(t)
	const bins, n = 16, 500_000
	for distinct := 1; distinct <= bins+1; distinct += 4 {
		x := make([]float64, n)
		want := []float64{0}
		for v := 1; v < distinct; v++ {
			x[rng.IntN(n/distinct)+v*(n/distinct)] = float64(v)
			want = append(want, float64(v))
		}
		if got := sketchOf(x, bins).edges(); !slices.Equal(got, want) {
			t.Errorf("%d distinct values: edges %v", distinct, got)
		}
	}
	// One more is one too many, be it found in a block or after the last one.
	for _, at := range []int{10, n - 10} {
		x := make([]float64, n)
		for i := range x {
			x[i] = float64(i % (bins + 1))
		}
		x[at] = bins + 1
		got := sketchOf(x, bins).edges()
		if len(got) != bins+1 || got[0] != 0 || got[bins] != bins+1 {
			t.Errorf("%d distinct values, one at row %d: edges %v", bins+2, at, got)
		}
	}
}

// A Fitter may be asked for its encoding before its last rows.
func TestEdgesLeaveTheSketchAlone(t *testing.T) {
	rng := newRand(t)
	asked, unasked := newSketch(8), newSketch(8)
	for i := range 400_000 {
		v := rng.Float64()
		asked.add(v)
		unasked.add(v)
		if i%50_000 == 777 {
			asked.edges()
		}
	}
	if got, want := asked.edges(), unasked.edges(); !slices.EqualFunc(got, want, sameBits) {
		t.Errorf("edges %v, want %v", got, want)
	}
}

func TestSketchMemoryIsBounded(t *testing.T) {
	rng := newRand(t)
	before := heap()
	var start, end runtime.MemStats
	runtime.ReadMemStats(&start)
	s := newSketch(maxBins)
	for range 3_000_000 {
		s.add(rng.NormFloat64())
	}
	runtime.ReadMemStats(&end)
	size, made := heap()-before, end.TotalAlloc-start.TotalAlloc
	runtime.KeepAlive(s)
	t.Logf("%d bytes, %d allocated in all", size, made)
	if size > 2e6 || made > 6e6 {
		t.Errorf("a sketch takes %d bytes, and took %d in all, want at most 2 MB and 6 MB", size, made)
	}
}

func TestRadixSort(t *testing.T) {
	rng := newRand(t)
	extremes := []float64{0, math.Copysign(0, -1), math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, -math.SmallestNonzeroFloat64}
	for n := 1; n < 3000; n += 1 + n/2 {
		for _, draw := range []func() float64{
			rng.NormFloat64,
			func() float64 { return float64(rng.IntN(10) - 5) },
			func() float64 { return extremes[rng.IntN(len(extremes))] },
			func() float64 { return math.Ldexp(rng.Float64()-0.5, rng.IntN(2000)-1000) },
			func() float64 { return 7 },
		} {
			x := make([]float64, n)
			for i := range x {
				x[i] = draw()
			}
			want := sorted(x)
			radixSort(x, make([]float64, n))
			if !slices.Equal(x, want) {
				t.Fatalf("sorted %v, want %v", x, want)
			}
		}
	}
}

func BenchmarkSketch(b *testing.B) {
	rng := newRand(b)
	x := make([]float64, 1<<20)
	for _, stream := range streams {
		b.Run(stream.name, func(b *testing.B) {
			stream.fill(x, rng)
			s := newSketch(128)
			i := 0
			for b.Loop() {
				s.add(x[i%len(x)])
				i++
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "Mvalues/s")
		})
	}
}
