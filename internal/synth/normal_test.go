package synth

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// covariance returns that of x1, x2, x3 and two columns that do not matter.
func covariance(rho float64) *mat.SymDense {
	sigma := mat.NewSymDense(5, nil)
	for a := range 5 {
		for b := a; b < 5; b++ {
			switch {
			case a == b:
				sigma.SetSym(a, b, 1)
			case b < columns:
				sigma.SetSym(a, b, rho)
			}
		}
	}
	return sigma
}

// meanGiven returns E[f(x) | x_S] of normal columns with the covariance matrix Σ, by the textbook's matrices and the
// trapezoidal rule: with A the absent ones of x1, x2, x3,
//
//	x_A | x_S ~ N(Σ_AS Σ_SS⁻¹ x_S, Σ_AA − Σ_AS Σ_SS⁻¹ Σ_SA).
func meanGiven(t *testing.T, sigma mat.Symmetric, x []float64, s uint, f func(x [columns]float64) float64) float64 {
	t.Helper()
	var present, absent []int
	for d := range x {
		switch {
		case s>>d&1 == 1:
			present = append(present, d)
		case d < columns:
			absent = append(absent, d)
		}
	}
	filled := [columns]float64(x)
	if len(absent) == 0 {
		return f(filled)
	}
	part := func(rows, cols []int) *mat.Dense {
		m := mat.NewDense(len(rows), len(cols), nil)
		for i, a := range rows {
			for j, b := range cols {
				m.Set(i, j, sigma.At(a, b))
			}
		}
		return m
	}
	mean, rest := mat.NewVecDense(len(absent), nil), part(absent, absent)
	if len(present) > 0 {
		seen := mat.NewVecDense(len(present), nil)
		for i, d := range present {
			seen.SetVec(i, x[d])
		}
		var inverse, slope, told mat.Dense
		if err := inverse.Inverse(part(present, present)); err != nil {
			t.Fatal(err)
		}
		slope.Mul(part(absent, present), &inverse)
		mean.MulVec(&slope, seen)
		told.Mul(&slope, part(present, absent))
		rest.Sub(rest, &told)
	}
	var root mat.Cholesky
	if !root.Factorize(mat.NewSymDense(len(absent), rest.RawMatrix().Data)) {
		t.Fatal("the conditional covariance is not positive")
	}
	var l mat.TriDense
	root.LTo(&l)

	const step, reach = 0.25, 8
	z := make([]float64, len(absent))
	var over func(k int) float64
	over = func(k int) (sum float64) {
		if k == len(z) {
			for i, d := range absent {
				filled[d] = mean.AtVec(i)
				for j := range i + 1 {
					filled[d] += l.At(i, j) * z[j]
				}
			}
			return f(filled)
		}
		for u := -float64(reach); u <= reach; u += step {
			z[k] = u
			sum += step * math.Exp(-u*u/2) / math.Sqrt(2*math.Pi) * over(k+1)
		}
		return sum
	}
	return over(0)
}

var correlations = []float64{0, 0.3, 0.5, 0.95}

func TestExpectedScoreAgainstIntegration(t *testing.T) {
	for _, rho := range correlations {
		v, sigma := expectedScore(equicorrelated{rho}), covariance(rho)
		for _, x := range [][]float64{{0.3, -1.2, 2.1}, {-2.5, 0.4, -1}} {
			for s := range uint(1 << columns) {
				got, want := v([columns]float64(x), s), meanGiven(t, sigma, x, s, score)
				if !scalar.EqualWithinAbs(got, want, exact) {
					t.Errorf("ρ = %g, x = %v: E[score | %03b] = %.12g, want %.12g", rho, x, s, got, want)
				}
			}
		}
	}
}

func TestExpectedLogOddsAgainstIntegration(t *testing.T) {
	for _, rho := range correlations {
		v, sigma := expectedLogOdds(equicorrelated{rho}), covariance(rho)
		for _, x := range [][]float64{{0.3, -1.2, 2.1}, {-2.5, 0.4, -1}, {1.5, 3, 4}} {
			for s := range uint(1 << columns) {
				got := v([columns]float64(x), s)
				p := meanGiven(t, sigma, x, s, func(x [columns]float64) float64 { return 1 / (1 + math.Exp(-score(x))) })
				if want := math.Log(p) - math.Log1p(-p); !scalar.EqualWithinAbs(got, want, 1e-6) {
					t.Errorf("ρ = %g, x = %v: log-odds given %03b are %.12g, want %.12g", rho, x, s, got, want)
				}
			}
		}
	}
}

