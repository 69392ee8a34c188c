package encode

import (
	"math"
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
	most := int64(0)
	for k := 1; k < len(edges); k++ {
		from := r.below(sort.Search(len(r.values), func(i int) bool { return r.values[i] > edges[k-1] }))
		to := r.below(sort.SearchFloat64s(r.values, edges[k]))
		if to-from > most {
			most, at, edge, ok = to-from, k, r.at((from+to)/2), true
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
