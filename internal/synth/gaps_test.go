package synth

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/stat"
)

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