// TestNormalsAgainstOrders computes the truth a second time, with all columns as players and all orders of them.
func TestNormalsAgainstOrders(t *testing.T) {
	const rows, rho, seed = 3, 0.4, 1
	sigma := covariance(rho)
	f := func(x [columns]float64) float64 { return x[0] + 0.8*x[1] + 0.5*x[0]*x[2] }
	for _, name := range []string{"gauss", "copy", "logit"} {
		s, err := GenerateCorrelated(name, rows, seed, rho)
		if err != nil {
			t.Fatal(err)
		}
		for i := range rows {
			var x []float64
			for d := range 5 {
				x = append(x, s.X[d][i])
			}
			v := func(coalition uint) float64 {
				if coalition>>5 == 1 { // x2_copy
					coalition = coalition&31 | 1<<1
				}
				if name != "logit" {
					return meanGiven(t, sigma, x, coalition, f)
				}
				p := meanGiven(t, sigma, x, coalition, func(x [columns]float64) float64 { return 1 / (1 + math.Exp(-f(x))) })
				return math.Log(p / (1 - p))
			}
			if base := v(0); !scalar.EqualWithinAbs(s.Base, base, 1e-6) {
				t.Errorf("%s: base %g, want %g", name, s.Base, base)
			}
			if all := v(1<<5 - 1); !scalar.EqualWithinAbs(s.Expected[i], all, exact) {
				t.Errorf("%s row %d: E[y | x] = %g, want %g", name, i, s.Expected[i], all)
			}
			for d, want := range overOrders(len(s.X), v) {
				if got := s.Mean[d][i]; !scalar.EqualWithinAbs(got, want, 1e-6) {
					t.Errorf("%s row %d: φ of %s is %.9g, orders give %.9g", name, i, s.Columns[d], got, want)
				}
			}
		}
	}
}

func TestIdleColumnsHaveNoAttribution(t *testing.T) {
	for _, n := range normals() {
		s := generate(t, n.name, 500, 2)
		for d := columns; d < columns+n.idle; d++ {
			for i, phi := range s.Mean[d] {
				if phi != 0 {
					t.Fatalf("%s row %d: φ of %s is %g", n.name, i, s.Columns[d], phi)
				}
			}
		}
	}
}

func TestCopySharesWithItsColumn(t *testing.T) {
	s, alone := generate(t, "copy", 500, 3), generate(t, "gauss", 500, 3)
	const copied = 5
	if !reflect.DeepEqual(s.X[copied], s.X[1]) || s.Columns[copied] != "x2_copy" {
		t.Fatalf("%s is not a copy of x2", s.Columns[copied])
	}
	var larger int
	for i := range s.Rows {
		if a, b := s.Mean[1][i], s.Mean[copied][i]; !scalar.EqualWithinAbs(a, b, exact) {
			t.Fatalf("row %d: φ of x2 is %g, of its copy %g", i, a, b)
		}
		if math.Abs(s.Mean[1][i]) > math.Abs(alone.Mean[1][i]) {
			larger++
		}
	}
	if larger > s.Rows/4 {
		t.Errorf("x2 has more with a copy than alone on %d of %d rows", larger, s.Rows)
	}
}

// TestIndependentNormals: at ρ = 0 every term is a game of its own columns alone.
func TestIndependentNormals(t *testing.T) {
	s, err := GenerateCorrelated("gauss", 500, 4, 0)
	if err != nil {
		t.Fatal(err)
	}
	if s.Base != 0 {
		t.Errorf("base %g, want 0", s.Base)
	}
	for i := range s.Rows {
		x1, x2, x3 := s.X[0][i], s.X[1][i], s.X[2][i]
		for d, want := range []float64{x1 + x1*x3/4, 0.8 * x2, x1 * x3 / 4, 0, 0} {
			if got := s.Mean[d][i]; !scalar.EqualWithinAbs(got, want, exact) {
				t.Fatalf("row %d: φ_%d = %g, want %g", i, d+1, got, want)
			}
		}
	}
}

// TestNormalsFollowTheirLaw checks the rows themselves: moments of columns, and of what y has beyond its expectation.
func TestNormalsFollowTheirLaw(t *testing.T) {
	const rows, bound = 20_000, 4 / 141. // four standard errors of a mean of products of independent columns
	for _, rho := range []float64{0, 0.5, 0.9} {
		s, err := GenerateCorrelated("null", rows, 5, rho)
		if err != nil {
			t.Fatal(err)
		}
		noise := make([]float64, rows)
		for i, y := range s.Y {
			noise[i] = (y - s.Expected[i]) / 0.5
			if s.NoiseStd[i] != 0.5 {
				t.Fatalf("noise_std %g, want 0.5", s.NoiseStd[i])
			}
		}
		all := slices.Concat(s.X, [][]float64{noise})
		for a := range all {
			if mean, std := stat.MeanStdDev(all[a], nil); math.Abs(mean) > bound || math.Abs(std-1) > bound {
				t.Errorf("ρ = %g: column %d has mean %.3f, sd %.3f", rho, a+1, mean, std)
			}
			for b := range a {
				want := 0.0
				if a < columns {
					want = rho
				}
				if got := stat.Correlation(all[a], all[b], nil); math.Abs(got-want) > bound {
					t.Errorf("ρ = %g: columns %d and %d correlate by %.3f", rho, b+1, a+1, got)
				}
			}
		}
	}
}

