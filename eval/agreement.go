package eval

import "math"

// Agreement compares attributions f with the Shapley values φ that they should be,
// pair by pair: those of one player or of all of them. The zero value is ready to
// use.
type Agreement struct {
	missed float64 // Σ (f − φ)²
	size   float64 // Σ φ²
	both   moments
}

// Add takes the attribution of one player in one row.
func (a *Agreement) Add(f, phi float64) {
	a.missed += (f - phi) * (f - phi)
	a.size += phi * phi
	a.both.add(f, phi, 1)
}

// RelativeRMSE is RMSE(f, φ) / RMS(φ) = √(Σ (f − φ)² / Σ φ²). It is NaN if all are
// zero.
func (a *Agreement) RelativeRMSE() float64 { return math.Sqrt(a.missed / a.size) }

// Correlation is Pearson's. It is NaN if f or φ is constant.
func (a *Agreement) Correlation() float64 {
	return a.both.xy / (math.Sqrt(a.both.xx) * math.Sqrt(a.both.yy))
}
