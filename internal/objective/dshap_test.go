package objective_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"

	"github.com/psi-shapley/psi/internal/engine"
	"github.com/psi-shapley/psi/internal/objective"
)

func TestCopiesHoldAllThatTheEstimatorReads(t *testing.T) {
	for e, last := range map[objective.Estimator]int{
		objective.LeastSquares: objective.Within,
		objective.Stopped:      objective.WithoutD1,
		objective.TwoDraws:     objective.WithoutD2,
		objective.Absolute:     objective.WithoutD2,
		"":                     objective.Masked, // no D_SHAP: the likelihood's copies
	} {
		if got, want := e.Copies(), last+1; got != want {
			t.Errorf("%q.Copies() = %d, want %d", e, got, want)
		}
	}
}

func TestValidateKnowsTheEstimators(t *testing.T) {
	for _, e := range estimators {
		if err := e.Validate(); err != nil {
			t.Errorf("%q: %v", e, err)
		}
	}
	for _, e := range []objective.Estimator{"", "LS", "squares"} {
		err := e.Validate()
		if err == nil {
			t.Errorf("%q is taken for an estimator", e)
			continue
		}
		for _, known := range estimators {
			if !strings.Contains(err.Error(), string(known)) {
				t.Errorf("the error %q does not offer %q", err, known)
			}
		}
	}
}

