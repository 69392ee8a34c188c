package eval

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestEstimateMeanByHand(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		name  string
		x     []float64
		units []uint64
		want  MeanEstimate
	}{
		{"rows", []float64{1, 2, 3, 4}, nil, MeanEstimate{2.5, math.Sqrt(5. / 12), 4, 4}},                                 // s² = 5/3
		{"a unit for each row", []float64{1, 2, 3, 4}, []uint64{9, 8, 7, 6}, MeanEstimate{2.5, math.Sqrt(5. / 12), 4, 4}}, // the same
		{"two of two", []float64{1, 3, 2, 4}, []uint64{5, 6, 5, 6}, MeanEstimate{2.5, 1, 4, 2}},                           // means 1.5 and 3.5
		{"unequal", []float64{1, 2, 6}, []uint64{5, 5, 6}, MeanEstimate{3, 2, 3, 2}},                                      // sums −3 and 3
		{"constant", []float64{2, 2, 2}, nil, MeanEstimate{2, 0, 3, 3}},
		{"one unit", []float64{1, 2}, []uint64{5, 5}, MeanEstimate{1.5, nan, 2, 1}},
		{"one row", []float64{3}, nil, MeanEstimate{3, nan, 1, 1}},
		{"no rows", nil, nil, MeanEstimate{nan, nan, 0, 0}},
	} {
		got := EstimateMean(c.x, c.units)
		if !alike(got.Mean, c.want.Mean) || !alike(got.StandardError, c.want.StandardError) || got.Rows != c.want.Rows || got.Units != c.want.Units {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func alike(a, b float64) bool {
	return math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) < 1e-12
}

// Student's t has closed forms for 1 and 2 degrees of freedom.
func TestPositivePByHand(t *testing.T) {
	for _, c := range []struct {
		name string
		of   MeanEstimate
		want float64
	}{
		{"Cauchy", MeanEstimate{2.5, 1, 4, 2}, .5 - math.Atan(2.5)/math.Pi},
		{"Cauchy, below 0", MeanEstimate{-3, 2, 4, 2}, .5 + math.Atan(1.5)/math.Pi},
		{"two degrees", MeanEstimate{3, 1.5, 3, 3}, .5 - 2/(2*math.Sqrt(2+4))},
		{"many", MeanEstimate{1.6448536269514722, 1, 1e7, 1e7}, .05},
		{"nothing", MeanEstimate{0, 0, 9, 9}, 1},
		{"always the same", MeanEstimate{1, 0, 9, 9}, 0},
		{"always the same, below 0", MeanEstimate{-1, 0, 9, 9}, 1},
		{"one unit", MeanEstimate{1, math.NaN(), 9, 1}, math.NaN()},
	} {
		if got := c.of.PositiveP(); !(math.IsNaN(got) && math.IsNaN(c.want)) && !(math.Abs(got-c.want) < 1e-7) {
			t.Errorf("%s: %g, want %g", c.name, got, c.want)
		}
	}
}

func TestDiscoveriesByHand(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		name string
		p    []float64
		want []int
	}{
		// The example of Benjamini and Hochberg (1995): four are found, where Bonferroni's bound finds three.
		{"1995", []float64{.0001, .0004, .0019, .0095, .0201, .0278, .0298, .0344, .0459, .3240, .4262, .5719, .6528, .7590, 1}, []int{0, 1, 2, 3}},
		{"from above", []float64{.05, .03, .04}, []int{0, 1, 2}}, // none but the largest is below its own bound
		{"none", []float64{.06, .04, .5}, nil},
		{"no test", []float64{nan, .04, nan}, []int{1}},
		{"nothing", nil, nil},
	} {
		var got []int
		for i, found := range Discoveries(c.p, .05) {
			if found {
				got = append(got, i)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: found %v, want %v", c.name, got, c.want)
		}
	}
}

// Of 15 means that are 0 and 5 that are not, false discoveries are rate·15/20 of all on average. Under the null alone, any is
// found in one of 20 repeats.
func TestFalseDiscoveryRate(t *testing.T) {
	const seed, repeats, rows, tests, rate = 3, 2000, 30, 20, .05
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for _, real := range []int{0, 5} {
		share, hits := 0.0, 0.0
		for range repeats {
			p := make([]float64, tests)
			for k := range p {
				x := make([]float64, rows)
				for i := range x {
					if x[i] = rng.NormFloat64(); k < real {
						x[i]++
					}
				}
				p[k] = EstimateMean(x, nil).PositiveP()
			}
			wrong, all := 0.0, 0.0
			for k, found := range Discoveries(p, rate) {
				if found {
					if all++; k >= real {
						wrong++
					}
				}
			}
			share += wrong / max(1, all) / repeats
			hits += (all - wrong) / repeats
		}
		want := rate * float64(tests-real) / tests
		t.Logf("%d real: share of false ones %.4f, expected %.4f; %.2f real ones found", real, share, want, hits)
		if math.Abs(share-want) > 4*math.Sqrt(want/repeats) || hits < .95*float64(real) {
			t.Errorf("%d real: share of false ones %.4f, not %.4f; %.2f real ones found", real, share, want, hits)
		}
	}
}

// Rows that share a unit's effect are fewer than they seem: the test by units keeps its level, the one by rows does not.
func TestUnitsKeepTheLevel(t *testing.T) {
	const seed, repeats, groups, per, level = 4, 4000, 20, 10, .05
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	byUnits, byRows := 0.0, 0.0
	x, units := make([]float64, groups*per), make([]uint64, groups*per)
	for range repeats {
		for i := range x {
			if i%per == 0 {
				x[i] = rng.NormFloat64()
			} else {
				x[i] = x[i-i%per]
			}
			units[i] = uint64(i / per)
		}
		for i := range x {
			x[i] += rng.NormFloat64()
		}
		if EstimateMean(x, units).PositiveP() <= level {
			byUnits++
		}
		if EstimateMean(x, nil).PositiveP() <= level {
			byRows++
		}
	}
	t.Logf("%.4f by units, %.4f by rows", byUnits/repeats, byRows/repeats)
	if math.Abs(byUnits/repeats-level) > 4*math.Sqrt(level/repeats) || byRows/repeats < 4*level {
		t.Errorf("%.4f by units, %.4f by rows", byUnits/repeats, byRows/repeats)
	}
}
