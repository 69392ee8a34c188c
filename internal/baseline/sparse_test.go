package baseline

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// needles are rows of many numbers, of which three tell y, and two of them more than the third.
func needles(rng *rand.Rand, rows, columns int) (c cells, y []float64) {
	for range rows {
		x := make([]float64, columns)
		for j := range x {
			x[j] = rng.NormFloat64()
		}
		c.numbers = append(c.numbers, x)
		y = append(y, 3*x[7]-2*x[20]+x[33]+rng.NormFloat64())
	}
	return c, y
}

// At the minimum of the lasso the gradient of the loss is −penalty·sign(b) where b is not 0, and no larger than the penalty elsewhere.
func TestShrinkIsTheLasso(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	c, y := needles(rng, 80, 120)
	for _, classes := range []int{0, 2, 3} {
		f := family{classes}
		target := slices.Clone(y)
		for i, v := range y {
			switch {
			case classes > 0 && v < 0:
				target[i] = 0
			case classes > 0:
				target[i] = min(float64(classes-1), 1+math.Floor(v/3))
			}
		}
		s := sampleOf(c.batch(), target, nil)
		r := newReading(s)
		g := &regression{design: r.read(s.rows), family: f, y: s.y, weight: s.weight}
		k := f.outputs()
		b := make([]float64, r.count*k)
		g.penalty = g.largestPenalty(b) / 5
		for left := 1500; left > 0; {
			if err := g.shrink(t.Context(), b, &left); err != nil {
				t.Fatal(err)
			}
		}
		scores := make([]float64, s.len()*k)
		g.times(b, scores)
		f.respondAll(scores)
		for i, v := range s.y {
			f.gradient(scores[i*k:(i+1)*k], v)
		}
		gradient := make([]float64, len(b))
		g.transposed(scores, gradient)
		used := 0
		for j, v := range gradient {
			v /= float64(s.len())
			switch {
			case j >= len(b)-k:
				if math.Abs(v) > 1e-3 {
					t.Errorf("%d classes: the gradient of intercept %d is %g", classes, j, v)
				}
			case b[j] == 0:
				if math.Abs(v) > g.penalty+1e-3 {
					t.Errorf("%d classes: the gradient of coefficient %d, which is 0, is %g, above the penalty of %g", classes, j, v, g.penalty)
				}
			default:
				used++
				if math.Abs(v+math.Copysign(g.penalty, b[j])) > 1e-3 {
					t.Errorf("%d classes: the gradient of coefficient %d is %g, not the penalty of %g", classes, j, v, g.penalty)
				}
			}
		}
		if used == 0 || used > len(b)/2 {
			t.Errorf("%d classes: %d of %d coefficients are used", classes, used, len(b))
		}
	}
}

// Of few rows of many columns the linear model finds the columns that tell the target; of many rows it is a ridge.
func TestLinearIsSparseWhereRowsAreFew(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 1))
	fit := func(rows, columns int) *linear {
		c, y := needles(rng, rows, columns)
		l, err := fitLinear(t.Context(), sampleOf(c.batch(), y, nil), family{}, []float64{0})
		if err != nil {
			t.Fatal(err)
		}
		test, truth := needles(rng, 1000, columns)
		predicted := l.score(test.batch())
		residual, total := 0.0, 0.0
		for i, v := range truth {
			residual, total = residual+(v-predicted[i])*(v-predicted[i]), total+v*v
		}
		if r2 := 1 - residual/total; r2 < 0.85 { // noise leaves .93
			t.Errorf("%d rows of %d columns: R² %.3f", rows, columns, r2)
		}
		if used := l.columns(test.batch()); l.sparse && (len(used) < 3 || !slices.Equal(used[:2], []int{7, 20}) || !slices.Contains(used, 33)) {
			t.Errorf("%d rows of %d columns: it uses the columns %v", rows, columns, used)
		} else if !l.sparse && used != nil {
			t.Errorf("a ridge is said to use %v alone", used)
		}
		return l
	}
	if !fit(150, 300).sparse {
		t.Error("a ridge of 150 rows and 300 columns")
	}
	if fit(2000, 40).sparse {
		t.Error("a lasso of 2,000 rows and 40 columns")
	}
}
