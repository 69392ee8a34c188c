package baseline

import (
	"math"
	"slices"
	"sort"

	"github.com/psi-shapley/psi/internal/encode"
)

const (
	maxBins     = 64     // of a number, but for those beside common values
	rowsPerBin  = 20     // on average, at least
	quantilesOf = 10_000 // rows, at most
)

// binning is the bins of a column.
type binning interface {
	count() int
	ordered() int // the first bins that have an order
	bin(rows *encode.Batch, i int) int
}

// ordered is the bins of a number: bin j holds the values of at least edges[j−1] and less than edges[j]. The last is of gaps.
type ordered struct {
	number
	edges []float64
}

func (o ordered) count() int   { return len(o.edges) + 2 }
func (o ordered) ordered() int { return len(o.edges) + 1 }

func (o ordered) bin(rows *encode.Batch, i int) int {
	v := o.value(rows, i)
	if math.IsNaN(v) {
		return len(o.edges) + 1
	}
	return sort.Search(len(o.edges), func(j int) bool { return v < o.edges[j] })
}

// newOrdered makes bins of about as many rows each. A value that more rows have is a bin of its own, and the rest share the others.
func newOrdered(n number, rows *encode.Batch) ordered {
	values := make([]float64, 0, min(rows.Rows, quantilesOf))
	for i := range min(rows.Rows, quantilesOf) { // their order is random
		if v := n.value(rows, i); !math.IsNaN(v) {
			values = append(values, v)
		}
	}
	slices.Sort(values)
	bins := min(maxBins, max(2, rows.Rows/rowsPerBin))
	common := len(values)/bins + 1 // rows of a value that has a bin of its own
	rest, left := len(values), bins
	eachValue(values, func(from, to int) {
		if to-from >= common {
			rest, left = rest-(to-from), left-1
		}
	})
	o := ordered{number: n}
	fair := (rest + left - 1) / max(1, left)
	held := 0 // rows of the bin that is being filled
	eachValue(values, func(from, to int) {
		if held > 0 && held+to-from > fair { // also before and after a common value
			o.edges = append(o.edges, (values[from-1]+values[from])/2)
			held = 0
		}
		held += to - from
	})
	return o
}

// eachValue visits the runs [from, to) of equal values of a sorted list.
func eachValue(sorted []float64, visit func(from, to int)) {
	for from, to := 0, 0; from < len(sorted); from = to {
		for to < len(sorted) && sorted[to] == sorted[from] {
			to++
		}
		visit(from, to)
	}
}

// byLabel is the bins of a category: its levels.
type byLabel struct{ labels }

func (l byLabel) count() int                        { return l.labels.count }
func (l byLabel) ordered() int                      { return 0 }
func (l byLabel) bin(rows *encode.Batch, i int) int { return int(l.level(rows, i)) }

// newBinnings makes the bins of every column, and of the angles of times.
func newBinnings(rows *encode.Batch) []binning {
	list := make([]binning, 0, rows.Players())
	for _, n := range newNumbers(rows, true) {
		list = append(list, newOrdered(n, rows))
	}
	for _, l := range newAllLabels(rows) {
		list = append(list, byLabel{l})
	}
	return list
}

// binned is the bin of each row in each column [columns][rows]. A sample has too few rows for more labels than 2^16.
func binned(columns []binning, rows *encode.Batch) [][]uint16 {
	bins := make([][]uint16, len(columns))
	for c, column := range columns {
		bins[c] = make([]uint16, rows.Rows)
		for i := range bins[c] {
			bins[c][i] = uint16(column.bin(rows, i))
		}
	}
	return bins
}
