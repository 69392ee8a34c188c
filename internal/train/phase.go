package train

import (
	"math"
	"math/rand/v2"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/network"
	"github.com/psi-shapley/psi/internal/objective"
)

// Names of the phases of the exact head.
const (
	fitPhase    = "fit"
	refitPhase  = "refit"
	absentPhase = "absent"
	spreadPhase = "spread"
)

// phase is a phase of training: the trained weights, the coalitions and the loss. All phases run in the same loop.
type phase struct {
	name        string
	steps       int
	rate        float64
	cost        float64 // approximate cost of a step relative to one of the mean
	decay       float64 // weight decay
	drop        float64 // dropout rate of the embeddings
	groups      []form.Group
	copies      int  // coalitions per row
	picks       bool // whether the loss needs a random player per row
	usesTeacher bool // whether the loss needs the network from before the phase

	// draw writes the coalitions of a row to masks [copies, D], where masks[0] is the observed cells, and the random
	// player to pick [D]. It may change the row.
	draw func(rng *rand.Rand, b *minibatch, row int)
	// loss is a scalar, as a graph of an engine. The kernel selects the losses of its phases by name.
	loss func(in lossInputs) *Node
	// score is the validation loss of the averaged weights; the weights with the lowest one are kept.
	score func(v *validated) float64
	// candidate reports whether the initial weights are a candidate too.
	candidate bool
	// spread reports whether score needs Std and HiddenVariance.
	spread bool
	// masked reports whether score uses masked copies. Their scores are noisy, so the lowest of many would be due to
	// chance. Only the initial and the final weights are scored.
	masked bool
}

// scoredAt reports whether the weights after a step are scored.
func (p *phase) scoredAt(step int) bool {
	return p.score != nil && (!p.masked || step == 0 || step == p.steps)
}

// sound reports whether training can continue from a score. Scores are mean squared errors or log losses, which naive
// predictions have too, or negative log likelihoods.
func (p *phase) sound(score, best, naive float64) bool {
	worst := 10 * max(1, naive)
	if p.spread {
		worst = best + 10*max(1, math.Abs(best))
	}
	return isFinite(score) && score <= worst
}

// lossInputs holds the inputs of a loss.
type lossInputs struct {
	*network.Forward                  // of the current weights
	teacher          *network.Forward // of the weights before the phase, if it has a teacher
	y, weight        *Node            // [B, 1]
	mask             *Node            // [B, P, D], of columns
	players          *Node            // [B, P, players], of players
	pick             *Node            // [B, players], if the phase picks players
}

// mean returns the weighted mean over rows, and the mean over outputs, of a loss [B, C].
func (in lossInputs) mean(loss *Node) *Node { return ReduceAllMean(Mul(in.weight, loss)) }

// asObserved returns the mask [B, 1, D] of the rows as observed.
func (in lossInputs) asObserved() *Node { return Slice(in.mask, AxisRange(), AxisRange(0, 1)) }

// asMasked returns the mask [B, 1, D] of the rows' first masked copies.
func (in lossInputs) asMasked() *Node {
	return Slice(in.mask, AxisRange(), AxisRange(objective.Masked, objective.Masked+1))
}

// copyOf returns one copy of x [B, P, …] by its index on the P axis.
func copyOf(x *Node, at int) *Node { return Squeeze(Slice(x, AxisRange(), AxisElem(at)), 1) }

// fit trains the mean: by likelihood on rows as observed and on one masked copy of each and, with the learned head, by
// D_SHAP. It also trains h, which weights the copies.
func (r *Run) fit() phase {
	p := phase{
		name: fitPhase, steps: r.Steps, rate: r.Rate, cost: 1, decay: r.Decay, drop: r.Dropout,
		groups: []form.Group{form.Mean, form.Absent, form.Hidden}, copies: 2, score: r.target.score,
		draw: func(rng *rand.Rand, b *minibatch, row int) {
			r.Sampler.draw(rng, b.mask(row, objective.Observed), b.mask(row, objective.Masked))
		},
		loss: func(in lossInputs) *Node { return r.target.fit(in, in.Value(in.mask), in.Learners(in.mask), nil) },
	}
	if r.target.fitsSigma() {
		p.groups = append(p.groups, form.Sigma)
	}
	if r.net.Head == form.Learned {
		p.copies = r.Estimator.Copies()
		p.picks = true
		p.draw = r.drawForEstimator
		p.loss = func(in lossInputs) *Node {
			f := in.Attributions(in.mask, 0)
			dshap := in.mean(r.distance(in, f))
			v := ReduceSum(f, -1)
			return Add(r.target.fit(in, v, []*Node{v}, nil), MulScalar(dshap, r.Beta))
		}
	}
	return p
}

