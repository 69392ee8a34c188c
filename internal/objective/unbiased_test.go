package objective_test

import (
	"math"
	"testing"

	"github.com/psi-shapley/psi/internal/engine"
	"github.com/psi-shapley/psi/internal/objective"
)

// allDraws holds a row for all that may be drawn, weighted by its probability: the
// player d, and two coalitions of players before it. f are the attributions of the
// row as observed, whose players are those of whole.
func allDraws(g game, whole coalition, f []float64, copies int) *batch {
	b := &batch{copies: copies, outputs: g.outputs, players: g.players}
	for d := range g.players {
		if !whole.has(d) {
			continue
		}
		pick := coalition(1) << d
		for _, first := range predecessors(whole, d) {
			for _, second := range predecessors(whole, d) {
				all := []evaluated{
					objective.Observed:  {whole, f},
					objective.Masked:    g.evaluate(0),
					objective.WithD1:    g.evaluate(first.coalition | pick),
					objective.WithoutD1: g.evaluate(first.coalition),
					objective.WithD2:    g.evaluate(second.coalition | pick),
					objective.WithoutD2: g.evaluate(second.coalition),
				}
				p := first.probability * second.probability / float64(whole.size())
				b.add(p, pick, all[:copies]...)
			}
		}
	}
	return b
}

// setting is a random game and attributions to be judged in it.
type setting struct {
	game
	whole  coalition
	phi, f []float64 // [output][player]: Shapley values, and others
}

// inSettings runs a test for games of several players, on every backend.
func inSettings(t *testing.T, seed uint64, test func(t *testing.T, on *engine.Backend, s setting)) {
	t.Helper()
	rng := seeded(t, seed)
	for _, c := range []struct {
		name    string
		players int
		whole   coalition
	}{
		{"four players", 4, everyone(4)},
		{"five players", 5, everyone(5)},
		{"five players, one absent", 5, 0b11011},
	} {
		s := setting{game: randomGame(c.players, 2, rng), whole: c.whole}
		s.phi = s.shapley(t, s.whole)
		s.f = make([]float64, len(s.phi))
		for i := range s.f {
			if s.whole.has(i % s.players) {
				s.f[i] = s.phi[i] + 0.5*rng.NormFloat64()
			}
		}
		t.Run(c.name, func(t *testing.T) {
			onEveryBackend(t, func(t *testing.T, on *engine.Backend) { test(t, on, s) })
		})
	}
}

// expected is D·E[DSHAP] of an output at attributions f.
func (s setting) expected(t *testing.T, on *engine.Backend, e objective.Estimator, f []float64, output int) float64 {
	t.Helper()
	b := allDraws(s.game, s.whole, f, e.Copies())
	value, _ := estimate(t, on, e, b)
	return float64(s.whole.size()) * b.mean(value, output)
}

// distance is Σ_d (φ_d − f_d)² of an output.
func (s setting) distance(output int) float64 {
	sum := 0.0
	for i := output * s.players; i < (output+1)*s.players; i++ {
		sum += (s.phi[i] - s.f[i]) * (s.phi[i] - s.f[i])
	}
	return sum
}

// spread is Σ_d (E|t|)² of an output, for t a contribution of d less f_d.
func (s setting) spread(f []float64, output int) float64 {
	sum := 0.0
	for d := range s.players {
		if !s.whole.has(d) {
			continue
		}
		mean := 0.0
		for _, before := range predecessors(s.whole, d) {
			gain := s.value(before.coalition|1<<d, output) - s.value(before.coalition, output)
			mean += before.probability * math.Abs(gain-f[output*s.players+d])
		}
		sum += mean * mean
	}
	return sum
}

func TestProductIsUnbiased(t *testing.T) {
	inSettings(t, 2, func(t *testing.T, on *engine.Backend, s setting) {
		for c := range s.outputs {
			near(t, "expected product at φ", s.expected(t, on, objective.TwoDraws, s.phi, c), 0, 1e-12)
			near(t, "expected product at f", s.expected(t, on, objective.TwoDraws, s.f, c), s.distance(c), 1e-12)
		}
	})
}

// A square counts the spread of the contributions too, but that does not depend on f.
func TestStopIsUnbiasedButForAConstant(t *testing.T) {
	inSettings(t, 3, func(t *testing.T, on *engine.Backend, s setting) {
		for c := range s.outputs {
			atPhi := s.expected(t, on, objective.Stopped, s.phi, c)
			atF := s.expected(t, on, objective.Stopped, s.f, c)
			near(t, "expected stop at f, above that at φ", atF-atPhi, s.distance(c), 1e-12)
			if atPhi < 0.1 {
				t.Errorf("expected stop at φ = %g, though contributions vary", atPhi)
			}
		}
	})
}

func TestAbsoluteIsBiased(t *testing.T) {
	inSettings(t, 4, func(t *testing.T, on *engine.Backend, s setting) {
		for c := range s.outputs {
			atPhi := s.expected(t, on, objective.Absolute, s.phi, c)
			atF := s.expected(t, on, objective.Absolute, s.f, c)
			near(t, "expected abs at φ", atPhi, s.spread(s.phi, c), 1e-12)
			near(t, "expected abs at f", atF, s.spread(s.f, c), 1e-12)
			t.Logf("abs: %.3f where Σ(φ−f)² = 0, %.3f where it is %.3f", atPhi, atF, s.distance(c))
			if atPhi < 0.1 || atF < s.distance(c)+0.1 {
				t.Errorf("expected abs = %g at φ and %g where Σ(φ−f)² = %g: not well above", atPhi, atF, s.distance(c))
			}
		}
	})
}

// slopeByValue is the gradient by v(S) of each coalition S that was drawn.
func (b *batch) slopeByValue(gradient []float64, output int) map[coalition]float64 {
	slope := map[coalition]float64{}
	for row := range b.rows {
		for at := objective.WithD1; at < b.copies; at++ {
			var s coalition
			for d, present := range b.maskOf(row, at) {
				s |= coalition(present) << d
			}
			slope[s] += b.attributions(gradient, row, at, output)[0] // v is the sum: all are alike
		}
	}
	return slope
}

// Where f = φ the product and stop are content with any game. Abs still pulls at the
// game, towards one in which contributions do not vary: an additive one.
func TestSlopesAtTheShapleyValues(t *testing.T) {
	inSettings(t, 5, func(t *testing.T, on *engine.Backend, s setting) {
		pulls := func(e objective.Estimator) (onF, onValues float64) {
			b := allDraws(s.game, s.whole, s.phi, e.Copies())
			_, gradient := estimate(t, on, e, b)
			for c := range s.outputs {
				for _, slope := range b.meanSlope(gradient, objective.Observed, c) {
					onF = max(onF, math.Abs(slope))
				}
				for _, slope := range b.slopeByValue(gradient, c) {
					onValues = max(onValues, math.Abs(slope))
				}
			}
			return onF, onValues
		}
		for _, e := range []objective.Estimator{objective.TwoDraws, objective.Stopped} {
			onF, onValues := pulls(e)
			near(t, string(e)+": slope by f", onF, 0, 1e-12)
			near(t, string(e)+": slope by the game's values", onValues, 0, 1e-12)
		}
		onF, onValues := pulls(objective.Absolute)
		t.Logf("abs: slope %.3f by f, %.3f by the game's values", onF, onValues)
		if onF < 0.01 || onValues < 0.01 {
			t.Errorf("abs: slope %g by f and %g by the game's values, want both away from 0", onF, onValues)
		}
	})
}
