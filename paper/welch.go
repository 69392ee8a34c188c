package main

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// paperFolds are behind each figure of the paper.
const paperFolds = 5

// reading is what the paper's ± may be. Its Table 2 calls it standard errors, the appendix standard deviations.
type reading string

const (
	asDeviation reading = "standard deviation"
	asError     reading = "standard error"
)

// figure is one of the paper, with what stands behind its ±.
type figure struct{ mean, after float64 }

// spread is the figure over folds by a reading.
func (f figure) spread(r reading) spread {
	s := spread{Mean: f.mean, SD: f.after, N: paperFolds}
	if r == asError {
		s.SD *= math.Sqrt(paperFolds)
	}
	return s
}

// welch is Welch's test of two independent samples whose variances may differ: t = (a − b) / √(s_a²/n_a + s_b²/n_b), and p of both
// sides by Student's distribution with the degrees of freedom of Welch and Satterthwaite. A sample of one has no variance: p is NaN.
func welch(a, b spread) (t, p float64) {
	if a.N < 2 || b.N < 2 {
		return math.NaN(), math.NaN()
	}
	va, vb := a.SD*a.SD/float64(a.N), b.SD*b.SD/float64(b.N)
	t = (a.Mean - b.Mean) / math.Sqrt(va+vb)
	freedom := (va + vb) * (va + vb) / (va*va/float64(a.N-1) + vb*vb/float64(b.N-1))
	return t, 2 * distuv.StudentsT{Sigma: 1, Nu: freedom}.CDF(-math.Abs(t))
}

// outcome of a comparison with the paper.
type outcome string

const (
	better outcome = "better"
	alike  outcome = "no difference"
	worse  outcome = "worse"
	untold outcome = "–"
)

// level of the tests.
const level = .05

// compared says whether ours differs from the paper's figure, and p. Lower is better where it is an error.
func compared(ours spread, paper figure, r reading, lower bool) (outcome, float64) {
	t, p := welch(ours, paper.spread(r))
	switch {
	case math.IsNaN(p):
		return untold, p
	case p >= level:
		return alike, p
	case t < 0 == lower:
		return better, p
	}
	return worse, p
}

// cell words an outcome.
func (o outcome) cell(p float64) string {
	if o == untold {
		return string(o)
	}
	return fmt.Sprintf("%s (p = %s)", o, short(p))
}
