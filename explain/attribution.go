package explain

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Attribution is the contribution of a player, a column or a group of columns, to a prediction. Numbers that do not
// apply are NaN.
type Attribution struct {
	Player        string
	Value         string // cell of the user's table as text; "" if missing or a group
	Observed      bool
	Mean, Std     float64
	Lower, Upper  float64 // interval about Mean by ModelStd or, if that is not known, by Std
	PPositive     float64 // P(φ > 0) under the same distribution; NaN if not observed
	PTop          float64 // P(|φ| is among the K largest of the observed players)
	StandardError float64 // sampling error of Mean; NaN unless Mean was sampled
	ModelStd      float64 // epistemic uncertainty: standard deviation of Mean over samples of training rows; NaN if unknown
}

// Attributions returns the attributions of all players to one output of one row, in player order.
func (e *Explanation) Attributions(row, output int) []Attribution {
	return e.attributions(row, output, newTop(e.Top), e.law())
}

// At returns the attribution of a column, or a group of columns, to the prediction of a row. found is false if there is
// no such row, output or column. An empty output selects the first output.
func (e *Explanation) At(row int, output, column string) (a Attribution, found bool) {
	k, d := 0, slices.Index(e.Players, column)
	if output != "" {
		k = slices.Index(e.Outputs, output)
	}
	if row < 0 || row >= e.Rows || k < 0 || d < 0 {
		return Attribution{}, false
	}
	return e.Attribution(row, k, d), true
}

// Attribution returns one of Attributions. It costs as much as all of them.
func (e *Explanation) Attribution(row, output, player int) Attribution {
	return e.Attributions(row, output)[player]
}

func (e *Explanation) attributions(row, output int, top *top, law law) []Attribution {
	list := make([]Attribution, len(e.Players))
	mean, std, observed := e.means(row, output), e.stds(row, output), e.observed(row)
	doubt, wide := e.deviations(row, output), make([]float64, len(list))
	for d, s := range doubt {
		wide[d] = law.width * s
	}
	pTop := top.probabilities(mean, wide, observed)
	for d := range list {
		a := Attribution{
			Player:        e.Players[d],
			Observed:      observed[d],
			Mean:          mean[d],
			Std:           std[d],
			Lower:         mean[d] - law.reach*doubt[d],
			Upper:         mean[d] + law.reach*doubt[d],
			PPositive:     math.NaN(),
			PTop:          pTop[d],
			StandardError: math.NaN(),
			ModelStd:      math.NaN(),
		}
		if column := e.Values[d]; column != nil {
			a.Value = column.Text(row)
		}
		if a.Observed {
			a.PPositive = law.positive(a.Mean, doubt[d])
		}
		if e.StandardError != nil {
			a.StandardError = e.of(e.StandardError, row, output, len(e.Players))[d]
		}
		if e.ModelStd != nil {
			a.ModelStd = e.of(e.ModelStd, row, output, len(e.Players))[d]
		}
		list[d] = a
	}
	return list
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// Doubt sets ModelStd from ByBag, the standard deviation of each attribution over the bags:
//
//	s² = Σ_m (φ^(m) − φ̄)² / (M − 1).
func (e *Explanation) Doubt() {
	if e.ByBag == nil {
		return
	}
	e.Bags = len(e.ByBag) / max(1, len(e.Mean))
	e.ModelStd = make([]float64, len(e.Mean))
	for i := range e.ModelStd {
		e.ModelStd[i] = deviation(e.ByBag[i*e.Bags : (i+1)*e.Bags])
	}
}

func deviation(values []float64) float64 {
	mean, squares := 0.0, 0.0
	for _, v := range values {
		mean += v / float64(len(values))
	}
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	return math.Sqrt(squares / float64(len(values)-1))
}

// Interval names the uncertainty that Lower and Upper of an attribution express.
type Interval string

// Values of Interval.
const (
	ByDoubt    Interval = "doubt"  // epistemic uncertainty: variation over samples of training rows
	BySpread   Interval = "spread" // variation of the column's contribution among rows like this one
	NoInterval Interval = "none"   // neither is known
)

// Interval returns ByDoubt if ModelStd is known, else BySpread if Std is.
func (e *Explanation) Interval() Interval {
	switch {
	case e.ModelStd != nil:
		return ByDoubt
	case e.Std != nil:
		return BySpread
	}
	return NoInterval
}

// law is the distribution of an attribution about its mean, in standard deviations. ModelStd is estimated from few
// bags, so the distribution is Student's t with one degree of freedom less than there are bags. For Std it is normal.
type law struct {
	freedom float64 // degrees of freedom; 0 means normal
	reach   float64 // half-width of an interval with the coverage of ∓ z of a normal distribution
	width   float64 // standard deviation
}

// minTail keeps intervals finite: beyond 21 standard deviations of a normal distribution, the probability outside
// rounds to 0.
const minTail = 1e-100

func (e *Explanation) law() law {
	if e.Interval() != ByDoubt {
		return law{reach: e.Z, width: 1}
	}
	l := law{freedom: float64(max(1, e.Bags-1))}
	l.reach = -l.t().Quantile(max(minTail, math.Erfc(e.Z/math.Sqrt2)/2))
	l.width = math.Sqrt(l.freedom / max(1, l.freedom-2))
	return l
}

func (l law) t() distuv.StudentsT { return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: l.freedom} }

