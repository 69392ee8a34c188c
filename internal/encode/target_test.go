package encode_test

import (
	"math"
	"slices"
	"testing"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/table"
)

func TestTargetIsStandardised(t *testing.T) {
	y := []float64{2, 4, 4, 4, 5, 5, 7, 9}
	target := encode.FitTarget(y)
	if target.Mean != 5 || target.Std != 2 {
		t.Fatalf("mean %g and standard deviation %g, want 5 and 2", target.Mean, target.Std)
	}
	got := target.Encode([]float64{5, 9, 0})
	if want := []float32{0, 2, -2.5}; !slices.Equal(got, want) {
		t.Errorf("encoded %v, want %v", got, want)
	}
}

func TestConstantTargetHasAScale(t *testing.T) {
	for _, constant := range []float64{4, 0.1} {
		target := encode.FitTarget(slices.Repeat([]float64{constant}, 10))
		if math.Abs(target.Mean-constant) > 1e-15 || target.Std != 1 {
			t.Errorf("always %g: mean %g and standard deviation %g, want %g and 1", constant, target.Mean, target.Std, constant)
		}
	}
}

// Chunks of targets are measured as all of them at once; missing ones and rows that are
// not kept do not count.
func TestTargetInChunks(t *testing.T) {
	var f encode.TargetFitter
	for _, y := range [][]float64{{2, missing, 4, 4}, {4, 5, 1000}, {}, {5, 7, 9}} {
		err := f.Add(table.NumberColumn("y", y, nil), func(row int) bool { return y[row] != 1000 })
		if err != nil {
			t.Fatal(err)
		}
	}
	got, err := f.Finish()
	if want := encode.FitTarget([]float64{2, 4, 4, 4, 5, 5, 7, 9}); err != nil || got != want {
		t.Errorf("target %+v, error %v, want %+v", got, err, want)
	}
}

func TestFitTargetLeavesOutWhatIsNotFinite(t *testing.T) {
	got := encode.FitTarget([]float64{1, missing, 3, math.Inf(1), math.Inf(-1)})
	if want := (encode.Target{Mean: 2, Std: 1}); got != want {
		t.Errorf("target %+v, want %+v", got, want)
	}
}

func TestTargetErrors(t *testing.T) {
	var f encode.TargetFitter
	wantTableError(t, f.Add(table.CategoryColumn("y", []string{"a"}, nil), nil), "y", -1)
	if err := f.Add(table.NumberColumn("y", []float64{missing, missing}, nil), nil); err != nil {
		t.Fatal(err)
	}
	_, err := f.Finish()
	wantTableError(t, err, "y", -1)
	infinite := &table.Column{Name: "y", Observed: []bool{true, true}, Numbers: []float64{1, math.Inf(-1)}}
	wantTableError(t, f.Add(infinite, nil), "y", 1)
}
