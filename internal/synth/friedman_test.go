package synth_test

import (
	"math"
	"testing"

	"github.com/psi-shapley/psi/internal/synth"
)

// The mean and the variance of y are those that its formula has by integration, and what does not matter does not.
func TestFriedmanFollowsItsFormula(t *testing.T) {
	const rows = 200_000
	var n, sum, squares, withSixth float64
	for part, err := range synth.Friedman(rows, 1) {
		if err != nil {
			t.Fatal(err)
		}
		y, sixth := part.Column("y").Numbers, part.Column("x6").Numbers
		for i, v := range y {
			n++
			sum += v
			squares += v * v
			withSixth += v * (sixth[i] - 0.5)
		}
	}
	if n != rows {
		t.Fatalf("%g rows", n)
	}
	// Of 10 sin(π x1 x2): sums over a fine grid. The others: 20/12 + 5 + 2.5, and 20²/180 + 100/12 + 25/12 + 1.
	const grid = 1000
	m, m2 := 0.0, 0.0
	for i := range grid {
		for j := range grid {
			v := 10 * math.Sin(math.Pi*(float64(i)+0.5)/grid*(float64(j)+0.5)/grid)
			m += v / (grid * grid)
			m2 += v * v / (grid * grid)
		}
	}
	mean := m + 20.0/12 + 7.5
	variance := m2 - m*m + 400.0/180 + 125.0/12 + 1
	gotMean := sum / n
	gotVariance := squares/n - gotMean*gotMean
	deviation := math.Sqrt(variance / n)
	if math.Abs(gotMean-mean) > 4*deviation {
		t.Errorf("mean %g, want %g", gotMean, mean)
	}
	if math.Abs(gotVariance-variance) > 0.02*variance {
		t.Errorf("variance %g, want %g", gotVariance, variance)
	}
	if math.Abs(withSixth/n) > 4*deviation*math.Sqrt(1.0/12)*2 {
		t.Errorf("x6 has a covariance of %g with y", withSixth/n)
	}
}

func TestFriedmanOfFewerRowsIsItsBeginning(t *testing.T) {
	first := func(rows int) (y []float64) {
		for part, err := range synth.Friedman(rows, 7) {
			if err != nil {
				t.Fatal(err)
			}
			y = append(y, part.Column("y").Numbers...)
		}
		return y
	}
	many, few := first(70_000), first(66_000)
	if len(many) != 70_000 || len(few) != 66_000 {
		t.Fatalf("%d and %d rows", len(many), len(few))
	}
	for i, v := range few {
		if many[i] != v {
			t.Fatalf("row %d differs", i)
		}
	}
	if many[0] == many[65_536] {
		t.Error("parts repeat")
	}
}
