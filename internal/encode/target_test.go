package encode_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/table"
)

// fitTarget learns a target from columns, one after the other.
func fitTarget(t *testing.T, asked encode.Task, positive string, columns ...*table.Column) encode.Target {
	t.Helper()
	target, _, err := chosen(asked, positive, columns...)
	if err != nil {
		t.Fatal(err)
	}
	return fitted(t, encode.NewTargetFitter(target), nil, columns...)
}

func fitted(t *testing.T, f *encode.TargetFitter, weights []float64, columns ...*table.Column) encode.Target {
	t.Helper()
	for _, c := range columns {
		if err := f.Add(c, weights, nil); err != nil {
			t.Fatal(err)
		}
	}
	target, err := f.Finish()
	if err != nil {
		t.Fatal(err)
	}
	if err := target.Validate(); err != nil {
		t.Error("a fitted target is not valid:", err)
	}
	return target
}

func wantEncoded(t *testing.T, target encode.Target, y *table.Column, rows []int, want ...float32) {
	t.Helper()
	got, err := target.Encode(y, rows)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.EqualFunc(got, want, func(a, b float32) bool { return a == b || a != a && b != b }) {
		t.Errorf("encoded %v, want %v", got, want)
	}
}

func TestRegressionIsStandardised(t *testing.T) {
	y := []float64{2, 4, 4, 4, 5, 5, 7, 9}
	target := encode.FitTarget(y)
	target.NonNegative = true // which FitTarget does not look at
	if fit := fitTarget(t, encode.Regression, "", numbers(y...)); !reflect.DeepEqual(fit, target) {
		t.Errorf("target %+v, want %+v", fit, target)
	}
	if target.Mean != 5 || target.Std != 2 || target.Outputs() != 1 {
		t.Fatalf("mean %g, standard deviation %g, %d outputs, want 5, 2 and 1", target.Mean, target.Std, target.Outputs())
	}
	wantEncoded(t, target, numbers(5, 9, missing, 0), nil, 0, 2, float32(math.NaN()), -2.5)
	wantEncoded(t, target, numbers(5, 9, 0, 7), []int{3, 0}, 1, 0)
	if got := target.Decode(-2.5); got != 0 {
		t.Errorf("-2.5 standard deviations are %g, want 0", got)
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
	f := encode.NewTargetFitter(encode.Target{Task: encode.Regression})
	for _, y := range [][]float64{{2, missing, 4, 4}, {4, 5, 1000}, {}, {5, 7, 9}} {
		err := f.Add(numbers(y...), nil, func(row int) bool { return y[row] != 1000 })
		if err != nil {
			t.Fatal(err)
		}
	}
	got, err := f.Finish()
	if want := encode.FitTarget([]float64{2, 4, 4, 4, 5, 5, 7, 9}); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("target %+v, error %v, want %+v", got, err, want)
	}
}

func TestFitTargetLeavesOutWhatIsNotFinite(t *testing.T) {
	got := encode.FitTarget([]float64{1, missing, 3, math.Inf(1), math.Inf(-1)})
	if want := (encode.Target{Task: encode.Regression, Mean: 2, Std: 1}); !reflect.DeepEqual(got, want) {
		t.Errorf("target %+v, want %+v", got, want)
	}
}

// Mean 1·1/4 + 3·3/4, variance E y² − mean² = 7 − 6.25.
func TestWeightedRegression(t *testing.T) {
	y := numbers(1, missing, 3, 100)
	f := encode.NewTargetFitter(encode.Target{Task: encode.Regression})
	if err := f.Add(y, []float64{0.5, 7, 1.5, 9}, func(row int) bool { return row < 3 }); err != nil {
		t.Fatal(err)
	}
	got, err := f.Finish()
	if err != nil || got.Mean != 2.5 || math.Abs(got.Std-math.Sqrt(0.75)) > 1e-15 {
		t.Errorf("target %+v, error %v, want mean 2.5 and standard deviation √0.75", got, err)
	}
}

