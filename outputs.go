package psi

import (
	"math"
	"slices"

	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/link"
)

// A network's outputs are in its own units: standard deviations of a numeric target, or scores of classes before
// calibration.

// unit returns the factor from the network's units to the model's.
func (m *Model) unit() float64 {
	if m.classes() {
		return m.manifest.Calibration.ofGame()
	}
	return m.manifest.Scale.Std
}

// bases returns φ_0 of each output, in the model's units.
func (m *Model) bases() []float64 {
	if !m.classes() {
		return []float64{m.manifest.Scale.Mean + m.manifest.Calibration.Level}
	}
	base := make([]float64, m.outputs())
	for c, v := range m.manifest.Scale.Base {
		base[c] = v * m.manifest.Calibration.ofBase()
	}
	return base
}

func (m *Model) classes() bool { return m.manifest.Task != Regression }

func (m *Model) outputs() int { return m.config.Outputs }

// outputNames returns the target, the positive class, or all classes.
func (m *Model) outputNames() []string {
	switch m.manifest.Task {
	case Binary:
		return m.manifest.Scale.Classes[1:]
	case Multiclass:
		return m.manifest.Scale.Classes
	}
	return []string{m.manifest.Target}
}

// scores returns base plus attributions [rows, C], in the model's units.
func (m *Model) scores(values []float32) []float64 {
	base, unit := m.bases(), m.unit()
	scores := make([]float64, len(values))
	for i, v := range values {
		scores[i] = base[i%len(base)] + unit*float64(v)
	}
	return scores
}

// link returns the link from scores to predictions. All predictions of numbers use it.
func (m *Model) link() explain.Link {
	return explain.Link{Scale: m.scale(), NonNegative: m.manifest.Scale.NonNegative}
}

// variances returns the variances of the scores [rows, C] in the model's units. For a number, σ_0² is calibrated.
func (m *Model) variances(x *form.Answer) []float64 {
	unit := m.unit()
	recalibrated := 0.0
	if !m.classes() {
		recalibrated = m.manifest.Calibration.Noise - m.own.NoiseVariance()[0]
	}
	variances := make([]float64, len(x.Variance))
	for i, v := range x.Variance {
		variances[i] = unit * unit * max(0, v+recalibrated)
	}
	return variances
}

// slopes returns κ of the rows; nil if it is 1 for all rows.
func (m *Model) slopes(b *encode.Batch) []float64 {
	return m.manifest.Calibration.slopes(observedShares(b))
}

// probabilities returns the probabilities of classes from scores [rows, C]: of the positive class [rows], or of all
// classes [rows, C]. It returns nil for a number. slopes is κ [rows], or nil. Missing cells are already marginalised in
// the scores, so h is left out.
func (m *Model) probabilities(scores []float64, x *form.Answer, slopes []float64) []float64 {
	if !m.classes() {
		return nil
	}
	variances := m.variances(x)
	for i, h := range x.HiddenVariance {
		variances[i] -= m.unit() * m.unit() * float64(h)
	}
	if slopes != nil {
		scores = slices.Clone(scores)
		base := m.bases()
		for i := range scores {
			kappa, phi0 := slopes[i/len(base)], base[i%len(base)]
			scores[i] = phi0 + kappa*(scores[i]-phi0)
			variances[i] *= kappa * kappa
		}
	}
	p := make([]float64, len(scores))
	if m.manifest.Task == Binary {
		for i, s := range scores {
			p[i] = link.LogisticNormal(s, math.Sqrt(max(0, variances[i])))
		}
		return p
	}
	c := m.outputs()
	for i := 0; i < len(scores); i += c {
		link.SoftmaxNormal(scores[i:i+c], variances[i:i+c], p[i:i+c])
	}
	return p
}