// distance returns the estimate of D_SHAP [B, C] of attributions f [B, P, C, players].
func (r *Run) distance(in lossInputs, f *Node) *Node {
	if r.Likelihood != Joint {
		return r.Estimator.DSHAP(f, in.players, in.pick)
	}
	return r.Estimator.Weighed(f, in.players, in.pick, network.PerPlayer(r.net.Inputs, Square(in.Std(in.asObserved()))))
}

// refit continues training of the mean with rows weighted by their precision under σ: where noise varies, rows with
// little noise carry more information. Validation uses the plain error, and the initial weights are the first
// candidate, so the result is kept only if it helps.
func (r *Run) refit() phase {
	p := r.fit()
	p.name, p.steps, p.rate, p.candidate = refitPhase, r.RefitSteps, r.RefitRate, true
	p.loss = func(in lossInputs) *Node {
		whole := in.asObserved()
		variance := Add(ReduceSum(Square(in.Std(whole)), -1), InsertAxes(Square(in.NoiseStd()), 0))
		precision := Reciprocal(StopGradient(variance))
		precision = Div(precision, ReduceAndKeep(Mul(in.weight, precision), ReduceMean, 0))
		return r.target.fit(in, in.Value(in.mask), in.Learners(in.mask), ClipScalar(precision, 0.1, 10))
	}
	return p
}

// There are few absent factors, and half of the copies use each. They train at a high rate, relative to which decay is
// small.
const (
	absentRate  = 3e-2
	absentDecay = 1e-3
)

// absent trains the weights for absent players, with the rest of the mean frozen. Complete rows do not use these
// weights. Coalitions are thus learned without harming rows as observed, as they would in fit, where the noise of
// hidden cells lowers their weight. Rows as observed affect only their constant, Σ_k w_k Π_d (1 + c_dk).
func (r *Run) absent() phase {
	p := r.fit()
	p.name, p.steps, p.rate, p.cost, p.decay, p.drop = absentPhase, min(r.AbsentSteps, r.Steps), absentRate, 0.7, absentDecay, 0
	p.groups, p.candidate, p.masked = []form.Group{form.Absent}, true, true
	p.loss = func(in lossInputs) *Node { return r.target.coalitions(in, in.Learners(in.mask)) }
	return p
}

// hiddenFloor keeps the likelihood of h finite, in units of the target's variance.
const hiddenFloor = 1e-4

// hiddenVariance returns h² [B, C] of the masked copy. It is 0 if the copy hides nothing.
func (r *Run) hiddenVariance(in lossInputs) *Node {
	return AddScalar(copyOf(in.HiddenVariance(in.asMasked()), 0), hiddenFloor)
}

// drawForEstimator draws the copies that the estimator needs.
func (r *Run) drawForEstimator(rng *rand.Rand, b *minibatch, row int) {
	if r.Estimator == objective.LeastSquares {
		drawLeastSquares(rng, b, row)
		return
	}
	whole, pick := b.mask(row, objective.Observed), b.pickOf(row)
	r.Sampler.draw(rng, whole, b.mask(row, objective.Masked))
	draws := [][]float32{b.mask(row, objective.WithoutD1)}
	if b.copies > objective.WithoutD2 {
		draws = append(draws, b.mask(row, objective.WithoutD2))
	}
	before(rng, whole, pick, draws...)
	for i, without := range draws {
		with := b.mask(row, objective.WithD1+2*i)
		for d := range with {
			with[d] = without[d] + pick[d]
		}
	}
}