func TestClassesAreEncoded(t *testing.T) {
	nan := float32(math.NaN())
	binary := fitTarget(t, encode.Auto, "", texts("yes", "no, never", "yes"))
	wantEncoded(t, binary, texts("yes", "yes", "no, never"), nil, 1, 1, 0)
	wantEncoded(t, binary, table.CategoryColumn("y", []string{"", "yes"}, []bool{false, true}), nil, nan, 1)
	turned := fitTarget(t, encode.Auto, "no, never", texts("yes", "no, never", "yes"))
	wantEncoded(t, turned, texts("yes", "yes", "no, never"), nil, 0, 0, 1)

	three := fitTarget(t, encode.Auto, "", texts("c", "b", "a"))
	wantEncoded(t, three, texts("z", "b", "a", "c", "b"), []int{4, 2, 3}, 1, 0, 2)
	if binary.Outputs() != 1 || three.Outputs() != 3 {
		t.Errorf("%d and %d outputs, want 1 and 3", binary.Outputs(), three.Outputs())
	}

	digits := fitTarget(t, encode.Multiclass, "", numbers(10, 9, 2.5))
	wantEncoded(t, digits, numbers(9, 10, 2.5, missing), nil, 1, 2, 0, nan)
	wantEncoded(t, digits, texts("9.0", "1e1", "2.50"), nil, 1, 2, 0) // read as text elsewhere
	zero := fitTarget(t, encode.Auto, "", numbers(0, 1))
	wantEncoded(t, zero, numbers(math.Copysign(0, -1), 1), nil, 0, 1)

	answer := fitTarget(t, encode.Auto, "", booleans([]string{"No", "Yes"}, true, false))
	wantEncoded(t, answer, booleans([]string{"No", "Yes"}, true, false), nil, 1, 0)
	wantEncoded(t, answer, booleans([]string{"NO", "YES"}, true, false), nil, 1, 0)
	wantEncoded(t, answer, booleans(nil, true, false), nil, 1, 0)
	no := fitTarget(t, encode.Auto, "No", booleans([]string{"No", "Yes"}, true, false))
	wantEncoded(t, no, booleans(nil, true, false), nil, 0, 1)

	dates := fitTarget(t, encode.Auto, "", times(2, 1))
	wantEncoded(t, dates, times(2, 1, 1), nil, 1, 0, 0)
}

func TestLabelsThatAreNoClass(t *testing.T) {
	for _, c := range []struct {
		target encode.Target
		y      *table.Column
		says   string
	}{
		{fitTarget(t, encode.Auto, "", texts("b", "a")), texts("a", "c"), `"c" is not among the classes of the model, "a" and "b"`},
		{fitTarget(t, encode.Auto, "", numbers(1, 2)), numbers(2, 3), `"3"`},
		{fitTarget(t, encode.Auto, "", booleans(nil, true, false)), texts("true", "maybe"), `"maybe"`},
		{fitTarget(t, encode.Auto, "", count(100, name)), texts("050", "100"), `"005" … (100)`},
		{encode.FitTarget([]float64{1, 2}), texts("1", "2"), "text"},
		{encode.FitTarget([]float64{1, 2}), &table.Column{Name: "y", Observed: []bool{false, true}, Numbers: []float64{1, math.NaN()}}, "finite"},
	} {
		_, err := c.target.Encode(c.y, []int{1})
		wantTableError(t, err, "y", 1)
		if !strings.Contains(err.Error(), c.says) {
			t.Errorf("the error %q does not say %s", err, c.says)
		}
	}
}

// The base is the score of a model that knows the shares alone: its sigmoid, or softmax,
// gives them back.
func TestBaseGivesTheShares(t *testing.T) {
	rng := newRand(t)
	for _, classes := range []int{2, 3, 100} {
		var labels []string
		var weights []float64
		shares, total := make([]float64, classes), 0.0
		for i := range 40 * classes {
			k := i % classes
			if i >= classes {
				k = int(float64(classes) * rng.Float64() * rng.Float64())
			}
			w := rng.ExpFloat64() + 1e-3
			labels, weights = append(labels, name(k)), append(weights, w)
			shares[k] += w
			total += w
		}
		y := texts(labels...)
		target, _, err := chosen(encode.Auto, "", y)
		if err != nil {
			t.Fatal(err)
		}
		target = fitted(t, encode.NewTargetFitter(target), weights, y)
		scores := target.Base
		if classes == 2 {
			scores = []float64{0, target.Base[0]}
		}
		if len(scores) != classes || len(target.Base) != target.Outputs() {
			t.Fatalf("%d classes: a base of %d numbers for %d outputs", classes, len(target.Base), target.Outputs())
		}
		sum, ofScores := 0.0, 0.0
		for _, s := range scores {
			sum += math.Exp(s)
			ofScores += s
		}
		for k, s := range scores {
			if got, want := math.Exp(s)/sum, shares[k]/total; math.Abs(got-want) > 1e-12 {
				t.Errorf("%d classes: the base gives class %d a share of %g, want %g", classes, k, got, want)
			}
		}
		if classes > 2 && math.Abs(ofScores) > 1e-9 {
			t.Errorf("%d classes: scores add up to %g", classes, ofScores)
		}
	}
}

