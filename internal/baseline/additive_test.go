package baseline

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// A sum of functions of single columns, gaps and labels among them, is found; a linear model finds little of it.
func TestAdditiveTruthIsRecovered(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 0))
	const noise = 0.3
	draw := func(n int) (c cells, truth, y []float64) {
		for range n {
			x := []float64{rng.NormFloat64(), rng.NormFloat64()}
			f := 0.8
			if rng.IntN(4) == 0 {
				x[1] = math.NaN()
			} else {
				f = min(3, x[1]*x[1]) - 1 // in the tails a bin is wide
			}
			label := rng.IntN(6)
			f += math.Sin(3*x[0]) + []float64{0, 1, -1, 0.5, 0, -0.5}[label]
			c.numbers, c.labels = append(c.numbers, x), append(c.labels, []int{label})
			truth, y = append(truth, f), append(y, f+noise*rng.NormFloat64())
		}
		return c, truth, y
	}
	c, _, y := draw(6000)
	fresh, truth, _ := draw(2000)
	a, err := fitAdditive(t.Context(), sampleOf(c.batch(), y, nil), family{}, []float64{0})
	if err != nil {
		t.Fatal(err)
	}
	l, err := fitLinear(t.Context(), sampleOf(c.batch(), y, nil), family{}, []float64{0})
	if err != nil {
		t.Fatal(err)
	}
	rms := func(scores []float64) float64 {
		sum := 0.0
		for i, v := range scores {
			sum += (v - truth[i]) * (v - truth[i]) / float64(len(truth))
		}
		return math.Sqrt(sum)
	}
	if missed := rms(a.score(fresh.batch())); missed > 0.15 {
		t.Errorf("the additive model is off the truth by %.3f", missed)
	}
	if missed := rms(l.score(fresh.batch())); missed < 0.8 {
		t.Errorf("the linear model is off the truth by %.3f only", missed)
	}
}

// What early stopping leaves of pure noise is little.
func TestAdditiveOfNoiseIsTheMean(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 0))
	c, _ := mixed(rng, 1000)
	y := make([]float64, 1000)
	for i := range y {
		y[i] = rng.NormFloat64()
	}
	a, err := fitAdditive(t.Context(), sampleOf(c.batch(), y, nil), family{}, []float64{0})
	if err != nil {
		t.Fatal(err)
	}
	square := 0.0
	for _, v := range a.score(c.batch()) {
		square += v * v / 1000
	}
	if square > 0.03 {
		t.Errorf("%d rounds: predictions of noise have the variance %.3f", a.rounds, square)
	}
}

// Many rounds of one column end in the weighted mean of each bin; of classes, in their log odds.
func TestBoostingEndsInTheMeanOfBins(t *testing.T) {
	c := cells{numbers: [][]float64{{0}, {0}, {1}, {1}, {math.NaN()}, {math.NaN()}}}
	s := sampleOf(c.batch(), []float64{1, 0, 1, 0, 1, 0}, []float64{3, 1, 1, 1, 1, 4})
	columns := []binning{ordered{number{part: -1}, []float64{0.5}}}
	for _, classes := range []int{0, 2} {
		b := newBoosting(columns, binned(columns, s.rows), s.y, s.weight, family{classes}, []float64{0})
		for range 2000 {
			b.round()
		}
		for bin, share := range []float64{0.75, 0.5, 0.2} {
			want := share
			if classes == 2 {
				want = math.Log(share / (1 - share))
			}
			if got := b.tables[0][bin]; math.Abs(got-want) > 1e-6 {
				t.Errorf("%d classes, bin %d: %g, expected %g", classes, bin, got, want)
			}
		}
	}
}

func TestBoostingOfThreeClasses(t *testing.T) {
	c := cells{labels: slices.Repeat([][]int{{0}, {0}, {0}, {1}, {1}, {1}}, 10)}
	s := sampleOf(c.batch(), slices.Repeat([]float64{0, 0, 1, 1, 2, 2}, 10), nil)
	columns := newBinnings(s.rows)
	b := newBoosting(columns, binned(columns, s.rows), s.y, s.weight, family{3}, make([]float64, 3))
	for range 500 {
		b.round()
	}
	p := make([]float64, 3)
	for i, want := range [][]float64{{2. / 3, 1. / 3, 0}, 3: {0, 1. / 3, 2. / 3}} {
		if b.p(i, p); want == nil {
			continue
		}
		for k := range p {
			if math.Abs(p[k]-want[k]) > 0.02 {
				t.Errorf("row %d has the probabilities %.3f, expected %.3f", i, p, want)
			}
		}
	}
}