func drawLeastSquares(rng *rand.Rand, b *minibatch, row int) {
	whole, masked := b.mask(row, objective.Observed), b.mask(row, objective.Masked)
	Kernel.draw(rng, whole, masked)
	rest := b.mask(row, objective.Complement)
	for d := range whole {
		rest[d] = whole[d] - masked[d]
	}
	Kernel.draw(rng, masked, b.mask(row, objective.Within))
}

// polishWeight is the weight of least squares relative to the teacher's values.
const polishWeight = 3

// polish trains the network on its own values and on Shapley values, without labels, on rows with some columns from
// other rows. It improves the fidelity of attributions in seconds and preserves accuracy.
func (r *Run) polish() phase {
	return phase{
		name: "polish", steps: r.PolishSteps, rate: r.PolishRate, cost: 1, decay: r.Decay,
		groups: []form.Group{form.Mean}, copies: objective.LeastSquares.Copies(), picks: true, usesTeacher: true,
		draw: func(rng *rand.Rand, b *minibatch, row int) {
			if rng.Uint32()&1 == 0 {
				recombine(rng, b.Rows, row, b.window.Rows)
				b.observe(row)
			}
			drawLeastSquares(rng, b, row)
		},
		loss: func(in lossInputs) *Node {
			f := in.Attributions(in.mask, 0)
			v := Slice(ReduceSum(f, -1), AxisRange(), AxisRange(0, 2))
			taught := StopGradient(in.teacher.Value(Slice(in.mask, AxisRange(), AxisRange(0, 2))))
			ls := ReduceAllMean(objective.LeastSquares.DSHAP(f, in.players, in.pick))
			return Add(ReduceAllMean(objective.SquaredError(taught, v)), MulScalar(ls, polishWeight))
		},
	}
}

// recombine replaces about half of the players of a row by those of another row.
func recombine(rng *rand.Rand, b *encode.Batch, row int, from *encode.Batch) {
	other := rng.IntN(from.Rows)
	for d := range b.Players() {
		if rng.Uint32()&1 == 0 {
			b.SetPlayer(row, d, from, other)
		}
	}
}

// spreadDecay is small: decay would increase σ_d from its initial value, and noise that no column explains would be
// assigned to columns.
const spreadDecay = 1e-3

// spread trains σ_d, σ_0 on rows as observed, and h on masked copies, with the mean frozen. If σ were trained with the
// mean on masked copies, it would absorb the variance of hidden cells, which belongs to h. h is 0 for complete rows, so
// σ is their noise.
func (r *Run) spread() phase {
	return phase{
		name: spreadPhase, steps: r.SpreadSteps, rate: r.SpreadRate, cost: 0.7, decay: spreadDecay,
		groups: []form.Group{form.Sigma, form.Hidden}, copies: 2, spread: true, score: r.target.spreadScore,
		draw: func(rng *rand.Rand, b *minibatch, row int) {
			whole, part := b.mask(row, objective.Observed), b.mask(row, objective.Masked)
			if !r.net.Classes && slices.Contains(whole, 0) && rng.Uint32()&1 == 0 {
				copy(part, whole) // the labels also train h on the gaps of rows as observed
				return
			}
			r.Sampler.draw(rng, whole, part)
		},
		loss: func(in lossInputs) *Node {
			whole := in.asObserved()
			v := in.Value(in.mask) // [B, 2, C]
			sigma := Square(in.Std(whole))
			observed := copyOf(v, objective.Observed)
			lacking := StopGradient(copyOf(in.HiddenVariance(whole), 0))
			nll := in.mean(r.target.spread(in, observed, ReduceSum(sigma, -1), lacking))
			unit := InsertAxes(Square(in.NoiseScale()), 0)
			penalty := MulScalar(in.mean(Div(ReduceSum(sigma, -1), unit)), r.SpreadPenalty)
			return Add(Add(nll, penalty), in.mean(r.target.hidden(in, v, sigma)))
		},
	}
}