// Three rows of a, one of b, half a row of c: shares 6 : 2 : 1.
func TestClassWithoutTrainingRows(t *testing.T) {
	validation := texts("c", "a")
	y := texts("a", "a", "b", "a")
	target, _, err := chosen(encode.Auto, "", y, validation)
	if err != nil {
		t.Fatal(err)
	}
	for _, weight := range []float64{1, 0.25, 64} {
		f := encode.NewTargetFitter(target)
		got := fitted(t, f, slices.Repeat([]float64{weight}, 4), y)
		if want := []string{"c"}; !slices.Equal(f.Absent(), want) {
			t.Errorf("classes %v are without training rows, want %v", f.Absent(), want)
		}
		mean := (math.Log(6) + math.Log(2) + math.Log(1)) / 3
		for k, share := range []float64{6, 2, 1} {
			if want := math.Log(share) - mean; math.Abs(got.Base[k]-want) > 1e-12 {
				t.Errorf("weight %g: base %d is %g, want %g", weight, k, got.Base[k], want)
			}
		}
	}
	two, _, err := chosen(encode.Auto, "", texts("a", "a", "a"), texts("b"))
	if err != nil {
		t.Fatal(err)
	}
	if got := fitted(t, encode.NewTargetFitter(two), nil, texts("a", "a", "a")); math.Abs(got.Base[0]+math.Log(6)) > 1e-12 {
		t.Errorf("log odds %v, want those of 1 : 6", got.Base)
	}
}

func TestTargetErrors(t *testing.T) {
	f := encode.NewTargetFitter(encode.Target{Task: encode.Regression})
	wantTableError(t, f.Add(texts("a"), nil, nil), "y", 0)
	if err := f.Add(numbers(missing, missing), nil, nil); err != nil {
		t.Fatal(err)
	}
	_, err := f.Finish()
	wantTableError(t, err, "y", -1)
	infinite := &table.Column{Name: "y", Observed: []bool{true, true}, Numbers: []float64{1, math.Inf(-1)}}
	wantTableError(t, f.Add(infinite, nil, nil), "y", 1)
	classes := encode.NewTargetFitter(encode.Target{Task: encode.Binary, Kind: table.Category, Classes: []string{"a", "b"}})
	wantTableError(t, classes.Add(texts("a", "b", "c"), nil, nil), "y", 2)
}

func TestTargetSurvivesJSON(t *testing.T) {
	for _, want := range []encode.Target{
		fitTarget(t, encode.Auto, "", numbers(1.25, 2, 3)),
		fitTarget(t, encode.Auto, "a", texts("a", "\u2028", "a")),
		fitTarget(t, encode.Multiclass, "", numbers(3, 1e30, -2)),
		fitTarget(t, encode.Auto, "", booleans([]string{"no", "yes"}, true, false)),
	} {
		stored, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got encode.Target
		if err := json.Unmarshal(stored, &got); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) || got.Validate() != nil {
			t.Errorf("%s is %+v, want %+v", stored, got, want)
		}
	}
}

func ExampleTarget() {
	y := table.CategoryColumn("smoker", []string{"yes, daily", "never", "never", "never"}, nil)
	var labels encode.Labels
	if err := labels.Add(y, nil); err != nil {
		panic(err)
	}
	target, _, err := labels.Target(encode.Auto, "")
	if err != nil {
		panic(err)
	}
	fitter := encode.NewTargetFitter(target)
	if err := fitter.Add(y, nil, nil); err != nil {
		panic(err)
	}
	if target, err = fitter.Finish(); err != nil {
		panic(err)
	}
	encoded, err := target.Encode(y, nil)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s %q base %.3f\n", target.Task, target.Classes, target.Base)
	fmt.Println(encoded)
	// Output:
	// binary ["never" "yes, daily"] base [-1.099]
	// [1 0 0 0]
}

