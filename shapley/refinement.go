package shapley

import "math"

// refinement is how games of n players are refined under a prior: which coalitions are evaluated, in which order, and
// what each answer adds to the estimates.
//
// The answers y are jointly normal with the unknowns. They are whitened one by one with the Cholesky factor of their
// covariance, K = L Lᵀ, z = L⁻¹y. With u = L⁻¹ Cov(y, φ), the best linear estimates from the first p answers and their
// variances are
//
//	φ̂ = Σ_{i<p} u_i z_i,   Var(φ − φ̂) = Var φ − Σ_{i<p} u_i²
//
// so one pass over the answers gives the estimates after each of them.
type refinement struct {
	cov    *covariances
	n      int
	nugget float64
	design *Coalitions
	pairs  bool // also interactions

	complete bool // the design has all coalitions: the final estimates are exact

	observations []observation
	upTo         []int       // [evaluated coalitions]: number of their observations
	lower        [][]float64 // L
	phi          [][]float64 // u of φ [observation][player]
	pair         [][]float64 // u of I [observation][pair a < b]
}

const (
	// maxParts is the number of observations up to which a coalition contributes all its attributions instead of its
	// value alone: work grows with their cube.
	maxParts = 640

	// maxWhitened limits the coalitions that estimates use. More are evaluated only to enumerate all coalitions.
	maxWhitened = 2048

	// rounding is the variance of answers in single precision, relative to that of v(N).
	rounding = 1e-11
)

func newRefinement(p Prior, n, budget int, pairs bool) *refinement {
	r := &refinement{n: n, pairs: pairs, upTo: []int{0}}
	if r.complete = n <= MaxExact && budget >= 1<<n-1; !r.complete {
		budget = min(budget, maxWhitened)
	}
	r.design = newDesign(n, budget)
	r.cov = newCovariances(p, r.design)
	if r.nugget = rounding * r.cov.values(n, 0, 0); r.nugget == 0 {
		r.nugget = 1 // these games are constant
	}
	return r
}

// observe lists the observations of coalition s, the next one.
func (r *refinement) observe(s int) {
	add := func(kind observationKind, player int) {
		r.observations = append(r.observations, observation{kind, s, player})
	}
	size, n := r.design.Size(s), r.n
	switch {
	case s >= maxWhitened:
	case s == 0 || s > n && size > 1 && len(r.observations)+size <= maxParts:
		for player := range r.design.Members(s) {
			add(ofPart, player)
		}
	default:
		add(ofValue, 0)
	}
	if s == n && n > 2 {
		for player := range n - 1 { // the last is Σ_j v(N∖j) less the others
			add(ofAround, player)
		}
	}
}

// grow prepares the given number of coalitions.
func (r *refinement) grow(coalitions int) {
	for s := len(r.upTo) - 1; s < coalitions; s++ {
		r.observe(s)
		for i := len(r.lower); i < len(r.observations); i++ {
			r.factor(i)
		}
		r.upTo = append(r.upTo, len(r.observations))
	}
}

// factor appends row i of L and of u.
func (r *refinement) factor(i int) {
	a := r.observations[i]
	row := make([]float64, i+1)
	rest := r.cov.between(a, a) + r.nugget
	for j, before := range r.lower {
		k := r.cov.between(a, r.observations[j])
		row[j] = (k - dot(row[:j], before[:j])) / before[j]
		rest -= row[j] * row[j]
	}
	row[i] = math.Sqrt(max(rest, r.nugget))
	r.lower = append(r.lower, row)

	phi := make([]float64, r.n)
	for d := range phi {
		phi[d] = r.cov.phi(d, a)
	}
	r.phi = append(r.phi, solveRow(phi, row, r.phi))
	if !r.pairs {
		return
	}
	pair := make([]float64, 0, r.n*(r.n-1)/2)
	for d := range r.n {
		for e := d + 1; e < r.n; e++ {
			pair = append(pair, r.cov.pair(d, e, a))
		}
	}
	r.pair = append(r.pair, solveRow(pair, row, r.pair))
}

