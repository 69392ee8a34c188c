package main

import (
	"math"
	"strings"
	"testing"
)

// Samples of the textbook kind, and what other programs say of them: t, its degrees of freedom and p, here by integration.
func TestWelchIsTheIntegral(t *testing.T) {
	for _, c := range []struct{ a, b []float64 }{
		{[]float64{1, 2, 3, 4, 5}, []float64{2, 4, 6, 8, 10}},
		{[]float64{.017, .021, .012, .024, .011}, []float64{.026, .028, .024, .026, .026}},
		{[]float64{3, 3.5}, []float64{1, 9, 2, 8, 5}},
	} {
		a, b := spreadOf(c.a), spreadOf(c.b)
		gotT, gotP := welch(a, b)
		// from sums of squares, not from deviations
		sums := func(x []float64) (n, mean, square float64) {
			n = float64(len(x))
			var sum, squares float64
			for _, v := range x {
				sum, squares = sum+v, squares+v*v
			}
			return n, sum / n, (squares - sum*sum/n) / (n - 1) / n
		}
		na, ma, qa := sums(c.a)
		nb, mb, qb := sums(c.b)
		near(t, "t", gotT, (ma-mb)/math.Sqrt(qa+qb), 1e-9)
		near(t, "p", gotP, studentTails(math.Abs(gotT), 1/(math.Pow(qa/(qa+qb), 2)/(na-1)+math.Pow(qb/(qa+qb), 2)/(nb-1))), 1e-6)
	}
	// R: t.test(1:5, 2*(1:5)) has t = -1.8974, df = 5.8824, p-value = 0.1075.
	gotT, gotP := welch(spreadOf([]float64{1, 2, 3, 4, 5}), spreadOf([]float64{2, 4, 6, 8, 10}))
	near(t, "t of two lines", gotT, -1.8974, 5e-5)
	near(t, "p of two lines", gotP, .1075, 5e-5)
	if _, p := welch(spread{Mean: 1, N: 1}, spread{Mean: 2, SD: 1, N: 5}); !math.IsNaN(p) {
		t.Errorf("p of one fold is %g", p)
	}
}

// studentTails is P(|T| > t), by Simpson's rule over the angle of T = √ν tan(angle), whose density is ∝ cos^(ν−1).
func studentTails(t, freedom float64) float64 {
	integral := func(from, to float64) (sum float64) {
		const n = 20000
		h := (to - from) / n
		for i := 0; i <= n; i++ {
			weight := float64(2 + i%2*2)
			if i == 0 || i == n {
				weight = 1
			}
			sum += weight * math.Pow(math.Cos(from+float64(i)*h), freedom-1) * h / 3
		}
		return sum
	}
	end := math.Pi/2 - 1e-9
	return integral(math.Atan(t/math.Sqrt(freedom)), end) / integral(0, end)
}

// The readings of ± decide, and so does which way is better.
func TestOutcomes(t *testing.T) {
	ours, paper := spread{Mean: .020, SD: .004, N: 5}, figure{.026, .002}
	for _, c := range []struct {
		as    reading
		lower bool
		want  outcome
	}{{asDeviation, true, better}, {asDeviation, false, worse}, {asError, true, alike}, {asError, false, alike}} {
		if got, p := compared(ours, paper, c.as, c.lower); got != c.want {
			t.Errorf("± as %s, lower is better %t: %s (p = %g), want %s", c.as, c.lower, got, p, c.want)
		}
	}
	if got, _ := compared(spread{Mean: .02, N: 1}, paper, asError, true); got != untold {
		t.Errorf("one fold is %s", got)
	}
	near(t, "deviation of a standard error", paper.spread(asError).SD, .002*math.Sqrt(5), 1e-15)
}

// Eight sets as in the paper's table, all but the restricted one with a task; the test of the text's reading counts.
func TestRowsOfTable2(t *testing.T) {
	rows, run := paperTable2(), 0
	for _, r := range rows {
		run += count(len(r.tasks) > 0)
		if (len(r.tasks) == 0) != (r.name == "ICU") {
			t.Errorf("%s has %d tasks", r.name, len(r.tasks))
		}
	}
	if len(rows) != 8 || run != 7 {
		t.Errorf("%d rows, %d of them run", len(rows), run)
	}
	verdict, text := table2Verdict(map[reading]map[outcome][]string{
		asDeviation: {better: {"A"}, worse: {"B"}}, asError: {alike: {"A", "B"}},
	})
	if want := "on 1 of 2 with ± as a standard deviation, 2 of 2 with ± as a standard error;"; !strings.Contains(verdict, want) || !strings.Contains(text, "worse on B.") || !strings.Contains(text, "better on none, not different on A, B,") {
		t.Errorf("%s\n%s", verdict, text)
	}
}
