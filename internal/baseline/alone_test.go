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

// alone are the predictions of each visit, by player.
func alone(t *testing.T, p Problem) (all map[int][][]float64, rows train.Data) {
	t.Helper()
	all = map[int][][]float64{}
	if err := EachAlone(t.Context(), p, func(player int, predictions []float64, d train.Data) {
		all[player], rows = append(all[player], slices.Clone(predictions)), d
	}); err != nil {
		t.Fatal(err)
	}
	return all, rows
}

// A label predicts by the rows that share it and are of another fold, counted one by one.
func TestMeansOfBinsAreThoseOfOtherFolds(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 0))
	c, weight := mixed(rng, 300)
	for _, classes := range []int{0, 2, 3} {
		f := family{classes}
		y := make([]float64, 300)
		for i := range y {
			if y[i] = rng.NormFloat64(); classes > 0 {
				y[i] = float64(rng.IntN(classes))
			}
		}
		s := newSample(c.batch(), y, weight, f.outputs())
		column := byLabel{newLabels(s.rows, 0)}
		got := s.meansOfBins(f.indicators(y), binned([]binning{column}, s.rows)[0], column.count())
		hit := func(i, o int) float64 {
			if classes > 2 {
				if int(y[i]) == o {
					return 1
				}
				return 0
			}
			return y[i]
		}
		for i := range y {
			for o := range f.outputs() {
				mean, total := 0.0, 0.0
				for j, w := range weight {
					mean, total = mean+w*hit(j, o), total+w
				}
				sum, of := mean/300, total/300
				for j, w := range weight {
					if j*foldCount/300 != i*foldCount/300 && c.labels[j][0] == c.labels[i][0] {
						sum, of = sum+w*hit(j, o), of+w
					}
				}
				if k := f.outputs(); math.Abs(got[i*k+o]-sum/of) > 1e-9 {
					t.Fatalf("%d classes: row %d is predicted as %g, expected %g", classes, i, got[i*k+o], sum/of)
				}
			}
		}
	}
}

// A line through the other folds' rows goes on where bins end.
func TestLinesAreThoseOfOtherFolds(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 0))
	var c cells
	var y []float64
	for i := range 100 {
		x := math.Exp(2 * rng.NormFloat64())
		y = append(y, 3*x-1)
		if i%10 == 9 {
			x = math.NaN()
		}
		c.numbers = append(c.numbers, []float64{x})
	}
	for i, v := range sampleOf(c.batch(), y, nil).lines(number{part: -1}) {
		want := y[i]
		if i%10 == 9 {
			want = 0
		}
		if math.Abs(v-want) > 1e-4*(1+math.Abs(want)) {
			t.Errorf("row %d is predicted as %g, expected %g", i, v, want)
		}
	}
	y[0] = 1000 // its own fold does not learn it
	if v := sampleOf(c.batch(), y, nil).lines(number{part: -1})[0]; math.Abs(v-(3*c.numbers[0][0]-1)) > 1e-3 {
		t.Errorf("the first row is predicted as %g", v)
	}
}

// Numbers are visited with and without a line if the target is a number; columns keep their places.
func TestEachColumnAlone(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 0))
	c, _ := mixed(rng, 2000)
	y := make([]float64, 2000)
	for i, row := range c.numbers {
		y[i] = row[0]
	}
	all, rows := alone(t, Problem{Rows: stored(c.batch(), y)})
	if len(all) != 3 || len(all[0]) != 2 || len(all[1]) != 2 || len(all[2]) != 1 || len(rows.Target) != 2000 {
		t.Fatalf("%d columns of %d rows were visited", len(all), len(rows.Target))
	}
	left := func(predictions []float64) float64 {
		sum, total := 0.0, 0.0
		for i, v := range predictions {
			y := float64(rows.Target[i])
			sum, total = sum+(y-v)*(y-v), total+y*y
		}
		return sum / total
	}
	if steps, line := left(all[0][0]), left(all[0][1]); steps > 0.02 || line > 1e-3 || line >= steps {
		t.Errorf("the target itself leaves %g of the variance, with a line %g", steps, line)
	}
	if other := min(left(all[1][0]), left(all[1][1]), left(all[2][0])); other < 0.98 {
		t.Errorf("columns that tell nothing leave %g of the variance", other)
	}
}

func TestAloneOfFewOrManyRows(t *testing.T) {
	count := func(n, classes int, y func(i int) float64) (rows int) {
		target := make([]float64, n)
		for i := range target {
			target[i] = y(i)
		}
		p := Problem{Rows: stored(encode.NewBatch(n, 1, 0), target), Classes: classes}
		_, d := alone(t, p)
		return len(d.Target)
	}
	rare := func(positive int) func(int) float64 {
		return func(i int) float64 {
			if i < positive {
				return 1
			}
			return 0
		}
	}
	for _, c := range []struct {
		what      string
		got, want int
	}{
		{"few rows", count(minRows-1, 0, rare(5)), 0},
		{"few positives", count(500, 2, rare(minOthers-1)), 0},
		{"enough positives", count(500, 2, rare(minOthers)), 500},
		{"many rows", count(aloneRows+1, 0, rare(5)), aloneRows},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d rows, expected %d", c.what, c.got, c.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p := Problem{Rows: stored(encode.NewBatch(100, 1, 0), make([]float64, 100))}
	if err := EachAlone(ctx, p, func(int, []float64, train.Data) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("a training that was cancelled: %v", err)
	}
}