func TestNonNegativeTargets(t *testing.T) {
	for _, c := range []struct {
		y    []float64
		want bool
	}{{[]float64{0, 1, 2, 3}, true}, {[]float64{3, 1, 2, -0.5}, false}, {[]float64{-1, 1, 2}, false}} {
		if got := fitTarget(t, encode.Regression, "", numbers(c.y...)).NonNegative; got != c.want {
			t.Errorf("%v is never negative: %v, want %v", c.y, got, c.want)
		}
	}
	if fitTarget(t, encode.Binary, "", numbers(0, 1, 0, 1)).NonNegative {
		t.Error("classes have a sign")
	}
}

func TestTargetsOnTheScaleOfTheLog(t *testing.T) {
	y := []float64{1, 10, 100, 1000, 0.01}
	mean, logs, squares := 0.0, 0.0, 0.0
	for _, v := range y {
		mean, logs = mean+v/5, logs+math.Log(v)/5
	}
	for _, v := range y {
		squares += math.Pow(math.Log(v)-logs, 2) / 5
	}
	var plain encode.Target
	for link, start := range map[encode.Link]float64{encode.LogMean: math.Log(mean), encode.Log: logs} {
		fitter := encode.NewTargetFitter(encode.Target{Task: encode.Regression, Link: link, NonNegative: true})
		if err := fitter.Add(numbers(y...), nil, nil); err != nil {
			t.Fatal(err)
		}
		target, err := fitter.Finish()
		if err != nil {
			t.Fatal(err)
		}
		if err := target.Validate(); err != nil {
			t.Error(err)
		}
		if math.Abs(target.Mean-start) > 1e-12 || math.Abs(target.Std-math.Sqrt(squares)) > 1e-12 {
			t.Errorf("%s: mean %g, standard deviation %g, want %g and %g", link, target.Mean, target.Std, start, math.Sqrt(squares))
		}
		if want := map[encode.Link]float64{encode.LogMean: target.Std}[link]; target.LogStd() != want {
			t.Errorf("%s: LogStd %g, want %g", link, target.LogStd(), want)
		}
		encoded, err := target.Encode(numbers(y...), nil)
		if err != nil {
			t.Fatal(err)
		}
		plain = fitter.Plain()
		for i, v := range encoded {
			if want := (math.Log(y[i]) - start) / target.Std; math.Abs(float64(v)-want) > 1e-6 {
				t.Errorf("%s: %g is encoded as %g, want %g", link, y[i], v, want)
			}
			if back := target.Decode(v); math.Abs(back/y[i]-1) > 1e-5 {
				t.Errorf("%s: %g is decoded as %g", link, y[i], back)
			}
			if got, want := plain.Recode(v, target), (y[i]-plain.Mean)/plain.Std; math.Abs(float64(got)-want) > 1e-5 {
				t.Errorf("%s: %g is recoded as %g, want %g", link, y[i], got, want)
			}
		}
	}
	if plain.Link != encode.IdentityLink || math.Abs(plain.Mean-mean) > 1e-9 {
		t.Errorf("in its own units the target is %+v, want the mean %g", plain, mean)
	}
}

func TestSkewedTargets(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	draw := func(of func() float64) []float64 {
		list := make([]float64, 2000)
		for i := range list {
			list[i] = of()
		}
		return list
	}
	even := draw(func() float64 { return 5 + rng.Float64() })
	prices := draw(func() float64 { return math.Exp(rng.NormFloat64()) })
	for _, c := range []struct {
		what string
		y    []float64
		want bool
	}{
		{"even", even, false},
		{"prices", prices, true},
		{"prices with a 0", append([]float64{0}, prices...), false},
		{"prices and a debt", append([]float64{-1}, prices...), false},
	} {
		var l encode.Labels
		if err := l.Add(numbers(c.y...), nil); err != nil {
			t.Fatal(err)
		}
		if l.Skewed() != c.want {
			t.Errorf("%s, skewness %g: skewed %v, want %v", c.what, l.Skewness(), l.Skewed(), c.want)
		}
		if want := stat.Skew(c.y, nil); math.Abs(l.Skewness()/want-1) > 0.01 { // stat's corrects for the number of rows
			t.Errorf("%s: skewness %g, want %g", c.what, l.Skewness(), want)
		}
	}
}