// The second of two equal columns sees what the first has done in the same round.
func TestColumnsOfARoundFollowEachOther(t *testing.T) {
	c := cells{numbers: [][]float64{{0, 0}, {0, 0}, {1, 1}, {1, 1}}}
	s := sampleOf(c.batch(), []float64{1, 1, -1, -1}, nil)
	columns := []binning{ordered{number{part: -1}, []float64{0.5}}, ordered{number{column: 1, part: -1}, []float64{0.5}}}
	b := newBoosting(columns, binned(columns, s.rows), s.y, s.weight, family{}, []float64{0})
	b.round()
	first := maxRate * 2 / (2 + shrinkage)
	second := maxRate * 2 * (1 - first) / (2 + shrinkage)
	if got := []float64{b.tables[0][0], b.tables[1][0]}; math.Abs(got[0]-first) > 1e-12 || math.Abs(got[1]-second) > 1e-12 {
		t.Errorf("steps %g, expected %g and %g", got, first, second)
	}
}

// A value that most rows have is a bin of its own; the others share the rest of the bins evenly.
func TestBinsOfACommonValue(t *testing.T) {
	var c cells
	for i := range 2000 {
		x := 0.0
		if i >= 1500 {
			x = float64(i) - 1749.5
		}
		c.numbers = append(c.numbers, []float64{x})
	}
	o := newOrdered(number{part: -1}, c.batch())
	rows, common := make([]int, o.count()), 0
	for i, x := range c.numbers {
		bin := o.bin(c.batch(), i)
		rows[bin]++
		if x[0] == 0 {
			common = bin
		}
	}
	if n := o.count() - 1; n < maxBins-8 || n > maxBins+1 || rows[common] != 1500 {
		t.Fatalf("%d bins, that of the common value has %d rows", n, rows[common])
	}
	rest := slices.Delete(slices.Clone(rows[:len(rows)-1]), common, common+1) // the last is of gaps
	if slices.Sort(rest); rest[len(rest)-1] > 8 || rest[3] < 7 {
		t.Errorf("bins have %v rows", rows)
	}
}

// Of a rare class in few rows it finds about as much as the linear model, which is the truth.
func TestAdditiveOfARareClass(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 0))
	draw := func(n int) (c cells, y []float64) {
		for range n {
			x := make([]float64, 8)
			odds := -3.2
			for j := range x {
				x[j] = rng.NormFloat64()
				odds += 0.5 * x[j]
			}
			c.numbers, y = append(c.numbers, x), append(y, 0)
			if rng.Float64() < 1/(1+math.Exp(-odds)) {
				y[len(y)-1] = 1
			}
		}
		return c, y
	}
	c, y := draw(2000)
	fresh, truth := draw(5000)
	f, base, ones := family{2}, []float64{-2.6}, slices.Repeat([]float64{1}, len(truth))
	a, err := fitAdditive(t.Context(), sampleOf(c.batch(), y, nil), f, base)
	if err != nil {
		t.Fatal(err)
	}
	l, err := fitLinear(t.Context(), sampleOf(c.batch(), y, nil), f, base)
	if err != nil {
		t.Fatal(err)
	}
	none := f.meanLoss(repeated(base, len(truth)), truth, ones)
	additive, linear := f.meanLoss(a.score(fresh.batch()), truth, ones), f.meanLoss(l.score(fresh.batch()), truth, ones)
	if found := (none - additive) / (none - linear); found < 0.7 {
		t.Errorf("it finds %.2f of what the linear model does: log loss %.4f, %.4f and, of the base rate, %.4f", found, additive, linear, none)
	}
}

func TestIntervals(t *testing.T) {
	up, down, flat := slope{1, 1}, slope{-1, 1}, slope{0, 1}
	for _, c := range []struct {
		sums []slope
		want []int
	}{
		{nil, nil},
		{[]slope{up}, []int{1}},
		{[]slope{flat, flat, flat}, []int{3}},
		{[]slope{up, up, up, down, down}, []int{3, 5}},
		{[]slope{down, down, up, up, up, down, down}, []int{2, 5, 7}},
		{[]slope{up, down, up, down, up}, []int{1, 2, 5}},
	} {
		if got := intervals(c.sums, 0.5); !slices.Equal(got, c.want) {
			t.Errorf("%v is cut at %v, want %v", c.sums, got, c.want)
		}
	}

	// No single cut is better than the first.
	rng := rand.New(rand.NewPCG(6, 0))
	sums := make([]slope, 20)
	var all slope
	for j := range sums {
		sums[j] = slope{rng.NormFloat64(), rng.Float64()}
		all = slope{all.g + sums[j].g, all.h + sums[j].h}
	}
	best, cut := all.gain(1), len(sums)
	for k := range sums {
		var left slope
		for _, sum := range sums[:k+1] {
			left = slope{left.g + sum.g, left.h + sum.h}
		}
		if gain := left.gain(1) + (slope{all.g - left.g, all.h - left.h}).gain(1); gain > best+1e-9 {
			best, cut = gain, k+1
		}
	}
	if got := intervals(sums, 1); !slices.Contains(got, cut) {
		t.Errorf("cut at %v, but the best cut is at %d", got, cut)
	}
}
