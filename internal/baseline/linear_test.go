package baseline

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/psi-shapley/psi/internal/encode"
)

var exactly = precision{1e-11, 10_000}

// fitted is the minimum of the penalised loss.
func fitted(t *testing.T, s *sample, f family, penalty float64) *linear {
	t.Helper()
	r := newReading(s)
	l := &linear{reading: r, b: make([]float64, r.count*f.outputs()), penalty: penalty}
	g := &regression{design: r.read(s.rows), family: f, y: s.y, weight: s.weight, penalty: penalty}
	if err := g.fit(t.Context(), l.b, exactly); err != nil {
		t.Fatal(err)
	}
	return l
}

// features are those of mixed rows, written out: both numbers standardised, a mark for gaps of the second, four levels and a 1.
func features(c cells, weight []float64) *mat.Dense {
	var mean, std [2]float64
	for j := range mean {
		sum, square, total := 0.0, 0.0, 0.0
		for i, row := range c.numbers {
			if !math.IsNaN(row[j]) {
				v := float64(float32(row[j]))
				sum, square, total = sum+weight[i]*v, square+weight[i]*v*v, total+weight[i]
			}
		}
		mean[j] = sum / total
		std[j] = math.Sqrt(square/total - mean[j]*mean[j])
	}
	x := mat.NewDense(len(weight), 8, nil)
	for i, row := range c.numbers {
		for j, v := range row {
			if !math.IsNaN(v) {
				x.Set(i, j, (float64(float32(v))-mean[j])/std[j])
			} else {
				x.Set(i, 2, 1)
			}
		}
		x.Set(i, 4+c.labels[i][0], 1) // −1 is a gap
		x.Set(i, 7, 1)
	}
	return x
}

func TestRidgeIsTheClosedForm(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	c, weight := mixed(rng, 200)
	y := make([]float64, len(weight))
	for i, row := range c.numbers {
		y[i] = row[0] + float64(c.labels[i][0]) + rng.NormFloat64()
		if !math.IsNaN(row[1]) {
			y[i] -= row[1]
		}
	}
	for _, penalty := range []float64{1e-4, 0.1, 10} {
		got := fitted(t, sampleOf(c.batch(), y, weight), family{}, penalty).score(c.batch())

		x := features(c, weight)
		total := 0.0
		weighted := mat.DenseCopyOf(x)
		for i, w := range weight {
			total += w
			for j := range 8 {
				weighted.Set(i, j, w*x.At(i, j))
			}
		}
		var a, b, want, values mat.Dense
		a.Mul(weighted.T(), x)
		for j := range 7 {
			a.Set(j, j, a.At(j, j)+penalty*total)
		}
		b.Mul(weighted.T(), mat.NewDense(len(y), 1, y))
		if err := want.Solve(&a, &b); err != nil {
			t.Fatal(err)
		}
		values.Mul(x, &want)
		for i := range y {
			if math.Abs(got[i]-values.At(i, 0)) > 1e-6 {
				t.Fatalf("penalty %g, row %d: %g, but the normal equations give %g", penalty, i, got[i], values.At(i, 0))
			}
		}
	}
}

// objective is the penalised loss, written out.
func objective(x *mat.Dense, b []float64, classes int, y, weight []float64, penalty float64) float64 {
	n, features := x.Dims()
	k := len(b) / features
	sum, total := 0.0, 0.0
	for i := range n {
		score := make([]float64, max(2, k)) // the first of two classes has 0
		for j := range features {
			for c := range k {
				score[c+max(2, k)-k] += x.At(i, j) * b[j*k+c]
			}
		}
		partition := 0.0
		for _, s := range score[:classes] {
			partition += math.Exp(s)
		}
		sum += weight[i] * (math.Log(partition) - score[int(y[i])])
		total += weight[i]
	}
	squares := 0.0
	for _, v := range b[:len(b)-k] {
		squares += v * v
	}
	return sum/total + penalty/2*squares
}