// positive returns P(φ > 0).
func (l law) positive(mean, std float64) float64 {
	if l.freedom == 0 || std == 0 {
		return Positive(mean, std)
	}
	return l.t().CDF(mean / std)
}

// Reach returns the half-width of an attribution's interval, in units of Deviations.
func (e *Explanation) Reach() float64 { return e.law().reach }

// Deviations returns the standard deviations behind the intervals of attributions: ModelStd or, if that is unknown,
// Std. It returns nil if both are unknown.
func (e *Explanation) Deviations() []float64 {
	if e.ModelStd != nil {
		return e.ModelStd
	}
	return e.Std
}

// Positives returns P(φ > 0) of all attributions; NaN if their uncertainty is unknown.
func (e *Explanation) Positives() []float64 {
	l, std := e.law(), e.Deviations()
	all := make([]float64, len(e.Mean))
	for i, mean := range e.Mean {
		all[i] = math.NaN()
		if std != nil {
			all[i] = l.positive(mean, std[i])
		}
	}
	return all
}

// deviations returns those of a row; NaN if they are unknown.
func (e *Explanation) deviations(row, output int) []float64 {
	return e.orUnknown(e.Deviations(), row, output)
}

// between returns the standard deviation of the difference of two attributions of a row: over bags or, if these are
// unknown, as for independent ones.
func (e *Explanation) between(row, output, a, b int) float64 {
	if e.ByBag == nil {
		s := e.deviations(row, output)
		return math.Hypot(s[a], s[b])
	}
	bags, differences := e.of(e.ByBag, row, output, len(e.Players)*e.Bags), make([]float64, e.Bags)
	for m := range differences {
		differences[m] = bags[a*e.Bags+m] - bags[b*e.Bags+m]
	}
	return deviation(differences)
}

// Positive returns P(φ > 0) = Φ(mean/std) for φ ~ N(mean, std²). If std is 0, it is 0 or 1 by the sign of mean, and ½
// at mean 0.
func Positive(mean, std float64) float64 {
	if std == 0 {
		switch {
		case mean > 0:
			return 1
		case mean < 0:
			return 0
		case mean == 0:
			return 0.5
		}
	}
	return math.Erfc(-mean/std/math.Sqrt2) / 2
}

// upper returns 1 − Φ(z) and the density at z of N(0, 1) from one exponential. It is twice as fast as Erfc and Exp,
// which matters because p_top spends its time here. The tail is its ratio to the exponential, by Hart's rational
// function 5666 (Computer Approximations, 1968).
func upper(z float64) (tail, density float64) {
	x := math.Abs(z)
	if x > 7 { // beyond the range of the function the tail is negligible
		if z > 0 {
			return 0, 0
		}
		return 1, 0
	}
	e := math.Exp(-x * x / 2)
	above := (((((3.52624965998911e-2*x+0.700383064443688)*x+6.37396220353165)*x+33.912866078383)*x+
		112.079291497871)*x+221.213596169931)*x + 220.206867912376
	below := ((((((8.83883476483184e-2*x+1.75566716318264)*x+16.064177579207)*x+86.7807322029461)*x+
		296.564248779674)*x+637.333633378831)*x+793.826512519948)*x + 440.413735824752
	tail = e * above / below
	if z < 0 {
		tail = 1 - tail
	}
	return tail, e / math.Sqrt(2*math.Pi)
}

// PGreater returns P(φ_a > φ_b) of two players of a row: how certain the sign of their difference is. A player that is
// not observed has φ = 0. If both are 0 with certainty, the result is ½.
func (e *Explanation) PGreater(row, output, a, b int) float64 {
	mean := e.means(row, output)
	return e.law().positive(mean[a]-mean[b], e.between(row, output, a, b))
}

// PLarger returns P(|φ_a| > |φ_b|) of two players of a row: how certain it is that a matters more than b, in either
// direction. It is p_top with K = 1 among the two.
func (e *Explanation) PLarger(row, output, a, b int) float64 {
	mean, std, width := e.means(row, output), e.deviations(row, output), e.law().width
	return newTop(1).probabilities([]float64{mean[a], mean[b]}, []float64{width * std[a], width * std[b]}, []bool{true, true})[0]
}

// Effect is a part of a prediction: the main effect of a player, or the interaction of two.
type Effect struct {
	A, B  int // players; B is −1 for a main effect, else above A
	Value float64
}

// Effects splits the attributions of one output of a row into main effects and interactions. Each interaction index
// I_ij is divided equally between its two players,
//
//	main_i = φ_i − ½ Σ_j I_ij,
//
// so that the effects have the same sum as the attributions: Σ_i main_i + Σ_{i<j} I_ij = Σ_i φ_i. Players that are not
// observed have no effects. Effects needs Interactions.
func (e *Explanation) Effects(row, output int) []Effect {
	mean, observed := e.means(row, output), e.observed(row)
	var mains, pairs []Effect
	for a := range e.Players {
		if !observed[a] {
			continue
		}
		main := Effect{a, -1, mean[a]}
		for b := range e.Players {
			if b == a || !observed[b] {
				continue
			}
			v := e.Interactions[e.pairAt(row, output, a, b)]
			main.Value -= v / 2
			if a < b {
				pairs = append(pairs, Effect{a, b, v})
			}
		}
		mains = append(mains, main)
	}
	return append(mains, pairs...)
}
