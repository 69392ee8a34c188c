package train

import (
	"math"
	"slices"
	"testing"

	"github.com/psi-shapley/psi/internal/encode"
)

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
