package encode

// Batch holds encoded rows, the input of a network. Numeric players come first, then times, which are numeric too, then
// categories.
type Batch struct {
	Rows, Numeric, Categorical int
	Times                      int // number of times among the numeric players, the last ones

	Numbers  []float32 // [rows, numeric, 2]: position among the bins, standardised value
	Cycles   []float32 // [rows, times, CyclicParts]: sine and cosine of each period
	Codes    []int32   // [rows, categorical]: row of the embedding table
	Observed []float32 // [rows, players]: 1 observed, 0 missing
}

// NewBatch returns a batch of missing cells without times.
func NewBatch(rows, numeric, categorical int) *Batch {
	return NewTimedBatch(rows, numeric, 0, categorical)
}

// NewTimedBatch returns a batch of missing cells. Times count among the numeric players.
func NewTimedBatch(rows, numeric, times, categorical int) *Batch {
	return &Batch{
		Rows: rows, Numeric: numeric, Times: times, Categorical: categorical,
		Numbers:  make([]float32, rows*numeric*2),
		Cycles:   make([]float32, rows*times*CyclicParts),
		Codes:    make([]int32, rows*categorical),
		Observed: make([]float32, rows*(numeric+categorical)),
	}
}

// Like returns a batch of missing cells with the same players.
func (b *Batch) Like(rows int) *Batch {
	return NewTimedBatch(rows, b.Numeric, b.Times, b.Categorical)
}

// Players returns the number of players.
func (b *Batch) Players() int { return b.Numeric + b.Categorical }

// Head returns the first rows of b, sharing memory.
func (b *Batch) Head(rows int) *Batch { return b.Slice(0, rows) }

// Slice returns rows [from, to) of b, sharing memory.
func (b *Batch) Slice(from, to int) *Batch {
	return &Batch{
		Rows: to - from, Numeric: b.Numeric, Times: b.Times, Categorical: b.Categorical,
		Numbers:  rowsOf(b.Numbers, from, to, 2*b.Numeric),
		Cycles:   rowsOf(b.Cycles, from, to, CyclicParts*b.Times),
		Codes:    rowsOf(b.Codes, from, to, b.Categorical),
		Observed: rowsOf(b.Observed, from, to, b.Players()),
	}
}

func rowsOf[T any](of []T, from, to, width int) []T { return of[from*width : to*width] }

// Append adds the rows of another batch with the same players.
func (b *Batch) Append(more *Batch) {
	b.Rows += more.Rows
	b.Numbers = append(b.Numbers, more.Numbers...)
	b.Cycles = append(b.Cycles, more.Cycles...)
	b.Codes = append(b.Codes, more.Codes...)
	b.Observed = append(b.Observed, more.Observed...)
}

// Set copies row j of from to row i.
func (b *Batch) Set(i int, from *Batch, j int) {
	copyRow(b.Numbers, i, from.Numbers, j, 2*b.Numeric)
	copyRow(b.Cycles, i, from.Cycles, j, CyclicParts*b.Times)
	copyRow(b.Codes, i, from.Codes, j, b.Categorical)
	copyRow(b.Observed, i, from.Observed, j, b.Players())
}

func copyRow[T any](to []T, i int, from []T, j, width int) {
	copy(to[i*width:(i+1)*width], from[j*width:(j+1)*width])
}

// SetPlayer copies player d of row j of from to row i.
func (b *Batch) SetPlayer(i, d int, from *Batch, j int) {
	if d < b.Numeric {
		copyRow(b.Numbers, i*b.Numeric+d, from.Numbers, j*b.Numeric+d, 2)
		if k := d - (b.Numeric - b.Times); k >= 0 {
			copyRow(b.Cycles, i*b.Times+k, from.Cycles, j*b.Times+k, CyclicParts)
		}
	} else {
		k := d - b.Numeric
		b.Codes[i*b.Categorical+k] = from.Codes[j*b.Categorical+k]
	}
	b.Observed[i*b.Players()+d] = from.Observed[j*b.Players()+d]
}
