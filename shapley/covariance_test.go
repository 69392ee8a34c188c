package shapley

import (
	"math"
	"math/bits"
	"testing"
)

// TestCovariancesAreTheSums holds the covariances to their definition: those of v(S), f_d(S) and
// Σ_{j≠d} f_d(N∖j), of φ_d and I_de, each written as a sum of all l_T and all errors δ_e(S), and multiplied out.
func TestCovariancesAreTheSums(t *testing.T) {
	const n = 5
	const whole = 1<<n - 1
	p := Prior{Shared: []float64{1, 0.5, 0.2, 0.3, 0.1}, Own: []float64{0, 0.4, 0.3, 0.2}, Steady: 0.7}
	type functional struct {
		l     [1 << n]float64 // factor of l_T
		delta [n << n]float64 // factor of δ_d(S) at S·n+d
	}
	size := func(s uint) float64 { return float64(bits.OnesCount(s)) }
	add := func(x *functional, y functional, sign float64) {
		for at := range x.l {
			x.l[at] += sign * y.l[at]
		}
		for at := range x.delta {
			x.delta[at] += sign * y.delta[at]
		}
	}
	value := func(s uint) (x functional) {
		for T := range x.l {
			if uint(T)&s != 0 {
				x.l[T] = 1
			}
		}
		return x
	}
	// φ_d of the game among S, and I_de, as sums over coalitions.
	phi := func(s uint, d int) (x functional) {
		w := weights(bits.OnesCount(s))
		for sub := uint(0); sub <= whole; sub++ {
			if sub&^s == 0 && sub>>d&1 == 0 {
				add(&x, value(sub|1<<d), w[bits.OnesCount(sub)])
				add(&x, value(sub), -w[bits.OnesCount(sub)])
			}
		}
		return x
	}
	pair := func(d, e int) (x functional) {
		w, both := weights(n-1), uint(1<<d|1<<e)
		for sub := uint(0); sub <= whole; sub++ {
			if sub&both != 0 {
				continue
			}
			k := w[bits.OnesCount(sub)]
			add(&x, value(sub|both), k)
			add(&x, value(sub|1<<d), -k)
			add(&x, value(sub|1<<e), -k)
			add(&x, value(sub), k)
		}
		return x
	}
	part := func(s uint, d int) functional {
		x := phi(s, d)
		x.delta[int(s)*n+d] = 1
		return x
	}
	covariance := func(x, y functional) (c float64) {
		for T := uint(1); T <= whole; T++ {
			c += x.l[T] * y.l[T] * p.Shared[bits.OnesCount(T)-1]
		}
		for at, a := range x.delta {
			for to, b := range y.delta {
				if a == 0 || b == 0 {
					continue
				}
				s, d, other, e := uint(at/n), at%n, uint(to/n), to%n
				share := 0.0
				for j := range n {
					if s&other>>j&1 == 1 {
						one := func(is bool) float64 {
							if is {
								return 1
							}
							return 0
						}
						share += (one(j == d) - 1/size(s)) * (one(j == e) - 1/size(other))
					}
				}
				own := func(s uint) float64 { return p.Own[min(bits.OnesCount(s), len(p.Own))-1] }
				c += a * b * share * math.Sqrt(own(s)*own(other)) * math.Pow(p.Steady, size(s^other))
			}
		}
		return c
	}

	design := newDesign(n, whole)
	if design.Len() != whole {
		t.Fatalf("%d coalitions, want all %d", design.Len(), whole)
	}
	cov := newCovariances(p, design)
	var observations []observation
	var functionals []functional
	see := func(o observation, x functional) {
		observations, functionals = append(observations, o), append(functionals, x)
	}
	for i := range design.Len() {
		s := uint(design.row(i)[0])
		see(observation{ofValue, i, 0}, value(s))
		for d := range design.Members(i) {
			see(observation{ofPart, i, d}, part(s, d))
		}
	}
	for d := range n {
		var around functional
		for j := range n {
			if j != d {
				add(&around, part(whole&^(1<<j), d), 1)
			}
		}
		see(observation{ofAround, n, d}, around)
	}
	same := func(what string, got, want float64) {
		if math.Abs(got-want) > 1e-12*(1+math.Abs(want)) {
			t.Errorf("%s is %g, want %g", what, got, want)
		}
	}
	for i, a := range observations {
		for j, b := range observations {
			same("covariance of observations", cov.between(a, b), covariance(functionals[i], functionals[j]))
		}
		for d := range n {
			same("covariance with φ", cov.phi(d, a), covariance(phi(whole, d), functionals[i]))
			for e := range d {
				same("covariance with I", cov.pair(e, d, a), covariance(pair(e, d), functionals[i]))
			}
		}
		if t.Failed() {
			t.Fatalf("of %+v", a)
		}
	}
	same("variance of φ", cov.phiVariance(), covariance(phi(whole, 2), phi(whole, 2)))
	same("variance of I", cov.pairVariance(), covariance(pair(1, 2), pair(1, 2)))
}

// TestDesignsAskNothingTwice, and a budget is kept.
func TestDesignsAskNothingTwice(t *testing.T) {
	for n := range 30 {
		for _, budget := range []int{1, n, 4 * n, 20 * n} {
			s := newDesign(n, budget)
			most := math.Ldexp(1, n) - 1
			if n == 0 {
				most = 1
			}
			if s.Len() > max(1, budget) || float64(s.Len()) < min(most, float64(budget)-1) {
				t.Errorf("%d players, budget %d: %d coalitions", n, budget, s.Len())
			}
			seen := map[string]bool{}
			for i := range s.Len() {
				if key := wordsKey(s.row(i)); seen[key] || n > 0 && s.Size(i) == 0 {
					t.Errorf("%d players: coalition %d is empty or asked twice", n, i)
				} else {
					seen[key] = true
				}
			}
		}
	}
}
