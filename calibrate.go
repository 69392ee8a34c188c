package psi

import (
	"context"
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/train"
)

// Calibration is what was made of a model's doubt on its validation rows, after training:
// of a number's σ_0² alone, never of σ_d, so that 90 % intervals hold 90 %; of classes one
// temperature that divides scores, base, attributions and σ_d alike, so that the log loss
// is least.
type Calibration struct {
	Noise       float64            `json:"noise"`       // σ_0², in variances of a numeric target
	Temperature float64            `json:"temperature"` // of classes; 1 for a number
	Before      map[string]float64 `json:"before"`      // metrics of the validation rows
	After       map[string]float64 `json:"after"`
}

// uncalibrated is what training found.
func uncalibrated(e *form.Ensemble) Calibration {
	return Calibration{Noise: e.NoiseVariance()[0], Temperature: 1}
}

// calibrate sets the model's calibration by validation rows.
func (m *Model) calibrate(ctx context.Context, d train.Data) error {
	m.manifest.Calibration = uncalibrated(m.own.Ensemble)
	before, err := m.measure(ctx, d)
	if err != nil {
		return err
	}
	x, err := m.own.Pass(ctx, d.Rows, form.Spread)
	if err != nil {
		return err
	}
	c := &m.manifest.Calibration
	if m.classes() {
		c.Temperature = m.temperature(x, d)
	} else {
		c.Noise = noiseFor(0.9, x, c.Noise, d)
	}
	after, err := m.measure(ctx, d)
	c.Before, c.After = before, after
	return err
}

// mostNoise ends the search for a σ_0² that there is none of.
const mostNoise = 1e12

// noiseFor is the σ_0² with which the central intervals hold a share of the targets, or 0 if
// they hold more without any.
func noiseFor(share float64, x *form.Answer, now float64, d train.Data) float64 {
	z := distuv.UnitNormal.Quantile((1 + share) / 2)
	covered := func(noise float64) float64 {
		inside, total := 0.0, 0.0
		for i, y := range d.Target {
			gap := float64(y) - float64(x.Value[i])
			if gap*gap <= z*z*(x.Variance[i]-now+noise) {
				inside += float64(d.Weight[i])
			}
			total += float64(d.Weight[i])
		}
		return inside / total
	}
	low, high := 0.0, 1.0
	for high < mostNoise && covered(high) < share {
		high *= 4
	}
	for range 60 {
		if middle := (low + high) / 2; covered(middle) < share {
			low = middle
		} else {
			high = middle
		}
	}
	if low == 0 {
		return 0
	}
	return high
}

// temperatureDoubt is the standard deviation of what is believed of log T before the rows are
// seen: few rows, or rows that are told apart without error, must not decide it alone.
const temperatureDoubt = 0.5

// temperature is the T that makes the log loss of the rows least.
func (m *Model) temperature(x *form.Answer, d train.Data) float64 {
	loss := func(logT float64) float64 {
		m.manifest.Calibration.Temperature = math.Exp(logT)
		p := m.probabilities(m.means(x.Value), x)
		sum := logT * logT / (2 * temperatureDoubt * temperatureDoubt)
		for i, y := range d.Target {
			sum -= float64(d.Weight[i]) * math.Log(max(m.probabilityOf(p, i, y), 1e-15))
		}
		return sum
	}
	return math.Exp(goldenSection(loss, -2, 2))
}

// probabilityOf is that of class y among the probabilities of row i.
func (m *Model) probabilityOf(p []float64, i int, y float32) float64 {
	if m.manifest.Task == Multiclass {
		return p[i*m.outputs()+int(y)]
	}
	if y == 1 {
		return p[i]
	}
	return 1 - p[i]
}

// goldenSection finds the minimum of a function with a single one in [a, b].
func goldenSection(f func(float64) float64, a, b float64) float64 {
	const ratio = 0.6180339887498949
	c, d := b-ratio*(b-a), a+ratio*(b-a)
	fc, fd := f(c), f(d)
	for b-a > 1e-4 {
		if fc < fd {
			b, d, fd = d, c, fc
			c = b - ratio*(b-a)
			fc = f(c)
		} else {
			a, c, fc = c, d, fd
			d = a + ratio*(b-a)
			fd = f(d)
		}
	}
	return (a + b) / 2
}
