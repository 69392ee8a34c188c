package encode

import "math"

// skewness computes the skewness of a stream of numbers, √n Σδ³/(Σδ²)^1.5 with δ the distance from the mean, by updates
// of central moments (Pébay, 2008).
type skewness struct{ n, mean, squares, cubes float64 }

func (s *skewness) add(v float64) {
	s.n++
	from := v - s.mean
	step := from / s.n
	square := from * step * (s.n - 1)
	s.mean += step
	s.cubes += square*step*(s.n-2) - 3*step*s.squares
	s.squares += square
}

// value returns NaN for a constant, and for numbers so large that their cubes overflow.
func (s *skewness) value() float64 { return math.Sqrt(s.n) * s.cubes / math.Pow(s.squares, 1.5) }
