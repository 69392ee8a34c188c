package main

import (
	"fmt"
	"math"
	"strconv"
)

// spread is a mean over folds with its standard deviation.
type spread struct {
	Mean, SD float64
	N        int
}

func spreadOf(x []float64) spread {
	s := spread{N: len(x)}
	for _, v := range x {
		s.Mean += v / float64(len(x))
	}
	for _, v := range x {
		s.SD += (v - s.Mean) * (v - s.Mean)
	}
	s.SD = math.Sqrt(s.SD / max(1, float64(len(x)-1)))
	return s
}

// String is "0.123 ± 0.004", with the number of folds unless it is five.
func (s spread) String() string {
	switch {
	case s.N == 0:
		return "–"
	case s.N == 1:
		return short(s.Mean) + " [1]"
	case s.N == 5:
		return fmt.Sprintf("%s ± %s", short(s.Mean), short(s.SD))
	}
	return fmt.Sprintf("%s ± %s [%d]", short(s.Mean), short(s.SD), s.N)
}

// short is a number in three or four digits.
func short(x float64) string {
	switch a := math.Abs(x); {
	case math.IsNaN(x):
		return "–"
	case a != 0 && a < 1e-3:
		return strconv.FormatFloat(x, 'e', 1, 64)
	case a < 10:
		return strconv.FormatFloat(x, 'f', 3, 64)
	}
	return strconv.FormatFloat(x, 'f', 1, 64)
}

// full is a number for a file.
func full(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }

func rmse(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += (a[i] - b[i]) * (a[i] - b[i])
	}
	return math.Sqrt(sum / float64(len(a)))
}

// size is the root mean square.
func size(a []float64) float64 { return rmse(a, make([]float64, len(a))) }

// pick are the elements of x at the given places.
func pick(x []float64, at []int) []float64 {
	out := make([]float64, len(at))
	for i, k := range at {
		out[i] = x[k]
	}
	return out
}

// ratio is a/b, or NaN of nothing.
func ratio(a, b int) float64 {
	if b == 0 {
		return math.NaN()
	}
	return float64(a) / float64(b)
}
