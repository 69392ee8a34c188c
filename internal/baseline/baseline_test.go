package baseline

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/train"
)

// cells are rows by hand: numbers, of which NaN is a gap, and labels, of which −1 is one.
type cells struct {
	numbers [][]float64
	labels  [][]int
}

func (c cells) batch() *encode.Batch {
	n := max(len(c.numbers), len(c.labels))
	numeric, categorical := 0, 0
	if c.numbers != nil {
		numeric = len(c.numbers[0])
	}
	if c.labels != nil {
		categorical = len(c.labels[0])
	}
	b := encode.NewBatch(n, numeric, categorical)
	for i := range n {
		for j := range numeric {
			if v := c.numbers[i][j]; !math.IsNaN(v) {
				b.Numbers[(i*numeric+j)*2+1] = float32(v)
				b.Observed[i*b.Players()+j] = 1
			}
		}
		for j := range categorical {
			if v := c.labels[i][j]; v >= 0 {
				b.Codes[i*categorical+j] = int32(100*j + v)
				b.Observed[i*b.Players()+numeric+j] = 1
			}
		}
	}
	return b
}

// sampleOf is a sample of these rows in their order.
func sampleOf(b *encode.Batch, y, weight []float64) *sample {
	if weight == nil {
		weight = slices.Repeat([]float64{1}, len(y))
	}
	return newSample(b, y, weight, 1)
}

// stored are rows as training has them.
func stored(b *encode.Batch, y []float64) train.Data {
	target := make([]float32, len(y))
	for i, v := range y {
		target[i] = float32(v)
	}
	return train.Unweighted(b, target)
}

// mixed are rows of two numbers with gaps and a category with gaps, and weights.
func mixed(rng *rand.Rand, n int) (c cells, weight []float64) {
	for range n {
		x := []float64{rng.NormFloat64(), 3 + 2*rng.NormFloat64()}
		if rng.IntN(5) == 0 {
			x[1] = math.NaN()
		}
		c.numbers = append(c.numbers, x)
		c.labels = append(c.labels, []int{rng.IntN(4) - 1})
		weight = append(weight, 0.2+rng.Float64())
	}
	return c, weight
}

// onDisk are rows that must be read one by one.
type onDisk struct{ train.Data }

func (onDisk) InMemory() bool { return false }

func TestFitOfMixedRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 0))
	c, _ := mixed(rng, 500)
	for _, classes := range []int{0, 2, 3} {
		y := make([]float64, 500)
		for i, row := range c.numbers {
			y[i] = math.Round(min(2, max(0, 1+row[0])))
			if classes == 2 {
				y[i] = math.Min(1, y[i])
			}
		}
		p := Problem{Rows: stored(c.batch(), y), Classes: classes}
		if classes > 0 {
			p.Base = make([]float64, family{classes}.outputs())
		}
		models, err := Fit(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		p.Rows = onDisk{stored(c.batch(), y)}
		again, err := Fit(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		losses := make([]float64, len(models))
		for m, model := range models {
			if model.Name != Names()[m] {
				t.Fatalf("baseline %d is %s", m, model.Name)
			}
			predicted := model.Predict(c.batch())
			if !slices.Equal(predicted, again[m].Predict(c.batch())) {
				t.Errorf("%d classes: the %s is another one when it is fitted again", classes, model.Name)
			}
			k := family{classes}.outputs()
			for i, v := range y {
				losses[m] += family{classes}.loss(predicted[i*k:(i+1)*k], v) / 500
			}
		}
		if losses[1] > 0.75*losses[0] || losses[2] > 0.75*losses[0] {
			t.Errorf("%d classes: losses %.3f of mean, linear and additive model", classes, losses)
		}
	}
}

func TestFewRowsHaveTheMeanAlone(t *testing.T) {
	b := encode.NewBatch(minRows-1, 1, 0)
	models, err := Fit(t.Context(), Problem{Rows: stored(b, make([]float64, b.Rows)), Classes: 2, Base: []float64{1}})
	if err != nil || len(models) != 1 {
		t.Fatalf("%d models, %v", len(models), err)
	}
	if p := models[0].Predict(b); math.Abs(p[0]-1/(1+math.Exp(-1))) > 1e-12 || len(p) != b.Rows {
		t.Errorf("the base rate is %g", p[0])
	}
}

func TestFitHonoursTheContext(t *testing.T) {
	c, _ := mixed(rand.New(rand.NewPCG(7, 0)), 200)
	y := make([]float64, 200)
	for i := range y {
		y[i] = c.numbers[i][0]
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Fit(ctx, Problem{Rows: stored(c.batch(), y)}); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}

func TestWorkIsBounded(t *testing.T) {
	for _, c := range []struct{ rows, columns, outputs, want int }{
		{90_000, 14, 1, 90_000},
		{1_000_000, 8, 1, 100_000},
		{1_000_000, 40, 1, 50_000},
		{1_000_000, 8, 10, 25_000},
		{200, 300, 1, 200},
		{1_000_000, 5000, 1, 500},
	} {
		if got := sampledRows(c.rows, c.columns, c.outputs); got != c.want {
			t.Errorf("%d rows of %d × %d columns × outputs are learned from %d, expected %d", c.rows, c.columns, c.outputs, got, c.want)
		}
	}
}

func TestChosenRowsAreDistinct(t *testing.T) {
	chosen := choose(1000, 300)
	slices.Sort(chosen)
	if len(slices.Compact(chosen)) != 300 || chosen[0] < 0 || chosen[299] >= 1000 {
		t.Fatalf("%d rows from %d to %d", len(chosen), chosen[0], chosen[len(chosen)-1])
	}
	sum := 0
	for _, row := range chosen {
		sum += row
	}
	if mean := float64(sum) / 300; math.Abs(mean-500) > 60 { // 3.6 standard errors
		t.Errorf("their mean is %g", mean)
	}
}

// Rows of a unit are all in one fold.
func TestUnitsStayTogether(t *testing.T) {
	var c cells
	var y []float64
	var units []uint64
	for i := range 400 {
		c.numbers = append(c.numbers, []float64{float64(i % 37)})
		y, units = append(y, float64(i%37)), append(units, uint64(i%37))
	}
	s, err := draw(Problem{Rows: stored(c.batch(), y), Units: units})
	if err != nil {
		t.Fatal(err)
	}
	for k := range foldCount {
		from, to := s.folds[k], s.folds[k+1]
		if to-from < 60 || to-from > 100 {
			t.Errorf("fold %d has %d of 400 rows", k, to-from)
		}
		for _, v := range s.y[from:to] {
			if slices.Contains(s.y[:from], v) || slices.Contains(s.y[to:], v) {
				t.Errorf("unit %g is in several folds", v)
			}
		}
	}
	one, err := draw(Problem{Rows: stored(c.batch(), y), Units: make([]uint64, 400)})
	if err != nil || !slices.Equal(one.folds, []int{0, 80, 160, 240, 320, 400}) {
		t.Errorf("folds of a single unit begin at %v, %v", one.folds, err)
	}
}

// Times have their cycles: the hour of the day is found by both models, though the instant says nothing.
func TestTimesComeRound(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 0))
	b := encode.NewTimedBatch(2000, 1, 1, 0)
	y := make([]float64, b.Rows)
	for i := range y {
		angle := 2 * math.Pi * float64(rng.IntN(24)) / 24
		b.Observed[i], b.Numbers[2*i+1] = 1, float32(rng.NormFloat64())
		b.Cycles[i*encode.CyclicParts], b.Cycles[i*encode.CyclicParts+1] = float32(math.Sin(angle)), float32(math.Cos(angle))
		y[i] = math.Cos(angle - 1)
	}
	models, err := Fit(t.Context(), Problem{Rows: stored(b, y)})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range models[1:] {
		square := 0.0
		for i, v := range m.Predict(b) {
			square += (v - y[i]) * (v - y[i]) / 2000
		}
		if square > 0.01 {
			t.Errorf("%s: mean squared error %.4f of a variance of 0.5", m.Name, square)
		}
	}
}