// solveRow returns the next row of L⁻¹C.
func solveRow(c, row []float64, before [][]float64) []float64 {
	for j, u := range before {
		for d, x := range u {
			c[d] -= row[j] * x
		}
	}
	last := row[len(row)-1]
	for d := range c {
		c[d] /= last
	}
	return c
}

func dot(a, b []float64) float64 {
	sum := 0.0
	for i, x := range a {
		sum += x * b[i]
	}
	return sum
}

// posterior holds the estimates of one output of one game.
type posterior struct {
	r         *refinement
	coalition int        // number of evaluated coalitions
	around    []float64  // Σ_j f_d(N∖j)
	whole     float64    // v(N)
	game      Enumerated // all attributions, if all coalitions will be evaluated
	z         []float64
	squares   float64 // Σ z²

	phi, phiVariance   []float64
	pair, pairVariance []float64
}

func (r *refinement) start() *posterior {
	p := &posterior{r: r, around: make([]float64, r.n), phi: make([]float64, r.n), phiVariance: make([]float64, r.n)}
	for d := range p.phiVariance {
		p.phiVariance[d] = r.cov.phiVariance()
	}
	if r.complete {
		p.game = Enumerated{Players: r.n, F: make([]float64, r.n<<r.n)}
	}
	if r.pairs {
		p.pair, p.pairVariance = make([]float64, r.n*(r.n-1)/2), make([]float64, r.n*(r.n-1)/2)
		for k := range p.pairVariance {
			p.pairVariance[k] = r.cov.pairVariance()
		}
	}
	return p
}

// take adds the network's attributions f, [player], of the next coalition.
func (p *posterior) take(f []float64) {
	r, s := p.r, p.coalition
	r.grow(s + 1)
	value := 0.0
	for _, x := range f {
		value += x
	}
	if s == 0 {
		p.whole = value
	}
	if s >= 1 && s <= r.n {
		for d, x := range f {
			p.around[d] += x
		}
	}
	if r.complete {
		copy(p.game.F[int(r.design.row(s)[0])*r.n:], f)
	}
	p.coalition++
	for _, o := range r.observations[r.upTo[s]:r.upTo[s+1]] {
		y := value
		switch o.kind {
		case ofPart:
			y = f[o.player]
		case ofAround:
			y = p.around[o.player]
		}
		p.whiten(y)
	}
	if r.complete && p.coalition == r.design.Len() {
		p.conclude()
	}
}

// conclude replaces estimates by exact values.
func (p *posterior) conclude() {
	phi, pair := p.game.truth()
	p.phi = phi
	clear(p.phiVariance)
	if n := p.r.n; p.r.pairs {
		clear(p.pairVariance)
		p.pair = p.pair[:0]
		for d := range n {
			p.pair = append(p.pair, pair[d*n+d+1:(d+1)*n]...)
		}
	}
}

func (p *posterior) whiten(y float64) {
	i := len(p.z)
	row := p.r.lower[i]
	z := (y - dot(p.z, row[:i])) / row[i]
	p.z = append(p.z, z)
	p.squares += z * z
	for d, u := range p.r.phi[i] {
		p.phi[d] += u * z
		p.phiVariance[d] -= u * u
	}
	if p.r.pairs {
		for k, u := range p.r.pair[i] {
			p.pair[k] += u * z
			p.pairVariance[k] -= u * u
		}
	}
}

// values returns the estimates of φ, with the rounding error of their sum divided equally.
func (p *posterior) values() []float64 {
	phi := make([]float64, len(p.phi))
	rest := p.whole
	for _, x := range p.phi {
		rest -= x
	}
	for d, x := range p.phi {
		phi[d] = x + rest/float64(len(phi))
	}
	return phi
}

// priorWeight is the number of answers with the same weight as the prior in the scale of a game.
const priorWeight = 10

// deviations returns standard deviations under the prior, scaled by the size of this game's answers relative to the
// prior's expectation.
func (p *posterior) deviations(variance []float64) []float64 {
	scale := math.Sqrt((p.squares + priorWeight) / float64(len(p.z)+priorWeight))
	list := make([]float64, len(variance))
	for d, v := range variance {
		list[d] = scale * math.Sqrt(max(0, v))
	}
	return list
}
