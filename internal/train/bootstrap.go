package train

import (
	"math"
)

// bootstrap is a bootstrap sample of a store: the weight of each row is multiplied by how often it was drawn.
type bootstrap struct {
	Store
	seed  uint64
	units []uint64
}

// Bootstrap draws each unit of a store a Poisson(1) number of times and multiplies the weights of its rows by that
// number. Rows of one unit are drawn together; without units each row is a unit. The weights are not rescaled, because
// AdamW steps do not depend on their sum.
func Bootstrap(rows Store, seed uint64, units []uint64) Store { return bootstrap{rows, seed, units} }

// Read returns rows [from, to).
func (b bootstrap) Read(from, to int) (Data, error) {
	d, err := b.Store.Read(from, to)
	if err != nil {
		return d, err
	}
	weight := make([]float32, len(d.Weight)) // a copy: the store's own weights stay unchanged
	for i, w := range d.Weight {
		unit := uint64(from + i)
		if b.units != nil {
			unit = b.units[from+i]
		}
		weight[i] = w * float32(poisson(scramble(b.seed^scramble(unit))))
	}
	d.Weight = weight
	return d, nil
}

// scramble is a bijection of words that maps neighbours to pseudorandom numbers: the finaliser of SplitMix64 (Steele,
// Lea and Flood 2014).
func scramble(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// poisson maps a uniform random word to a Poisson(1) number: the smallest k with F(k) = Σ_i≤k e⁻¹/i! above it.
func poisson(word uint64) (k int) {
	u, p := float64(word>>11)/(1<<53), math.Exp(-1)
	for sum := p; u >= sum && p > 0; sum += p {
		k++
		p /= float64(k)
	}
	return k
}
