//go:build !amd64

package vector

// Available returns the instruction sets that this CPU supports.
func Available() []Set { return []Set{Portable} }

// Vector loops exist for amd64 only; other platforms never call these.
func (Set) matMul(*MatMul)                                   {}
func (Set) dots([]float32, int, []float32, int, []float32)   {}
func (Set) addScaled([]float32, float32, []float32)          {}
func (Set) waves([]float32, float32, []float32)              {}
func (Set) gains([]float32, int, int, []float32)             {}
func (Set) positive([]float32)                               {}
func (Set) softplus([]float32)                               {}
func (Set) silu([]float32)                                   {}
func (Set) value([]float32, *Pairs, []float32)               {}
func (Set) coefficients([]float32, *Pairs, int)              {}
func (Set) sharesOfPairs([]float32, *Pairs, Rule, []float32) {}
func (Set) shares([]float32, [][]float32, Rule, []float32)   {}

func (Set) products(*Products)                                        {}
func (Set) productsGradient(*ProductsGradient)                        {}
func (Set) tanhGradient([]float32, []float32, int, int, int, float32) {}
func (Set) positiveGradient([]float32, []float32)                     {}
func (Set) siluGradient([]float32, []float32)                         {}
func (Set) squaredSum([]float32) float32                              { return 0 }
func (Set) adam(*Adam)                                                {}
func (Set) transpose([]float32, int, []float32, int, int, int)        {}
func (Set) gather(*Gather)                                            {}
func (Set) scatter([]float32, []int32, []float32, []float32, int)     {}

func (Set) split(_, _, _, _ *Rows, _ float64)               {}
func (Set) grow(_, _ []Rows, _ *Branch)                     {}
func (Set) credit(_ *Rows, _, _ []Rows, _ *Branch)          {}
func (Set) leaf(_ *Rows, _, _ []Rows, _ float64, _ *Branch) {}
func (Set) slope(_, _ []Rows, _ *Branch)                    {}
func (Set) dot(_ *Rows, _, _ []Rows)                        {}
