package train

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/psi-shapley/psi/internal/encode"
)

// Data holds rows with their targets and weights.
type Data struct {
	Rows   *encode.Batch
	Target []float32 // per row: the standardised target, or the index of its class
	Weight []float32 // per row; training rows have the mean 1
}

// Unweighted returns rows with equal weights.
func Unweighted(rows *encode.Batch, target []float32) Data {
	return Data{rows, target, slices.Repeat([]float32{1}, len(target))}
}

// Store holds training rows, in memory or on disk.
type Store interface {
	// Len returns the number of rows.
	Len() int
	// Read returns rows [from, to). They may share memory with the store.
	Read(from, to int) (Data, error)
	// InMemory reports whether all rows are in memory, so that they can be shuffled together.
	InMemory() bool
}

// Len returns the number of rows.
func (d Data) Len() int { return d.Rows.Rows }

// InMemory returns true.
func (Data) InMemory() bool { return true }

// Read returns rows [from, to), sharing memory.
func (d Data) Read(from, to int) (Data, error) {
	return Data{Rows: d.Rows.Slice(from, to), Target: d.Target[from:to], Weight: d.Weight[from:to]}, nil
}

// set copies row j of from to row i.
func (d Data) set(i int, from Data, j int) {
	d.Rows.Set(i, from.Rows, j)
	d.Target[i], d.Weight[i] = from.Target[j], from.Weight[j]
}

// newData allocates rows like those of a store.
func newData(rows int, like Data) Data {
	return Data{
		Rows:   like.Rows.Like(rows),
		Target: make([]float32, rows),
		Weight: make([]float32, rows),
	}
}

// some returns at most n of the rows, the same each time.
func (d Data) some(n int) Data {
	if d.Len() <= n {
		return d
	}
	sample := newData(n, d)
	for i, j := range rand.New(rand.NewPCG(0, 0)).Perm(d.Len())[:n] {
		sample.set(i, d, j)
	}
	return sample
}

// A pass visits the rows one window at a time: blocks of neighbouring rows, taken from anywhere, whose rows are
// shuffled together. A table in memory, or one that fits into a window, is shuffled as a whole. The rows of a step are
// a function of its number, so that a run can start anywhere.
const (
	blockRows   = 256
	windowCells = 1 << 22 // about 50 MB
	minBlocks   = 16
)

// shuffle is the order in which a run visits the rows of a store.
type shuffle struct {
	store Store
	batch int
	seed  func(pass int) *rand.Rand

	windowRows int
	at         struct{ pass, window int } // the loaded one
	order      []int                      // of the rows of the window
	buffer     Data                       // memory for rows, if there are several windows
	rows       Data                       // of the window
}

func newShuffle(store Store, players, batch int, seed func(pass int) *rand.Rand) *shuffle {
	s := &shuffle{store: store, batch: batch, seed: seed}
	blocks := max(minBlocks, windowCells/blockRows/max(1, players), (batch+blockRows-1)/blockRows)
	if s.windowRows = min(store.Len(), blocks*blockRows); store.InMemory() {
		s.windowRows = store.Len()
	}
	s.at.pass = -1
	return s
}

// Number of blocks in a pass. The last one ends with the last row, so all are full.
func (s *shuffle) blocks() int { return (s.store.Len() + blockRows - 1) / blockRows }

// perPass returns the number of batches in a pass. The last rows of a window that do not fill a batch are left out;
// another pass leaves out different ones.
func (s *shuffle) perPass() int {
	n := s.store.Len()
	if n == s.windowRows {
		return n / s.batch
	}
	rows := s.blocks() * blockRows
	return rows/s.windowRows*(s.windowRows/s.batch) + rows%s.windowRows/s.batch
}

// rowsOf returns the rows of batch i as indices into window.
func (s *shuffle) rowsOf(i int) (window Data, rows []int, err error) {
	pass, i := i/s.perPass(), i%s.perPass()
	perWindow := s.windowRows / s.batch
	if err := s.load(pass, i/perWindow); err != nil {
		return Data{}, nil, err
	}
	return s.rows, s.order[i%perWindow*s.batch:][:s.batch], nil
}

// load reads a window of a pass.
func (s *shuffle) load(pass, window int) error {
	if s.at.pass == pass && s.at.window == window {
		return nil
	}
	rng := s.seed(pass)
	if s.store.Len() == s.windowRows {
		if s.rows.Rows == nil {
			var err error
			if s.rows, err = s.store.Read(0, s.windowRows); err != nil {
				return fmt.Errorf("train: read rows: %w", err)
			}
		}
		s.order = rng.Perm(s.windowRows)
	} else if err := s.loadBlocks(rng, window); err != nil {
		return fmt.Errorf("train: read rows: %w", err)
	}
	s.at.pass, s.at.window = pass, window
	return nil
}

