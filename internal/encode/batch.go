package encode

// Batch is rows as a network reads them, row by row.
type Batch struct {
	Rows, Numeric, Categorical int

	Numbers  []float32 // [rows, numeric, 2]: position among the bins, standardised value
	Codes    []int32   // [rows, categorical]: row of the embedding table
	Observed []float32 // [rows, players]: 1 observed, 0 missing
}

// NewBatch makes a batch of missing cells.
func NewBatch(rows, numeric, categorical int) *Batch {
	return &Batch{
		Rows: rows, Numeric: numeric, Categorical: categorical,
		Numbers:  make([]float32, rows*numeric*2),
		Codes:    make([]int32, rows*categorical),
		Observed: make([]float32, rows*(numeric+categorical)),
	}
}

// Players is the number of players.
func (b *Batch) Players() int { return b.Numeric + b.Categorical }

// Head is the first rows of b, sharing its memory.
func (b *Batch) Head(rows int) *Batch { return b.Slice(0, rows) }

// Slice is rows [from, to) of b, sharing its memory.
func (b *Batch) Slice(from, to int) *Batch {
	return &Batch{
		Rows: to - from, Numeric: b.Numeric, Categorical: b.Categorical,
		Numbers:  b.Numbers[from*b.Numeric*2 : to*b.Numeric*2],
		Codes:    b.Codes[from*b.Categorical : to*b.Categorical],
		Observed: b.Observed[from*b.Players() : to*b.Players()],
	}
}

// Append adds the rows of another batch of the same players.
func (b *Batch) Append(more *Batch) {
	b.Rows += more.Rows
	b.Numbers = append(b.Numbers, more.Numbers...)
	b.Codes = append(b.Codes, more.Codes...)
	b.Observed = append(b.Observed, more.Observed...)
}

// Set copies row j of from to row i.
func (b *Batch) Set(i int, from *Batch, j int) {
	copyRow(b.Numbers, i, from.Numbers, j, 2*b.Numeric)
	copyRow(b.Codes, i, from.Codes, j, b.Categorical)
	copyRow(b.Observed, i, from.Observed, j, b.Players())
}

func copyRow[T any](to []T, i int, from []T, j, width int) {
	copy(to[i*width:(i+1)*width], from[j*width:(j+1)*width])
}

// SetPlayer copies player d alone of row j of from to row i.
func (b *Batch) SetPlayer(i, d int, from *Batch, j int) {
	if d < b.Numeric {
		copyRow(b.Numbers, i*b.Numeric+d, from.Numbers, j*b.Numeric+d, 2)
	} else {
		k := d - b.Numeric
		b.Codes[i*b.Categorical+k] = from.Codes[j*b.Categorical+k]
	}
	b.Observed[i*b.Players()+d] = from.Observed[j*b.Players()+d]
}
