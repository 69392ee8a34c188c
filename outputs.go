package psi

import (
	"math"
	"slices"

	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/link"
)

// A network's outputs are in units of its own: standard deviations of a numeric target, or
// scores of classes before their calibration.

// unit is what one of the network's units is in the model's.
func (m *Model) unit() float64 {
	if m.classes() {
		return m.manifest.Calibration.ofGame()
	}
	return m.manifest.Scale.Std
}

// bases are φ_0 of each output, in the model's units.
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

// outputNames are the target, the positive class, or all classes.
func (m *Model) outputNames() []string {
	switch m.manifest.Task {
	case Binary:
		return m.manifest.Scale.Classes[1:]
	case Multiclass:
		return m.manifest.Scale.Classes
	}
	return []string{m.manifest.Target}
}

// scores are what bases and attributions add up to [rows, C], in the model's units.
func (m *Model) scores(values []float32) []float64 {
	base, unit := m.bases(), m.unit()
	scores := make([]float64, len(values))
	for i, v := range values {
		scores[i] = base[i%len(base)] + unit*float64(v)
	}
	return scores
}

// link tells what scores predict. All predictions of numbers come from it.
func (m *Model) link() explain.Link {
	return explain.Link{Scale: m.scale(), NonNegative: m.manifest.Scale.NonNegative}
}

// variances of the scores [rows, C] in the model's units. Of a number, σ_0² is what
// calibration made it.
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

// slopes are κ of the rows; nil if it is 1 for all of them.
func (m *Model) slopes(b *encode.Batch) []float64 {
	return m.manifest.Calibration.slopes(observedShares(b))
}

// probabilities of classes from scores [rows, C]: of the positive class [rows], or of all
// [rows, C]; nil for a number. slopes are κ [rows], or nil. Over what a row lacks scores are averaged already, so that its h
// is left out.
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