// gradient and bend are the first and second derivative of the loss by the scores.
func TestDerivatives(t *testing.T) {
	const h = 1e-5
	for _, c := range []struct {
		classes int
		score   []float64
		y       float64
		along   []float64
	}{
		{classes: 0, score: []float64{0.7}, y: -0.4, along: []float64{1.3}},
		{classes: 2, score: []float64{0.7}, y: 0, along: []float64{1.3}},
		{classes: 2, score: []float64{-2}, y: 1, along: []float64{1.3}},
		{classes: 4, score: []float64{0.7, -1, 0.2, 0}, y: 2, along: []float64{1, -0.5, 0.3, 2}},
	} {
		f := family{c.classes}
		gradient := func(score []float64) []float64 {
			p := slices.Clone(score)
			f.respond(p)
			f.gradient(p, c.y)
			return p
		}
		moved := func(step float64, along []float64) []float64 {
			score := slices.Clone(c.score)
			for k := range score {
				score[k] += step * along[k]
			}
			return score
		}
		loss := func(score []float64) float64 {
			f.respond(score)
			return f.loss(score, c.y)
		}
		slope := 0.0
		for k, g := range gradient(c.score) {
			slope += g * c.along[k]
		}
		if want := (loss(moved(h, c.along)) - loss(moved(-h, c.along))) / (2 * h); math.Abs(slope-want) > 1e-8 {
			t.Errorf("%d classes: slope %g, expected %g", c.classes, slope, want)
		}
		p, v := slices.Clone(c.score), slices.Clone(c.along)
		f.respond(p)
		f.bend(p, v)
		above, below := gradient(moved(h, c.along)), gradient(moved(-h, c.along))
		for k := range v {
			if want := (above[k] - below[k]) / (2 * h); math.Abs(v[k]-want) > 1e-8 {
				t.Errorf("%d classes: second derivative %g of output %d, expected %g", c.classes, v[k], k, want)
			}
			unit := make([]float64, len(v))
			unit[k] = 1
			want := (gradient(moved(h, unit))[k] - gradient(moved(-h, unit))[k]) / (2 * h)
			if got := f.curvature(p[k]); math.Abs(got-want) > 1e-8 {
				t.Errorf("%d classes: curvature %g of output %d, expected %g", c.classes, got, k, want)
			}
		}
	}
}
