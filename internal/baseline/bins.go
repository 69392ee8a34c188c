package baseline

import (
	"math"
	"slices"
	"sort"

	"github.com/psi-shapley/psi/internal/encode"
)

const (
	maxBins     = 64     // of a number, not counting those around common values
	rowsPerBin  = 20     // minimum mean
	quantilesOf = 10_000 // maximum rows
)

// binning assigns the cells of a column to bins.
type binning interface {
	count() int
	ordered() int // number of leading bins that are ordered
	bin(rows *encode.Batch, i int) int
}

// ordered holds the bins of a number: bin j contains the values from edges[j−1] to below edges[j]. The last bin is for
// gaps.
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

// newOrdered returns bins with about equally many rows. A value with more rows than that is a bin of its own, and the
// rest share the others.
func newOrdered(n number, rows *encode.Batch) ordered {
	values := make([]float64, 0, min(rows.Rows, quantilesOf))
	for i := range min(rows.Rows, quantilesOf) { // rows are in random order
		if v := n.value(rows, i); !math.IsNaN(v) {
			values = append(values, v)
		}
	}
	slices.Sort(values)
	bins := min(maxBins, max(2, rows.Rows/rowsPerBin))
	common := len(values)/bins + 1 // minimum rows of a value with its own bin
	rest, left := len(values), bins
	eachValue(values, func(from, to int) {
		if to-from >= common {
			rest, left = rest-(to-from), left-1
		}
	})
	o := ordered{number: n}
	fair := (rest + left - 1) / max(1, left)
	held := 0 // rows in the current bin
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

// byLabel holds the bins of a category: its levels.
type byLabel struct{ labels }

func (l byLabel) count() int                        { return l.labels.count }
func (l byLabel) ordered() int                      { return 0 }
func (l byLabel) bin(rows *encode.Batch, i int) int { return int(l.level(rows, i)) }

// newBinnings returns the bins of every column, and of the angles of times.
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

// binned returns the bin of each row in each column [columns][rows]. A sample has too few rows for more than 2^16
// labels.
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