func TestNormalsShareTheirRows(t *testing.T) {
	gauss := generate(t, "gauss", 100, 6)
	for _, name := range []string{"copy", "null", "logit"} {
		s := generate(t, name, 100, 6)
		if !reflect.DeepEqual(s.X[:columns], gauss.X[:columns]) {
			t.Errorf("%s has other rows than gauss", name)
		}
		if name != "logit" && !reflect.DeepEqual(s.Y, gauss.Y) {
			t.Errorf("%s has another y than gauss", name)
		}
	}
	if !reflect.DeepEqual(generate(t, "null", 100, 6).Mean[:columns], gauss.Mean[:columns]) {
		t.Error("columns that do not matter change attributions of those that do")
	}
}

// TestLogitLabels: y − P(y = 1 | x) has mean 0, in the lower and the upper half of the score alike, and y has mean
// sigmoid(Base).
func TestLogitLabels(t *testing.T) {
	s := generate(t, "logit", 2000, 7)
	var residuals [3][]float64
	for i, y := range s.Y {
		if y != 0 && y != 1 || s.NoiseStd[i] != 0 {
			t.Fatalf("row %d: label %g, noise_std %g", i, y, s.NoiseStd[i])
		}
		half := 0
		if s.Expected[i] > 0 {
			half = 1
		}
		residuals[half] = append(residuals[half], y-sigmoid(s.Expected[i]))
		residuals[2] = append(residuals[2], y-sigmoid(s.Base))
	}
	for k, r := range residuals {
		if z := zScore(r); math.Abs(z) > 4 {
			t.Errorf("%d: labels are %.1f standard errors from their probabilities", k, z)
		}
	}
}

func TestGaps(t *testing.T) {
	s := generate(t, "gaps", 8000, 1)
	data, err := s.Table()
	if err != nil {
		t.Fatal(err)
	}
	truth, err := s.TruthTable()
	if err != nil {
		t.Fatal(err)
	}
	checkTable(t, truth, "row,mean_x1,mean_x2,mean_x3,mean_x4,mean_x5,noise_std,expected_y",
		map[string][]float64{"mean_x4": s.Mean[3], "noise_std": s.NoiseStd, "expected_y": s.Expected})

	var seen, lacks, noise []float64 // observed values, which cells are missing, (y − E[y | x]) / σ_0
	byMissing := map[int][]float64{} // noise by the number of missing cells
	for i := range s.Rows {
		missing := 0
		for d, name := range s.Columns {
			x, observed := data.Column(name).Numbers[i], data.Column(name).Observed[i]
			if observed {
				seen = append(seen, x)
				lacks = append(lacks, 0)
			} else {
				missing++
				lacks = append(lacks, 1)
			}
			if phi := s.Mean[d][i]; phi != x { // the table has 0 in missing cells
				t.Fatalf("row %d: x_%d is %g, φ_%d %g", i, d+1, x, d+1, phi)
			}
		}
		if want := math.Sqrt(0.09 + float64(missing)); !scalar.EqualWithinAbs(s.NoiseStd[i], want, exact) {
			t.Fatalf("row %d: noise_std %g with %d missing, want %g", i, s.NoiseStd[i], missing, want)
		}
		z := (s.Y[i] - s.Expected[i]) / s.NoiseStd[i]
		noise, byMissing[missing] = append(noise, z), append(byMissing[missing], z)
	}
	if share := stat.Mean(lacks, nil); math.Abs(share-0.5) > 0.01 {
		t.Errorf("%.3f of the cells are missing, want 0.5", share)
	}
	if mean, std := stat.MeanStdDev(seen, nil); math.Abs(mean) > 0.03 || math.Abs(std-1) > 0.02 {
		t.Errorf("observed cells have mean %.3f, sd %.3f", mean, std)
	}
	if r := stat.Correlation(noise, s.Expected, nil); math.Abs(r) > 0.045 {
		t.Errorf("the noise correlates with E[y | x] by %.3f", r)
	}
	for missing, z := range byMissing {
		n := math.Sqrt(float64(len(z)))
		if mean, std := stat.MeanStdDev(z, nil); math.Abs(mean) > 4/n || math.Abs(std-1) > 3/n {
			t.Errorf("%d missing: standardised noise has mean %.3f, sd %.3f in %d rows", missing, mean, std, len(z))
		}
	}
	if len(byMissing) != 6 {
		t.Errorf("rows lack %d different numbers of cells, want 0 to 5", len(byMissing))
	}
}

func TestGapsAgainstOrders(t *testing.T) {
	s := generate(t, "gaps", 20, 2)
	for i := range s.Rows {
		want := overOrders(len(s.X), func(coalition uint) (sum float64) { // E[y | cells], of mean 0 each
			for d := range s.X {
				if x := s.X[d][i]; coalition>>d&1 == 1 && !math.IsNaN(x) {
					sum += x
				}
			}
			return sum
		})
		for d := range s.X {
			if got := s.Mean[d][i]; !scalar.EqualWithinAbs(got, want[d], exact) {
				t.Errorf("row %d: φ_%d = %g, orders give %g", i, d+1, got, want[d])
			}
		}
	}
}
