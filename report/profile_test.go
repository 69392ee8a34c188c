package report

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/psi-shapley/psi/table"
)

// Few values have a bar each; many share bars of equal width, whose outermost hold what is far out.
func TestHistogram(t *testing.T) {
	if got := histogram([]float64{0, 0, 0, 1}); !slices.Equal(got, []Bar{{0, 0, 3}, {1, 1, 1}}) {
		t.Errorf("of 0 and 1: %v", got)
	}
	var hours, many []float64
	for i := range 240 {
		hours, many = append(hours, float64(i/10)), append(many, float64(i))
	}
	for i, bar := range histogram(hours) {
		if bar != (Bar{float64(i), float64(i), 10}) {
			t.Errorf("hour %d: %v", i, bar)
		}
	}
	for _, bar := range histogram(many)[:20] {
		if bar.Rows < 10 || bar.Rows > 13 || bar.High-bar.Low != math.Trunc(bar.High-bar.Low) {
			t.Errorf("whole numbers from %g to %g: %d rows", bar.Low, bar.High, bar.Rows)
		}
	}
	many = append(many, 1e9+.5)
	got, rows := histogram(many), 0
	for _, bar := range got {
		rows += bar.Rows
	}
	if len(got) != bars || rows != len(many) || got[bars-1].High > 300 || got[bars-1].Rows < 10 {
		t.Errorf("of many values: %v", got)
	}
}

// Without ties and gaps the rank correlation is 1 − 6Σd²/(n(n²−1)).
func TestRankCorrelation(t *testing.T) {
	const seed, n = 5, 60
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	x, y := make([]float64, n), make([]float64, n)
	for i := range x {
		x[i] = rng.NormFloat64()
		y[i] = math.Exp(x[i]) + rng.NormFloat64()
	}
	a, b := facetOf(table.NumberColumn("x", x, nil)), facetOf(table.NumberColumn("y", y, nil))
	squares := 0.0
	for i := range x {
		squares += (a.ranks[i] - b.ranks[i]) * (a.ranks[i] - b.ranks[i])
	}
	want := 1 - 6*squares/(n*(n*n-1))
	if got, measure := associate(a, b); math.Abs(got-want) > 1e-12 || measure != spearman {
		t.Errorf("%s %g, want %g", measure, got, want)
	}
	if pearson := stat.Correlation(a.ranks, b.ranks, nil); math.Abs(pearson-want) > 1e-12 {
		t.Errorf("ranks correlate by %g, want %g", pearson, want)
	}
}

// Cramér's V against the textbook: χ² from expected counts, then Bergsma's correction.
func TestCramersV(t *testing.T) {
	counts := [][]float64{{30, 10, 5}, {8, 40, 7}}
	var a, b []string
	for i, line := range counts {
		for j, n := range line {
			for range int(n) {
				a, b = append(a, string(rune('a'+i))), append(b, string(rune('x'+j)))
			}
		}
	}
	n, chi := 100.0, 0.0
	for _, line := range counts {
		for j, c := range line {
			ofLine, ofColumn := 0.0, counts[0][j]+counts[1][j]
			for _, v := range line {
				ofLine += v
			}
			expected := ofLine * ofColumn / n
			chi += (c - expected) * (c - expected) / expected
		}
	}
	const k, l = 2.0, 3.0
	phi := chi/n - (k-1)*(l-1)/(n-1)
	want := math.Sqrt(phi / min(k-(k-1)*(k-1)/(n-1)-1, l-(l-1)*(l-1)/(n-1)-1))
	got, measure := associate(facetOf(table.CategoryColumn("a", a, nil)), facetOf(table.CategoryColumn("b", b, nil)))
	if math.Abs(got-want) > 1e-12 || measure != cramer {
		t.Errorf("%s %g, want %g", measure, got, want)
	}
}

// Labels that decide a number give 1, labels that have nothing to do with it about 0, even if they are many.
func TestCorrelationRatio(t *testing.T) {
	const seed, n = 6, 600
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	numbers, same, none := make([]float64, n), make([]string, n), make([]string, n)
	for i := range numbers {
		group := rng.IntN(3)
		numbers[i] = float64(group)
		same[i], none[i] = string(rune('a'+group)), string(rune('a'+rng.IntN(26)))
	}
	y := facetOf(table.NumberColumn("y", numbers, nil))
	if got, measure := associate(facetOf(table.CategoryColumn("same", same, nil)), y); math.Abs(got-1) > 1e-12 || measure != ratio {
		t.Errorf("labels that decide a number: %s %g", measure, got)
	}
	if got, _ := associate(y, facetOf(table.CategoryColumn("none", none, nil))); got > .15 {
		t.Errorf("labels that have nothing to do with it: %g", got)
	}
}

// Rows that lack one of the two do not count; a few rows tell nothing, nor does a column that does not vary.
func TestAssociationOfLittle(t *testing.T) {
	const n = 100
	x, y, gaps := make([]float64, n), make([]float64, n), make([]bool, n)
	for i := range x {
		x[i], y[i], gaps[i] = float64(i), float64(i), i%2 == 0
		if !gaps[i] {
			y[i] = float64(-i)
		}
	}
	a := facetOf(table.NumberColumn("x", x, nil))
	if got, _ := associate(a, facetOf(table.NumberColumn("y", y, gaps))); math.Abs(got-1) > 1e-12 {
		t.Errorf("half of the rows fall the other way, but lack the column: %g", got)
	}
	if got, _ := associate(a, facetOf(table.NumberColumn("constant", make([]float64, n), nil))); !math.IsNaN(got) {
		t.Errorf("a constant: %g", got)
	}
	few := facetOf(table.NumberColumn("few", x[:minJoint-1], nil))
	if got, _ := associate(few, few); !math.IsNaN(got) {
		t.Errorf("a few rows: %g", got)
	}
}

// Labels that hardly two rows share tell nothing of other columns, whatever these are; labels of many rows do, though some are rare.
func TestAssociationOfNearlyUniqueLabels(t *testing.T) {
	const seed, n = 7, 1000
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	unique, other, town, region, numbers := make([]string, n), make([]string, n), make([]string, n), make([]string, n), make([]float64, n)
	for i := range n {
		unique[i] = strconv.Itoa(rng.IntN(20 * n))
		other[i] = "number " + unique[i]
		at := rng.IntN(20)
		town[i], region[i], numbers[i] = strconv.Itoa(at), strconv.Itoa(at/5), float64(at)
		if i%50 == 0 {
			town[i] = unique[i]
		}
	}
	columns := []*table.Column{
		table.CategoryColumn("unique", unique, nil), table.CategoryColumn("other", other, nil), table.CategoryColumn("town", town, nil),
		table.CategoryColumn("region", region, nil), table.NumberColumn("number", numbers, nil),
	}
	var got [][2]int
	for _, a := range associations(columns, []int{0, 1, 2, 3, 4}) {
		got = append(got, [2]int{a.A, a.B})
		if a.Value < .9 {
			t.Errorf("columns %d and %d are associated by %g only", a.A, a.B, a.Value)
		}
	}
	slices.SortFunc(got, func(a, b [2]int) int { return 10*(a[0]-b[0]) + a[1] - b[1] })
	if want := [][2]int{{2, 3}, {2, 4}, {3, 4}}; !slices.Equal(got, want) {
		t.Errorf("associated are %v, want %v", got, want)
	}
}
