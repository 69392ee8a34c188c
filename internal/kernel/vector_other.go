//go:build !amd64

package kernel

// available are the instructions that this CPU has.
func available() []instructions { return []instructions{portable} }

// There are vector loops for amd64 alone; elsewhere nothing asks for them.
func (instructions) vectorGemm(*product)                                               {}
func (instructions) vectorDots([]float32, int, []float32, int, []float32)              {}
func (instructions) vectorAddScaled([]float32, float32, []float32)                     {}
func (instructions) vectorWaves([]float32, float32, []float32)                         {}
func (instructions) vectorGains([]float32, int, int, []float32)                        {}
func (instructions) vectorPositive([]float32)                                          {}
func (instructions) vectorSoftplus([]float32)                                          {}
func (instructions) vectorSilu([]float32)                                              {}
func (instructions) vectorValue([]float32, [][]float32, [][]float32, []float32)        {}
func (instructions) vectorShares([]float32, [][]float32, [][]float32, rule, []float32) {}
