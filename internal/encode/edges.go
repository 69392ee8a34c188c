package encode

import "sort"

// Edges returns the ends of the bins, at most the given number, for the sorted values x:
// quantiles, or every distinct value if those are few. Where ties make quantiles coincide, the
// spare edges go to the middle of the fullest bins.
func Edges(x []float64, bins int) []float64 {
	distinct := distinctValues(x)
	if len(distinct) <= bins+1 {
		return distinct
	}
	last := x[len(x)-1]
	edges := []float64{x[0]}
	for i := 1; i < bins; i++ {
		if q := quantile(x, float64(i)/float64(bins)); q > edges[len(edges)-1] && q < last {
			edges = append(edges, q)
		}
	}
	edges = append(edges, last)
	for len(edges) <= bins {
		at, edge, ok := splitFullest(x, edges)
		if !ok {
			break
		}
		edges = append(edges, 0)
		copy(edges[at+1:], edges[at:])
		edges[at] = edge
	}
	return edges
}

func distinctValues(x []float64) []float64 {
	var d []float64
	for i, v := range x {
		if i == 0 || v != x[i-1] {
			d = append(d, v)
		}
	}
	return d
}

// quantile interpolates the sorted values x at fraction f.
func quantile(x []float64, f float64) float64 {
	at := f * float64(len(x)-1)
	k := min(int(at), len(x)-2)
	f = at - float64(k)
	return (1-f)*x[k] + f*x[k+1] // not x[k] + f·(x[k+1] − x[k]): the difference may overflow
}

// splitFullest finds the bin with most values strictly inside it and returns the
// middle one of them, which becomes edges[at].
func splitFullest(x, edges []float64) (at int, edge float64, ok bool) {
	most := 0
	for k := 1; k < len(edges); k++ {
		from := sort.Search(len(x), func(i int) bool { return x[i] > edges[k-1] })
		to := sort.SearchFloat64s(x, edges[k])
		if to-from > most {
			most, at, edge, ok = to-from, k, x[(from+to)/2], true
		}
	}
	return at, edge, ok
}

// position is where v lies among the edges: the number of whole bins below it, and
// the part of the bin it is in. Values beyond the edges are held at the ends.
func position(edges []float64, v float64) float64 {
	k := sort.SearchFloat64s(edges, v) // edges[k-1] < v <= edges[k]
	switch k {
	case 0:
		return 0
	case len(edges):
		return float64(len(edges) - 1)
	}
	return float64(k-1) + (v-edges[k-1])/(edges[k]-edges[k-1])
}
