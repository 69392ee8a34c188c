package synth

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/stat"

	"github.com/psi-shapley/psi/table"
)

func generate(t *testing.T, name string, rows int, seed uint64) *Sample {
	t.Helper()
	t.Logf("%s, %d rows, seed %d", name, rows, seed)
	s, err := Generate(name, rows, seed)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// zScore returns the mean of values in units of its standard error.
func zScore(values []float64) float64 {
	mean, std := stat.MeanStdDev(values, nil)
	return mean / (std / math.Sqrt(float64(len(values))))
}

func TestTruth(t *testing.T) {
	labelled := map[string]bool{"synth1-binary": true, "logit": true}
	for _, name := range Names() {
		s := generate(t, name, 1000, 2)
		for i := range s.Rows {
			sum, draws := s.Base, s.Base
			for d := range s.Mean {
				sum += s.Mean[d][i]
				if s.Draw == nil {
					draws += s.Mean[d][i]
					continue
				}
				draws += s.Draw[d][i]
				if s.Std[d][i] == 0 && s.Draw[d][i] != s.Mean[d][i] {
					t.Fatalf("%s row %d: draw_%d = %g without noise, mean %g", name, i, d+1, s.Draw[d][i], s.Mean[d][i])
				}
			}
			if !scalar.EqualWithinAbs(sum, s.Expected[i], exact) {
				t.Fatalf("%s row %d: base + Σ mean = %.12g, E[y | x] = %.12g", name, i, sum, s.Expected[i])
			}
			if labelled[name] {
				continue
			}
			if noise := math.Abs(s.Y[i] - draws); noise > 6*s.NoiseStd[i]+exact {
				t.Fatalf("%s row %d: y is %g from base + Σ draw", name, i, noise)
			}
		}
		if name == "logit" {
			continue // the mean of log-odds moves with the coalition
		}
		for d, mean := range s.Mean {
			if z := zScore(mean); math.Abs(z) > 4 {
				t.Errorf("%s: φ_%d is not centred: its mean is %.1f standard errors from 0", name, d+1, z)
			}
		}
	}
}

// TestNoiseFloor: no model's RMSE is below √E Var(y | x). On synth1 that is
//
//	√(E[0.36 cos(0.03 X)^1600] + E[0.04 X²]) ≈ 0.554.
func TestNoiseFloor(t *testing.T) {
	var variance float64
	q, p := newQuadrature(), synth1("synth1")
	for _, std := range p.std[:2] {
		variance += q.mean(func(x float64) float64 { return std(x) * std(x) }, nil)
	}
	if floor := math.Sqrt(variance); !scalar.EqualWithinAbs(floor, 0.554, 0.0005) {
		t.Errorf("synth1: floor %.4f, want 0.554", floor)
	}

	for name, want := range map[string]float64{
		"synth1": math.Sqrt(variance), "synth2": 0, "synth3": 0.1, "synth4": 0, "synth5": 0.1, "synth5-paper": 0.1,
	} {
		s := generate(t, name, 2000, 3)
		var squares float64
		for i, y := range s.Y {
			squares += (y - s.Expected[i]) * (y - s.Expected[i])
		}
		rmse := math.Sqrt(squares / float64(s.Rows))
		if !scalar.EqualWithinAbsOrRel(rmse, want, exact, 0.06) {
			t.Errorf("%s: RMSE of E[y | x] is %.4f, want %.4f", name, rmse, want)
		}
	}
}

func TestDrawsHaveStatedStd(t *testing.T) {
	for _, name := range []string{"synth1", "synth1-binary"} {
		s := generate(t, name, 8000, 4)
		for d := range 2 {
			z := make([]float64, s.Rows)
			var within float64
			for i := range z {
				z[i] = (s.Draw[d][i] - s.Mean[d][i]) / s.Std[d][i]
				if math.Abs(z[i]) < 1 {
					within++
				}
			}
			if mean, std := stat.MeanStdDev(z, nil); math.Abs(mean) > 0.05 || math.Abs(std-1) > 0.04 {
				t.Errorf("%s: standardised draw_%d has mean %.3f, sd %.3f", name, d+1, mean, std)
			}
			if within /= float64(s.Rows); math.Abs(within-0.6827) > 0.02 {
				t.Errorf("%s: ±1σ covers %.3f of draw_%d, want 0.683", name, within, d+1)
			}
		}
		if r := correlation(s); math.Abs(r) > 0.05 {
			t.Errorf("%s: draws of x1 and x2 correlate by %.3f about their means", name, r)
		}
	}
}

// correlation returns that of the first two columns' noise.
func correlation(s *Sample) float64 {
	var noise [2][]float64
	for d := range noise {
		for i, mean := range s.Mean[d] {
			noise[d] = append(noise[d], (s.Draw[d][i]-mean)/s.Std[d][i])
		}
	}
	return stat.Correlation(noise[0], noise[1], nil)
}

func TestInputsAreUniform(t *testing.T) {
	s := generate(t, "synth2", 8000, 5)
	for d, x := range s.X {
		var squares []float64
		for _, v := range x {
			if v < -halfWidth || v >= halfWidth {
				t.Fatalf("x%d = %g is outside [−4, 4)", d+1, v)
			}
			squares = append(squares, v*v-16.0/3)
		}
		if z := zScore(x); math.Abs(z) > 4 {
			t.Errorf("x%d: mean is %.1f standard errors from 0", d+1, z)
		}
		if z := zScore(squares); math.Abs(z) > 4 {
			t.Errorf("x%d: variance is %.1f standard errors from 16/3", d+1, z)
		}
	}
}

func TestSeedsAreReproducible(t *testing.T) {
	same := func(a, b any) bool { return fmt.Sprint(a) == fmt.Sprint(b) } // a NaN is a NaN
	first := func(columns [][]float64, rows int) (cut [][]float64) {
		for _, c := range columns {
			cut = append(cut, c[:rows])
		}
		return cut
	}
	for _, name := range Names() {
		s := generate(t, name, 50, 6)
		if !same(*s, *generate(t, name, 50, 6)) {
			t.Errorf("%s: one seed, two samples", name)
		}
		if same(s.X, generate(t, name, 50, 7).X) {
			t.Errorf("%s: two seeds, one sample", name)
		}
		short := generate(t, name, 20, 6)
		s.Rows, s.Y, s.NoiseStd, s.Expected = 20, s.Y[:20], s.NoiseStd[:20], s.Expected[:20]
		s.X, s.Mean, s.Std, s.Draw, s.Pair = first(s.X, 20), first(s.Mean, 20), first(s.Std, 20), first(s.Draw, 20), first(s.Pair, 20)
		if !same(*short, *s) {
			t.Errorf("%s: 20 rows are not the first 20 of 50", name)
		}
	}
}

// TestBinaryIsSynth1 checks that labels are coins thrown on synth1's latent y: the residual y − sigmoid(η) has mean 0, in
// the lower and the upper half of η alike.
func TestBinaryIsSynth1(t *testing.T) {
	latent, s := generate(t, "synth1", 8000, 8), generate(t, "synth1-binary", 8000, 8)
	if !reflect.DeepEqual(latent.X, s.X) || !reflect.DeepEqual(latent.Draw, s.Draw) {
		t.Fatal("rows or latent draws differ from synth1's")
	}
	if s.Base != 0 {
		t.Errorf("base log-odds %g, want 0", s.Base)
	}
	var residuals [2][]float64
	for i, y := range s.Y {
		if y != 0 && y != 1 {
			t.Fatalf("row %d: label %g", i, y)
		}
		eta := latent.Y[i] - latent.Base
		half := 0
		if eta > 0 {
			half = 1
		}
		residuals[half] = append(residuals[half], y-sigmoid(eta))
	}
	for half, r := range residuals {
		if z := zScore(r); math.Abs(z) > 4 {
			t.Errorf("half %d: labels are %.1f standard errors from their probabilities", half, z)
		}
	}
}

func TestGenerateRefuses(t *testing.T) {
	if _, err := Generate("synth6", 10, 0); err == nil || !strings.Contains(err.Error(), "synth5-paper") {
		t.Errorf("unknown name: error %v does not list the known ones", err)
	}
	if _, err := Generate("synth1", 0, 0); err == nil {
		t.Error("0 rows: no error")
	}
	for _, rho := range []float64{-0.1, 1, math.NaN()} {
		if _, err := GenerateCorrelated("gauss", 10, 0, rho); err == nil {
			t.Errorf("correlation %g: no error", rho)
		}
	}
	if _, err := GenerateCorrelated("synth1", 10, 0, 0.5); err == nil || !strings.Contains(err.Error(), "there are gauss") {
		t.Errorf("columns without a correlation: error %v does not list those with one", err)
	}
}

func BenchmarkGenerate(b *testing.B) {
	for _, name := range Names() {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := Generate(name, 1000, 0); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestTables(t *testing.T) {
	for _, p := range processes() {
		name := p.name
		s := generate(t, name, 30, 9)
		data, err := s.Table()
		if err != nil {
			t.Fatal(err)
		}
		checkTable(t, data, "x1,x2,x3,y", map[string][]float64{"x2": s.X[1], "y": s.Y})

		truth, err := s.TruthTable()
		if err != nil {
			t.Fatal(err)
		}
		checkTable(t, truth,
			"row,mean_x1,mean_x2,mean_x3,std_x1,std_x2,std_x3,draw_x1,draw_x2,draw_x3,noise_std,expected_y",
			map[string][]float64{"mean_x3": s.Mean[2], "std_x1": s.Std[0], "draw_x2": s.Draw[1], "noise_std": s.NoiseStd, "expected_y": s.Expected})
		if last := truth.Column("row").Numbers[29]; last != 29 {
			t.Errorf("%s: row 29 is numbered %g", name, last)
		}
	}
}

func TestTablesWithoutLatentDraws(t *testing.T) {
	for name, inputs := range map[string]string{
		"gauss": "x1,x2,x3,x4,x5",
		"copy":  "x1,x2,x3,x4,x5,x2_copy",
		"null":  "x1,x2,x3,x4,x5,x6,x7,x8,x9,x10",
		"logit": "x1,x2,x3,x4,x5",
	} {
		s := generate(t, name, 30, 9)
		data, err := s.Table()
		if err != nil {
			t.Fatal(err)
		}
		last := len(s.Columns) - 1
		checkTable(t, data, inputs+",y", map[string][]float64{"x2": s.X[1], s.Columns[last]: s.X[last], "y": s.Y})

		truth, err := s.TruthTable()
		if err != nil {
			t.Fatal(err)
		}
		checkTable(t, truth, "row,mean_"+strings.ReplaceAll(inputs, ",", ",mean_")+",noise_std,expected_y",
			map[string][]float64{"mean_x3": s.Mean[2], "mean_" + s.Columns[last]: s.Mean[last], "noise_std": s.NoiseStd, "expected_y": s.Expected})
	}
}

func checkTable(t *testing.T, got *table.Table, columns string, values map[string][]float64) {
	t.Helper()
	var names []string
	for _, c := range got.Columns {
		names = append(names, c.Name)
		if slices.Contains(c.Observed, false) {
			t.Errorf("column %s has a missing cell", c.Name)
		}
	}
	if have := strings.Join(names, ","); have != columns {
		t.Errorf("columns %s, want %s", have, columns)
	}
	for name, want := range values {
		if !slices.Equal(got.Column(name).Numbers, want) {
			t.Errorf("column %s does not hold its values", name)
		}
	}
}
