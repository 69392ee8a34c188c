package explain

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

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
	ByDoubt  Interval = "doubt"  // epistemic uncertainty: variation over samples of training rows
	BySpread Interval = "spread" // variation of the column's contribution among rows like this one
)

// Interval returns ByDoubt if ModelStd is known, else BySpread.
func (e *Explanation) Interval() Interval {
	if e.ModelStd != nil {
		return ByDoubt
	}
	return BySpread
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
	if e.Interval() == BySpread {
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
// Std.
func (e *Explanation) Deviations() []float64 {
	if e.ModelStd != nil {
		return e.ModelStd
	}
	return e.Std
}

// Positives returns P(φ > 0) of all attributions.
func (e *Explanation) Positives() []float64 {
	l, std := e.law(), e.Deviations()
	all := make([]float64, len(e.Mean))
	for i, mean := range e.Mean {
		all[i] = l.positive(mean, std[i])
	}
	return all
}

// deviations returns those of a row.
func (e *Explanation) deviations(row, output int) []float64 {
	return e.of(e.Deviations(), row, output, len(e.Players))
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
