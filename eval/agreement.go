package eval

import "math"

// Agreement compares attributions f with Shapley values φ over pairs of both, of a single player or of all. The zero
// value is ready to use. It is not safe for concurrent use.
type Agreement struct {
	missed float64 // Σ (f − φ)²
	size   float64 // Σ φ²
	both   moments
}

// Add adds the attribution and the Shapley value of a player in a row.
func (a *Agreement) Add(f, phi float64) {
	a.missed += (f - phi) * (f - phi)
	a.size += phi * phi
	a.both.add(f, phi, 1)
}

// RelativeRMSE returns RMSE(f, φ) / RMS(φ) = √(Σ (f − φ)² / Σ φ²). It is NaN if all values are zero.
func (a *Agreement) RelativeRMSE() float64 { return math.Sqrt(a.missed / a.size) }

// Correlation returns Pearson's correlation. It is NaN if f or φ is constant.
func (a *Agreement) Correlation() float64 {
	return a.both.xy / (math.Sqrt(a.both.xx) * math.Sqrt(a.both.yy))
}