func TestUnknownEstimatorBuildsNoGraph(t *testing.T) {
	on, _, err := engine.Open("go")
	if err != nil {
		t.Fatal(err)
	}
	err = engine.Catch(func() error {
		_, err := CallOnce(on.Backend, func(f, mask, pick *Node) *Node {
			return objective.Estimator("squares").DSHAP(f, mask, pick)
		}, tensor(make([]float64, 4), 1, 2, 1, 2), tensor(make([]float64, 4), 1, 2, 2), tensor(make([]float64, 2), 1, 2))
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "squares") {
		t.Errorf("error %v does not name the unknown estimator", err)
	}
}

var estimators = []objective.Estimator{objective.LeastSquares, objective.TwoDraws, objective.Stopped, objective.Absolute}

// reference is DSHAP of one row and output, element by element. It reads frozen in
// place of f wherever the gradient is stopped.
func (b *batch) reference(e objective.Estimator, f, frozen []float64, row, output int) float64 {
	of := func(f []float64, copyAt int) []float64 { return b.attributions(f, row, copyAt, output) }
	gain := func(f []float64, with, without int) float64 {
		return floats.Sum(of(f, with)) - floats.Sum(of(f, without))
	}
	allocation := func(whole, part int) float64 {
		n := max(1, floats.Sum(b.maskOf(row, whole)))
		total, frozenTotal := floats.Sum(of(f, whole)), floats.Sum(of(frozen, whole))
		gap := floats.Sum(of(frozen, part))
		for d, present := range b.maskOf(row, part) {
			if present == 1 {
				gap -= of(f, whole)[d] - total/n + frozenTotal/n
			}
		}
		return gap * gap
	}
	own := floats.Dot(of(f, objective.Observed), b.pick[row*b.players:][:b.players])
	switch e {
	case objective.LeastSquares:
		full := allocation(objective.Observed, objective.Masked) + allocation(objective.Observed, objective.Complement)
		return full/2 + allocation(objective.Masked, objective.Within)/2
	case objective.Stopped:
		t := gain(frozen, objective.WithD1, objective.WithoutD1) - own
		return t * t
	}
	t1 := gain(f, objective.WithD1, objective.WithoutD1) - own
	t2 := gain(f, objective.WithD2, objective.WithoutD2) - own
	if e == objective.Absolute {
		return math.Abs(t1 * t2)
	}
	return t1 * t2
}

// randomBatch has rows with all players present, with some absent, and with none, and
// attributions that are zero where a player is absent.
func randomBatch(rng *rand.Rand, e objective.Estimator) *batch {
	b := &batch{copies: e.Copies(), outputs: 2, players: 5}
	part := func(s coalition) coalition { return s & coalition(rng.Uint32()) }
	copyOf := func(s coalition) evaluated {
		f := make([]float64, b.outputs*b.players)
		for i := range f {
			if s.has(i % b.players) {
				f[i] = rng.NormFloat64()
			}
		}
		return evaluated{s, f}
	}
	for _, whole := range []coalition{everyone(5), everyone(5), 0b10110, 0b00101, 0b01000, 0} {
		pick := whole & -whole // the first player
		copies := []evaluated{copyOf(whole)}
		if e == objective.LeastSquares {
			masked := part(whole)
			copies = append(copies, copyOf(masked), copyOf(whole&^masked), copyOf(part(masked)))
		} else {
			copies = append(copies, copyOf(part(whole)))
			for len(copies) < e.Copies() {
				before := part(whole &^ pick)
				copies = append(copies, copyOf(before|pick), copyOf(before))
			}
		}
		b.add(rng.Float64()+0.5, pick, copies...)
	}
	return b
}

func TestValuesAndSlopesAgainstTheReference(t *testing.T) {
	const step = 1e-3 // the losses are quadratic: central differences are exact up to rounding
	rng := seeded(t, 8)
	for _, e := range estimators {
		t.Run(string(e), func(t *testing.T) {
			b := randomBatch(rng, e)
			loss := func(f []float64) float64 {
				sum := 0.0
				for row, w := range b.weight {
					for c := range b.outputs {
						sum += w * b.reference(e, f, b.f, row, c)
					}
				}
				return sum
			}
			slope := make([]float64, len(b.f))
			moved := append([]float64(nil), b.f...)
			for i, at := range b.f {
				moved[i] = at + step
				above := loss(moved)
				moved[i] = at - step
				slope[i] = (above - loss(moved)) / (2 * step)
				moved[i] = at
			}
			onEveryBackend(t, func(t *testing.T, on *engine.Backend) {
				value, gradient := estimate(t, on, e, b)
				for i, got := range value {
					want := b.reference(e, b.f, b.f, i/b.outputs, i%b.outputs)
					near(t, "value", got, want, 1e-12)
				}
				for i, got := range gradient {
					near(t, "slope", got, slope[i], 1e-9)
				}
			})
		})
	}
}

// largestSlope is the largest slope by any attribution of a copy.
func (b *batch) largestSlope(gradient []float64, copyAt int) float64 {
	most := 0.0
	for row := range b.rows {
		for c := range b.outputs {
			for _, slope := range b.attributions(gradient, row, copyAt, c) {
				most = max(most, math.Abs(slope))
			}
		}
	}
	return most
}

// An estimator teaches some copies; the others are what it teaches them.
func TestWhichCopiesAreTaught(t *testing.T) {
	rng := seeded(t, 9)
	for _, c := range []struct {
		estimator objective.Estimator
		taught    []int
	}{
		{objective.LeastSquares, []int{objective.Observed, objective.Masked}},
		{objective.Stopped, []int{objective.Observed}},
		{objective.TwoDraws, []int{objective.Observed, objective.WithD1, objective.WithoutD1, objective.WithD2, objective.WithoutD2}},
		{objective.Absolute, []int{objective.Observed, objective.WithD1, objective.WithoutD1, objective.WithD2, objective.WithoutD2}},
	} {
		t.Run(string(c.estimator), func(t *testing.T) {
			b := randomBatch(rng, c.estimator)
			onEveryBackend(t, func(t *testing.T, on *engine.Backend) {
				_, gradient := estimate(t, on, c.estimator, b)
				for at := range b.copies {
					slope, taught := b.largestSlope(gradient, at), slices.Contains(c.taught, at)
					if (slope != 0) != taught {
						t.Errorf("copy %d has slopes up to %g, but that it is taught should be %v", at, slope, taught)
					}
				}
			})
		})
	}
}

// Moving all attributions of a row alike moves the prediction: of that LeastSquares
// knows nothing. It moves the allocation.
func TestLeastSquaresDoesNotMoveThePrediction(t *testing.T) {
	b := randomBatch(seeded(t, 10), objective.LeastSquares)
	onEveryBackend(t, func(t *testing.T, on *engine.Backend) {
		_, gradient := estimate(t, on, objective.LeastSquares, b)
		for _, at := range []int{objective.Observed, objective.Masked} {
			steepest := 0.0 // for one player at the cost of the others
			for row := range b.rows {
				for c := range b.outputs {
					slope := b.attributions(gradient, row, at, c)
					together := floats.Dot(slope, b.maskOf(row, at))
					near(t, "slope by all players of a row", together, 0, 1e-12)
					steepest = max(steepest, floats.Max(slope))
				}
			}
			if steepest < 0.1 {
				t.Errorf("copy %d: the allocation has slopes up to %g only", at, steepest)
			}
		}
	})
}

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

// The paper's weight divides the estimate by σ_d² of the random player, and its slope by σ_d² is −estimate/σ_d⁴: σ_d grows where f_d
// misses φ_d. Below the bound the slope is 0.
func TestWeighedByTheVarianceOfThePlayer(t *testing.T) {
	rng := seeded(t, 9)
	for _, e := range []objective.Estimator{objective.TwoDraws, objective.Stopped, objective.Absolute} {
		t.Run(string(e), func(t *testing.T) {
			b := randomBatch(rng, e)
			variance := make([]float64, b.rows*b.outputs*b.players)
			for i := range variance {
				variance[i] = rng.Float64() + 0.1
			}
			variance[0] = 1e-5 // of the first row's player and output: below the bound
			onEveryBackend(t, func(t *testing.T, on *engine.Backend) {
				out := run(t, on, func(in []*Node) []*Node {
					weighed := e.Weighed(in[0], in[1], in[2], in[3])
					return []*Node{weighed, Gradient(ReduceAllSum(weighed), in[3])[0]}
				},
					tensor(b.f, b.rows, b.copies, b.outputs, b.players), tensor(b.mask, b.rows, b.copies, b.players),
					tensor(b.pick, b.rows, b.players), tensor(variance, b.rows, b.outputs, b.players))
				value, slope := out[0], out[1]
				for row := range b.rows {
					for c := range b.outputs {
						whole := b.reference(e, b.f, b.f, row, c)
						own := 0.0
						for d := range b.players {
							own += b.pick[row*b.players+d] * variance[(row*b.outputs+c)*b.players+d]
						}
						bounded := max(own, 1e-4)
						near(t, "value", value[row*b.outputs+c], whole/bounded, 1e-9*max(1, math.Abs(whole/bounded)))
						for d := range b.players {
							want := 0.0
							if own > 1e-4 {
								want = -b.pick[row*b.players+d] * whole / (own * own)
							}
							near(t, "slope", slope[(row*b.outputs+c)*b.players+d], want, 1e-9)
						}
					}
				}
			})
		})
	}
}