func TestLogisticOptimumIsStationary(t *testing.T) {
	for _, classes := range []int{2, 4} {
		rng := rand.New(rand.NewPCG(2, uint64(classes)))
		c, weight := mixed(rng, 150)
		y := make([]float64, len(weight))
		for i, row := range c.numbers {
			y[i] = float64(min(classes-1, int(math.Abs(row[0]+float64(c.labels[i][0])+rng.NormFloat64()))))
		}
		f, penalty := family{classes}, 0.01
		l := fitted(t, sampleOf(c.batch(), y, weight), f, penalty)
		x := features(c, weight)
		k := f.outputs()

		// The features as the test orders them: of the category, gaps first, rare ones nowhere, and the labels as they came.
		b := make([]float64, 8*k)
		own := l.reading.labels[0].levels
		of := []int{0, 1, 2, l.reading.first[0], l.reading.first[0] + int(own[0]), l.reading.first[0] + int(own[1]), l.reading.first[0] + int(own[2]), l.reading.count - 1}
		for j, at := range of {
			copy(b[j*k:(j+1)*k], l.b[at*k:(at+1)*k])
		}
		at := objective(x, b, classes, y, weight, penalty)
		for j := range b {
			const h = 1e-4
			moved := append([]float64(nil), b...)
			moved[j] += h
			above := objective(x, moved, classes, y, weight, penalty)
			moved[j] -= 2 * h
			below := objective(x, moved, classes, y, weight, penalty)
			if slope := (above - below) / (2 * h); math.Abs(slope) > 1e-7 {
				t.Errorf("%d classes: the objective changes by %g along weight %d", classes, slope, j)
			}
			if above < at || below < at {
				t.Errorf("%d classes: the objective %g falls along weight %d", classes, at, j)
			}
		}
	}
}

// The values are scikit-learn 1.9.1's, of z = (x − mean)/std and n = 60:
//
//	Ridge(alpha=n*0.01).fit(z, s).predict(z)
//	LogisticRegression(C=1/(n*0.01), tol=1e-12).fit(z, s > 0).predict_proba(z)[:, 1]
//	LogisticRegression(C=1/(n*0.01), tol=1e-12).fit(z, np.digitize(s, [-0.7, 0.7])).predict_proba(z)
func TestLinearOfScikitLearn(t *testing.T) {
	var c cells
	var s, two, three []float64
	for n := range 60 {
		i := float64(n)
		x := []float64{math.Sin(1.7 * i), math.Sin(2.3*i + 1), math.Sin(0.9*i + 2)}
		c.numbers = append(c.numbers, x)
		v := x[0] + 0.5*x[1] - x[2] + 2*math.Sin(5.1*i)
		class := func(edges ...float64) (k float64) {
			for _, e := range edges {
				if v >= e {
					k++
				}
			}
			return k
		}
		s, two, three = append(s, v), append(two, class(0)), append(three, class(-0.7, 0.7))
	}
	for _, known := range []struct {
		classes int
		y, want []float64
	}{
		{0, s, []float64{-0.61848141, 0.6565402, 0.07779879, 0.76502882}},
		{2, two, []float64{0.41732382, 0.66242903, 0.55583819, 0.71090251}},
		{3, three, []float64{0.5343101, 0.15413396, 0.31155594, 0.26552047, 0.19705431, 0.53742522, 0.42927133, 0.17062995, 0.40009871}},
	} {
		f := family{known.classes}
		l := fitted(t, sampleOf(c.batch(), known.y, nil), f, 0.01)
		got := (&Model{Name: Linear, family: f, score: l.score}).Predict(c.batch())
		for i, want := range known.want {
			if math.Abs(got[i]-want) > 1e-5 {
				t.Errorf("%d classes: prediction %d is %.8f, but scikit-learn's %.8f", known.classes, i, got[i], want)
			}
		}
	}
}

// Of a target that is linear but for noise, the model chosen comes near the truth; of noise alone, the mean.
func TestPenaltyIsChosen(t *testing.T) {
	for _, signal := range []float64{0, 1} {
		rng := rand.New(rand.NewPCG(3, 0))
		var c cells
		var y, truth []float64
		for range 400 {
			x := make([]float64, 60)
			for j := range x {
				x[j] = rng.NormFloat64()
			}
			c.numbers = append(c.numbers, x)
			truth = append(truth, signal*(x[0]-x[1]))
			y = append(y, truth[len(truth)-1]+0.5*rng.NormFloat64())
		}
		l, err := fitLinear(t.Context(), sampleOf(c.batch(), y, nil), family{}, []float64{0})
		if err != nil {
			t.Fatal(err)
		}
		missed := 0.0
		for i, v := range l.score(c.batch()) {
			missed += (v - truth[i]) * (v - truth[i]) / float64(len(truth))
		}
		if most := 0.25 * 60 / 400 * 1.3; missed > most {
			t.Errorf("signal %g: mean squared distance from the truth %g (penalty %g), expected at most %g", signal, missed, l.penalty, most)
		}
		if signal == 0 && l.penalty < 1 {
			t.Errorf("noise has the penalty %g", l.penalty)
		}
	}
}

// A gap that is a level, a number at GapPosition, is read as a gap.
func TestGapLevelIsAGap(t *testing.T) {
	b := encode.NewBatch(1, 1, 0)
	b.Observed[0], b.Numbers[0] = 1, encode.GapPosition
	if v := (number{part: -1}).value(b, 0); !math.IsNaN(v) {
		t.Errorf("its value is %g", v)
	}
}

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
