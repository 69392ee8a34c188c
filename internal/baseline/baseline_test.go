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
