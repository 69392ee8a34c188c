package vector

import "unsafe"

// Lanes divides all lengths of vectors: the number of floats of the longest vector register.
const Lanes = 16

// Padded returns the next multiple of Lanes.
func Padded(n int) int { return (n + Lanes - 1) / Lanes * Lanes }

// Floats returns zeros that start at a multiple of a cache line, so that no vector crosses two lines.
func Floats(n int) []float32 {
	const line = 64 / 4
	all := make([]float32, n+line)
	skip := 0
	for uintptr(unsafe.Pointer(&all[skip]))%64 != 0 {
		skip++
	}
	return all[skip : skip+n : skip+n]
}

// Ones returns n ones.
func Ones(n int) []float32 {
	v := Floats(n)
	for i := range v {
		v[i] = 1
	}
	return v
}
