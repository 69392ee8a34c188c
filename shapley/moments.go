package shapley

import (
	"math"
	"math/bits"
)

// Moments estimates a Prior from games whose coalitions are all known.
type Moments struct {
	shared, rounding, count []float64 // by |T|−1
	own, owns               []float64 // by |S|−1
	lagged, lags            float64   // products of the errors of a coalition with those of it without a player; and without a lag
}

// Add adds a game.
func (m *Moments) Add(g Enumerated) {
	n := g.Players
	for len(m.count) < n {
		m.shared, m.rounding, m.count = append(m.shared, 0), append(m.rounding, 0), append(m.count, 0)
		m.own, m.owns = append(m.own, 0), append(m.owns, 0)
	}
	v := make([]float64, 1<<n)
	largest := 0.0
	for s := range v {
		v[s] = g.value(s)
		largest = max(largest, math.Abs(v[s]))
	}
	m.addShared(n, v, largest)
	m.addOwn(g, v)
}

// addShared computes the l_T of v(N) − v(N∖U) = Σ_{∅≠T⊆U} l_T by Möbius inversion.
func (m *Moments) addShared(n int, v []float64, largest float64) {
	lost := make([]float64, len(v))
	for u := range lost {
		lost[u] = v[len(v)-1] - v[len(v)-1-u]
	}
	for j := range n {
		for u := range lost {
			if u>>j&1 == 1 {
				lost[u] -= lost[u^1<<j]
			}
		}
	}
	for T := 1; T < len(lost); T++ {
		k := bits.OnesCount(uint(T)) - 1
		m.shared[k] += lost[T] * lost[T]
		m.rounding[k] += largest * largest
		m.count[k]++
	}
}

// addOwn computes the network's errors by the recursion
//
//	φ_d(S) = [v(S) − v(S∖d) + Σ_{j∈S∖d} φ_d(S∖j)] / |S|
func (m *Moments) addOwn(g Enumerated, v []float64) {
	n := g.Players
	phi := make([]float64, n<<n)
	err := make([]float64, n<<n)
	for s := 1; s < 1<<n; s++ {
		size := bits.OnesCount(uint(s))
		squares, lagged := 0.0, 0.0
		for d := range n {
			if s>>d&1 == 0 {
				continue
			}
			at := s*n + d
			phi[at] = v[s] - v[s^1<<d]
			for j := range n {
				if j != d && s>>j&1 == 1 {
					phi[at] += phi[(s^1<<j)*n+d]
				}
			}
			phi[at] /= float64(size)
			err[at] = g.F[at] - phi[at]
			squares += err[at] * err[at]
			for j := range n {
				if j != d && s>>j&1 == 1 {
					lagged += err[at] * err[(s^1<<j)*n+d]
				}
			}
		}
		if size < 2 {
			continue
		}
		m.own[size-1] += squares
		m.owns[size-1] += float64(size - 1) // E Σ_d δ_d² = (|S|−1) Own
		if size > 2 {
			// For each j, E Σ_d δ_d(S) δ_d(S∖j) = (|S|−2) Own · Steady: all sizes count equally.
			ways := binomial(n, size) * float64(size*(size-2))
			m.lagged += lagged / ways
			m.lags += squares / float64(size-1) / binomial(n, size)
		}
	}
}

// singlePrecision is the approximate error of a value relative to the largest of its game.
const singlePrecision = 1e-7

// Prior returns the prior estimated from the games. Variances within the rounding error are 0.
func (m *Moments) Prior() Prior {
	p := Prior{Shared: make([]float64, len(m.count)), Own: make([]float64, len(m.count))}
	for k, count := range m.count {
		if x := m.shared[k] / count; x > m.rounding[k]/count*singlePrecision*singlePrecision*math.Ldexp(1, k+2) {
			p.Shared[k] = x
		}
		if m.owns[k] > 0 {
			p.Own[k] = m.own[k] / m.owns[k]
		}
	}
	if m.lags > 0 {
		p.Steady = min(max(m.lagged/m.lags, 0), 1)
	}
	return p
}
