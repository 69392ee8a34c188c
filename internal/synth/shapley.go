package synth

// game is S ↦ E[y | x_S] for a process, with precomputed parts that do not depend on the row.
type game struct {
	process
	quadrature      *quadrature
	effectMean      [columns]float64 // E f_d(X_d)
	interactionMean []float64        // E f_ab(X_a, X_b)
	base            float64          // E y
}

func newGame(p process) *game {
	g := &game{process: p, quadrature: newQuadrature(), base: p.constant}
	for d, e := range p.effects {
		g.effectMean[d] = g.quadrature.mean(e.f, e.kinks)
		g.base += g.effectMean[d]
	}
	for _, t := range p.interactions {
		// E[f_ab | x_a] loses smoothness where, with x_a, a kink of f_ab leaves the domain at x_b = ±4.
		var kinks []float64
		if t.kinks != nil {
			kinks = t.kinks(halfWidth)
		}
		mean := g.quadrature.mean(func(xa float64) float64 { return g.givenA(t, xa) }, kinks)
		g.interactionMean = append(g.interactionMean, mean)
		g.base += mean
	}
	return g
}

// givenA returns E[f_ab(x_a, X_b)].
func (g *game) givenA(t interaction, xa float64) float64 {
	return g.givenOne(t, xa, func(xb float64) float64 { return t.f(xa, xb) })
}

// givenB returns E[f_ab(X_a, x_b)].
func (g *game) givenB(t interaction, xb float64) float64 {
	return g.givenOne(t, xb, func(xa float64) float64 { return t.f(xa, xb) })
}

// givenOne returns the mean of section, the term t with one argument held at x.
func (g *game) givenOne(t interaction, x float64, section func(float64) float64) float64 {
	var kinks []float64
	if t.kinks != nil {
		kinks = t.kinks(x)
	}
	return g.quadrature.mean(section, kinks)
}

// expected returns
//
//	E[y | x] = c + Σ_d f_d(x_d) + Σ_{a<b} f_ab(x_a, x_b).
func (g *game) expected(x [columns]float64) float64 {
	y := g.constant
	for d, e := range g.effects {
		y += e.f(x[d])
	}
	for _, t := range g.interactions {
		y += t.f(x[t.a], x[t.b])
	}
	return y
}

// shapley returns the Shapley values φ_d of S ↦ E[y | x_S]. Columns are independent, so each term of y is a game of its
// own players, and the values add up over terms:
//
//	φ_d = f_d − E f_d + Σ_{b≠d} ½ (E[f_db | x_d] − E f_db + f_db − E[f_db | x_b]).
//
// They are centred, E φ_d(X) = 0, and efficient, Σ_d φ_d + E y = E[y | x].
func (g *game) shapley(x [columns]float64) [columns]float64 {
	var phi [columns]float64
	for d, e := range g.effects {
		phi[d] = e.f(x[d]) - g.effectMean[d]
	}
	for i, t := range g.interactions {
		empty, both := g.interactionMean[i], t.f(x[t.a], x[t.b])
		onlyA, onlyB := g.givenA(t, x[t.a]), g.givenB(t, x[t.b])
		phi[t.a] += (onlyA - empty + both - onlyB) / 2
		phi[t.b] += (onlyB - empty + both - onlyA) / 2
	}
	return phi
}

// interaction returns the Shapley interaction indices of the pairs 12, 13 and 23. The joint contribution of a term of
// two columns does not depend on the other columns,
//
//	I_ab = f_ab − E[f_ab | x_a] − E[f_ab | x_b] + E f_ab,
//
// and terms of one column contribute nothing.
func (g *game) interaction(x [columns]float64) [columns]float64 {
	var index [columns]float64
	for i, t := range g.interactions {
		index[t.a+t.b-1] = t.f(x[t.a], x[t.b]) - g.givenA(t, x[t.a]) - g.givenB(t, x[t.b]) + g.interactionMean[i]
	}
	return index
}
