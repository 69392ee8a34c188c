package train

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/psi-shapley/psi/internal/encode"
)

// numbered are rows whose target is their number.
func numbered(rows int) Data {
	d := Unweighted(encode.NewBatch(rows, 1, 0), make([]float32, rows))
	for i := range rows {
		d.Target[i] = float32(i)
		d.Rows.Numbers[2*i] = float32(i)
	}
	return d
}

// onDisk are rows that must not all be in memory.
type onDisk struct{ Data }

func (onDisk) InMemory() bool { return false }

func seedOf(pass int) *rand.Rand { return rand.New(rand.NewPCG(7, uint64(pass))) }

// pass lists the rows of a pass, in order.
func pass(t *testing.T, s *shuffle, pass int) (rows []int) {
	t.Helper()
	for i := range s.perPass() {
		window, places, err := s.rowsOf(pass*s.perPass() + i)
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range places {
			if window.Rows.Numbers[2*j] != window.Target[j] {
				t.Fatalf("row %v has the target of row %v", window.Rows.Numbers[2*j], window.Target[j])
			}
			rows = append(rows, int(window.Target[j]))
		}
	}
	return rows
}

func TestPassVisitsEveryRowOnce(t *testing.T) {
	for _, c := range []struct{ rows, players, batch int }{
		{100, 3, 10},                                 // one window
		{50 * blockRows, windowCells, 256},           // windows of the fewest blocks, the last one short
		{50*blockRows + 100, windowCells, 256},       // the last block overlaps the one before it
		{3 * minBlocks * blockRows, windowCells, 64}, // whole windows
	} {
		s := newShuffle(onDisk{numbered(c.rows)}, c.players, c.batch, seedOf)
		first := pass(t, s, 0)
		seen := map[int]int{}
		for _, i := range first {
			seen[i]++
		}
		repeats := (blockRows - c.rows%blockRows) % blockRows
		if c.rows == s.windowRows {
			repeats = 0
		}
		twice := len(first) - len(seen)
		if twice > repeats {
			t.Errorf("%d rows: %d were visited twice, at most %d should be", c.rows, twice, repeats)
		}
		windows := (c.rows + s.windowRows - 1) / s.windowRows
		if left := c.rows - len(seen); left >= (windows+1)*c.batch {
			t.Errorf("%d rows: %d were not visited in a pass", c.rows, left)
		}
		if slices.Equal(first, pass(t, s, 1)) {
			t.Errorf("%d rows: two passes have the same order", c.rows)
		}
		if slices.IsSorted(first) {
			t.Errorf("%d rows: the order is the table's", c.rows)
		}
	}
}

// A table sorted by its target must not give batches of one kind.
func TestWindowMixesDistantRows(t *testing.T) {
	const rows = 64 * minBlocks * blockRows
	s := newShuffle(onDisk{numbered(rows)}, windowCells, 256, seedOf)
	_, places, err := s.rowsOf(0)
	if err != nil {
		t.Fatal(err)
	}
	spread := map[int]bool{}
	for _, j := range places {
		spread[int(s.rows.Target[j])/blockRows] = true
	}
	if len(spread) < minBlocks-2 {
		t.Errorf("a batch of 256 rows comes from %d blocks, want about %d", len(spread), minBlocks)
	}
}

// What a step sees does not depend on the steps before it.
func TestShuffleStartsAnywhere(t *testing.T) {
	const rows = 40*blockRows + 5
	all := newShuffle(onDisk{numbered(rows)}, windowCells, 100, seedOf)
	n := 2 * all.perPass()
	want, windows := make([][]float32, n), make([][]float32, n)
	targets := func(s *shuffle, i int) (y []float32) {
		window, places, err := s.rowsOf(i)
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range places {
			y = append(y, window.Target[j])
		}
		return y
	}
	for i := range n {
		want[i] = targets(all, i)
		windows[i] = slices.Clone(all.rows.Target)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	jumping := newShuffle(onDisk{numbered(rows)}, windowCells, 100, seedOf)
	for range 40 {
		i := rng.IntN(n)
		if !slices.Equal(targets(jumping, i), want[i]) || !slices.Equal(jumping.rows.Target, windows[i]) {
			t.Fatalf("step %d sees other rows after a jump to it", i)
		}
	}
}

func TestRowsInMemoryAreShuffledTogether(t *testing.T) {
	s := newShuffle(numbered(50*blockRows), windowCells, 64, seedOf)
	if s.windowRows != 50*blockRows {
		t.Errorf("a window has %d of %d rows in memory", s.windowRows, 50*blockRows)
	}
}

// Rows are drawn as often as a Poisson(1) number says, the same each time, other ones by another seed, and those of a unit together.
func TestBootstrap(t *testing.T) {
	const n = 200_000
	rows := Unweighted(&encode.Batch{Rows: n}, make([]float32, n))
	for i := range rows.Weight {
		rows.Weight[i] = 2
	}
	drawn := func(seed uint64, units []uint64, from, to int) []float32 {
		d, err := Bootstrap(rows, seed, units).Read(from, to)
		if err != nil {
			t.Fatal(err)
		}
		return d.Weight
	}
	all := drawn(1, nil, 0, n)
	if !slices.Equal(all[5000:6000], drawn(1, nil, 5000, 6000)) {
		t.Error("rows are drawn by where reading begins")
	}
	if rows.Weight[0] != 2 || slices.Max(rows.Weight) != 2 {
		t.Error("the store's own weights have changed")
	}
	counts := make([]float64, 12)
	for _, w := range all {
		counts[int(w)/2]++
	}
	p := math.Exp(-1)
	for k, c := range counts {
		if k > 0 {
			p /= float64(k)
		}
		if apart := math.Abs(c - n*p); apart > 5*math.Sqrt(n*p)+1 {
			t.Errorf("%v of %d rows are drawn %d times, want %.0f", c, n, k, n*p)
		}
	}
	other := drawn(2, nil, 0, n)
	var both float64
	for i := range all {
		both += float64(all[i]/2-1) * float64(other[i]/2-1) / n
	}
	if math.Abs(both) > 5/math.Sqrt(n) {
		t.Errorf("the draws of two seeds have the covariance %v", both)
	}
	units := make([]uint64, n)
	for i := range units {
		units[i] = uint64(i / 5)
	}
	for i, w := range drawn(1, units, 0, n) {
		if w != all[i/5] {
			t.Fatalf("row %d counts %v times, its unit %v", i, w, all[i/5])
		}
	}
}