func (s *shuffle) loadBlocks(rng *rand.Rand, window int) error {
	perWindow := s.windowRows / blockRows
	blocks := rng.Perm(s.blocks())[window*perWindow:]
	blocks = blocks[:min(perWindow, len(blocks))]
	for k, block := range blocks {
		to := min((block+1)*blockRows, s.store.Len())
		read, err := s.store.Read(to-blockRows, to)
		if err != nil {
			return err
		}
		if s.buffer.Rows == nil {
			s.buffer = newData(s.windowRows, read)
		}
		for i := range blockRows {
			s.buffer.set(k*blockRows+i, read, i)
		}
	}
	var err error
	if s.rows, err = s.buffer.Read(0, len(blocks)*blockRows); err != nil {
		return err
	}
	// Each window has its own generator, which depends on no other window.
	s.order = rand.New(rand.NewPCG(rng.Uint64(), uint64(window))).Perm(len(blocks) * blockRows)
	return nil
}

// bootstrap is a bootstrap sample of a store: the weight of each row is multiplied by how often it was drawn.
type bootstrap struct {
	Store
	seed  uint64
	units []uint64
}

// Bootstrap draws each unit of a store a Poisson(1) number of times and multiplies the weights of its rows by that
// number. Rows of one unit are drawn together; without units each row is a unit. The weights are not rescaled, because
// AdamW steps do not depend on their sum.
func Bootstrap(rows Store, seed uint64, units []uint64) Store { return bootstrap{rows, seed, units} }

// Read returns rows [from, to).
func (b bootstrap) Read(from, to int) (Data, error) {
	d, err := b.Store.Read(from, to)
	if err != nil {
		return d, err
	}
	weight := make([]float32, len(d.Weight)) // a copy: the store's own weights stay unchanged
	for i, w := range d.Weight {
		unit := uint64(from + i)
		if b.units != nil {
			unit = b.units[from+i]
		}
		weight[i] = w * float32(poisson(scramble(b.seed^scramble(unit))))
	}
	d.Weight = weight
	return d, nil
}

// scramble is a bijection of words that maps neighbours to pseudorandom numbers: the finaliser of SplitMix64 (Steele,
// Lea and Flood 2014).
func scramble(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// poisson maps a uniform random word to a Poisson(1) number: the smallest k with F(k) = Σ_i≤k e⁻¹/i! above it.
func poisson(word uint64) (k int) {
	u, p := float64(word>>11)/(1<<53), math.Exp(-1)
	for sum := p; u >= sum && p > 0; sum += p {
		k++
		p /= float64(k)
	}
	return k
}

// Retargeted is a store with targets on another scale.
type Retargeted struct {
	Store
	On func(target float32) float32
}

// Read returns rows [from, to), with newly allocated targets.
func (r Retargeted) Read(from, to int) (Data, error) {
	d, err := r.Store.Read(from, to)
	if err != nil {
		return Data{}, err
	}
	return d.Retarget(r.On), nil
}

// Retarget returns the rows with targets on another scale.
func (d Data) Retarget(on func(target float32) float32) Data {
	targets := make([]float32, len(d.Target))
	for i, y := range d.Target {
		targets[i] = on(y)
	}
	d.Target = targets
	return d
}

// minCompleteRows is the minimum number of rows for the initial σ_0.
const minCompleteRows = 30

// missingCells returns the number of missing cells of each row.
func (d Data) missingCells() []int {
	list := make([]int, d.Len())
	for i := range list {
		list[i] = d.Rows.Players() - count(d.Rows.Observed[i*d.Rows.Players():][:d.Rows.Players()])
	}
	return list
}

// whole returns the number of complete rows.
func (d Data) whole() (n int) {
	for _, missing := range d.missingCells() {
		if missing == 0 {
			n++
		}
	}
	return n
}

// mostComplete returns the rows with the fewest missing cells, at least minCompleteRows and all ties, with their values.
// σ_0 is the noise of complete rows, whereas the error of all rows is mostly due to missing cells.
func mostComplete(values []float32, d Data) ([]float32, Data) {
	lacking := d.missingCells()
	sorted := slices.Sorted(slices.Values(lacking))
	limit := sorted[min(minCompleteRows, len(sorted))-1]
	if limit == sorted[len(sorted)-1] {
		return values, d
	}
	var rows []int
	for i, n := range lacking {
		if n <= limit {
			rows = append(rows, i)
		}
	}
	some, few := newData(len(rows), d), make([]float32, len(rows))
	for k, i := range rows {
		some.set(k, d, i)
		few[k] = values[i]
	}
	return few, some
}
