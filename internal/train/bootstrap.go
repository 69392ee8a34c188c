package train

import (
	"math"
)

// bootstrap is a store as another sample of rows might have been: each row counts as often as it was drawn.
type bootstrap struct {
	Store
	seed  uint64
	units []uint64
}

// Bootstrap draws each unit of a store a Poisson(1) number of times, by which the weights of its rows are multiplied. Rows of one unit are
// drawn together; without units each row is one. Steps of AdamW do not depend on the sum of the weights, so it is left as it comes out.
func Bootstrap(rows Store, seed uint64, units []uint64) Store { return bootstrap{rows, seed, units} }

// Read is rows [from, to).
func (b bootstrap) Read(from, to int) (Data, error) {
	d, err := b.Store.Read(from, to)
	if err != nil {
		return d, err
	}
	weight := make([]float32, len(d.Weight)) // the store's own stay as they are
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

// scramble is a bijection of words under which neighbours are as random numbers: the finaliser of SplitMix64 (Steele, Lea and Flood 2014).
func scramble(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// poisson is the Poisson(1) number of a uniform random word: the least k of which F(k) = Σ_i≤k e⁻¹/i! exceeds it.
func poisson(word uint64) (k int) {
	u, p := float64(word>>11)/(1<<53), math.Exp(-1)
	for sum := p; u >= sum && p > 0; sum += p {
		k++
		p /= float64(k)
	}
	return k
}
