package baseline

import (
	"cmp"
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/psi-shapley/psi/internal/encode"
)

// linear is a model with scores X·b: ridge regression, or penalised logistic regression of two or more classes. A
// sparse one has the lasso penalty.
type linear struct {
	reading *reading
	b       []float64 // [features, outputs]
	penalty float64
	sparse  bool
}

func (l *linear) score(rows *encode.Batch) []float64 {
	d := l.reading.read(rows)
	scores := make([]float64, d.rows*len(l.b)/d.count)
	d.times(l.b, scores)
	return scores
}

// penalties returns the penalties to try, the largest first.
func penalties() []float64 { return []float64{10, 1, 1e-1, 1e-2, 1e-3, 1e-4} }

const innerRows = 20_000 // maximum rows outside a fold to try penalties on, divided by the number of outputs

// precision is the stopping criterion of a fit.
type precision struct {
	gradient float64 // maximum norm of the gradient
	steps    int     // total steps of conjugate gradients
}

var (
	coarsePrecision = precision{1e-3, 60}  // to compare penalties
	finePrecision   = precision{1e-5, 120} // the last fit
)

// fitLinear chooses the penalty with the lowest validation loss, and fits all rows with it. It stops after two
// penalties that are worse than the best. With few rows it also tries a sparse model.
func fitLinear(ctx context.Context, s *sample, f family, base []float64) (*linear, error) {
	r := newReading(s)
	d := r.read(s.rows)
	folds := newFolds(s, d, f, base)
	best, least, worse := &linear{reading: r, b: slices.Clone(folds[0].b)}, math.Inf(1), 0
	for _, penalty := range penalties() {
		loss := 0.0
		for _, fold := range folds {
			fold.penalty = penalty
			if err := fold.fit(ctx, fold.b, coarsePrecision); err != nil {
				return nil, err
			}
			loss += fold.loss()
		}
		if loss < least {
			least, worse = loss, 0
			best.penalty = penalty
			copy(best.b, folds[0].b)
		} else if worse++; worse == 2 {
			break
		}
	}
	if err := best.fitSparse(ctx, s, d, f, base, least); err != nil || best.sparse {
		return best, err
	}
	whole := &regression{design: d, family: f, y: s.y, weight: s.weight, penalty: best.penalty}
	return best, whole.fit(ctx, best.b, finePrecision)
}

// columns returns the players that a sparse model uses, those that move its scores most first. It returns nil for a
// model that is not sparse or uses more than half of them.
func (l *linear) columns(rows *encode.Batch) []int {
	if !l.sparse {
		return nil
	}
	k := len(l.b) / l.reading.count
	size := make([]float64, rows.Players())
	for feature, player := range l.reading.players(rows) {
		size[player] = max(size[player], floats.Norm(l.b[feature*k:(feature+1)*k], math.Inf(1)))
	}
	var used []int
	for player, v := range size {
		if v > 0 {
			used = append(used, player)
		}
	}
	if 2*len(used) > len(size) {
		return nil
	}
	slices.SortStableFunc(used, func(a, b int) int { return cmp.Compare(size[b], size[a]) })
	return used
}

// heldFold is a regression on the rows outside a fold; rows of the fold have weight 0.
type heldFold struct {
	regression
	b    []float64 // current coefficients
	held *design
	y    []float64 // targets of the fold
	w    []float64
}

func newFolds(s *sample, d *design, f family, base []float64) []*heldFold {
	to := s.len()
	if s.tried == 1 {
		to = min(to, s.folds[1]+innerRows/f.outputs())
	}
	list := make([]*heldFold, s.tried)
	for k := range list {
		from, end := s.folds[k], s.folds[k+1]
		list[k] = &heldFold{
			regression: regression{design: d.part(0, to), family: f, y: s.y[:to], weight: s.without(k)[:to]},
			b:          make([]float64, d.count*f.outputs()), held: d.part(from, end), y: s.y[from:end], w: s.weight[from:end],
		}
		copy(list[k].b[(d.count-1)*f.outputs():], base)
	}
	return list
}

// loss returns the mean loss of the fold.
func (h *heldFold) loss() float64 {
	scores := make([]float64, h.held.rows*h.family.outputs())
	h.held.times(h.b, scores)
	return h.family.meanLoss(scores, h.y, h.w)
}

// regression is the minimum over b of
//
//	Σ_i w_i loss(x_i·b, y_i) / Σ_i w_i + penalty/2 · ‖b without the intercepts‖².
type regression struct {
	*design
	family    family
	y, weight []float64
	penalty   float64
	steepest  float64 // upper bound of the second derivative; 0 if not known yet
}

// fit minimises by Newton's method, starting from b, to a precision. Each step is solved by conjugate gradients: the
// second derivative is never formed, and a step costs some passes over the rows, for any number of features.
func (r *regression) fit(ctx context.Context, b []float64, until precision) error {
	n := newton{regression: r, b: b, total: floats.Sum(r.weight), squares: r.squares(r.weight), left: until.steps}
	n.p = make([]float64, r.rows*r.family.outputs())
	n.rowwise = make([]float64, len(n.p))
	n.gradient, n.step = make([]float64, len(b)), make([]float64, len(b))
	value := n.evaluate(b)
	for n.left > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		n.differentiate()
		norm := floats.Norm(n.gradient, 2)
		if norm <= until.gradient {
			return nil
		}
		aim := min(0.1, math.Sqrt(norm)) * norm
		if r.family.classes == 0 {
			aim = 0 // the loss is quadratic, so one step suffices
		}
		if err := n.solve(ctx, max(aim, until.gradient/2)); err != nil {
			return err
		}
		next, ok := n.advance(value)
		if !ok {
			return nil // rounding
		}
		value = next
	}
	return nil
}

// newton is the state of a minimisation.
type newton struct {
	*regression
	b, gradient, step []float64 // [features, outputs]
	p, rowwise        []float64 // [rows, outputs]
	total             float64   // of the weights
	squares           []float64
	left              int // remaining steps of conjugate gradients
}

// evaluate returns the objective at b, and sets p.
func (n *newton) evaluate(b []float64) float64 {
	n.times(b, n.p)
	loss := n.family.meanLoss(n.p, n.y, n.weight)
	penalised := b[:len(b)-n.family.outputs()]
	return loss + n.penalty/2*floats.Dot(penalised, penalised)
}

// addPenalty adds penalty·v to out, except for the intercepts.
func (n *newton) addPenalty(out, v []float64) {
	penalised := len(v) - n.family.outputs()
	floats.AddScaled(out[:penalised], n.penalty, v[:penalised])
}

// differentiate writes the gradient at p.
func (n *newton) differentiate() {
	k := n.family.outputs()
	copy(n.rowwise, n.p)
	for i, y := range n.y {
		g := n.rowwise[i*k : (i+1)*k]
		n.family.gradient(g, y)
		floats.Scale(n.weight[i]/n.total, g)
	}
	n.transposed(n.rowwise, n.gradient)
	n.addPenalty(n.gradient, n.b)
}

// hessianTimes writes ∇²·v, at p, to out.
func (n *newton) hessianTimes(v, out []float64) {
	k := n.family.outputs()
	n.times(v, n.rowwise)
	for i, w := range n.weight {
		row := n.rowwise[i*k : (i+1)*k]
		n.family.bend(n.p[i*k:(i+1)*k], row)
		floats.Scale(w/n.total, row)
	}
	n.transposed(n.rowwise, out)
	n.addPenalty(out, v)
}

// scales approximates the diagonal of ∇²: Σ_i w_i x_ij² times the mean curvature of each output, plus the penalty.
func (n *newton) scales() []float64 {
	k := n.family.outputs()
	mean := make([]float64, k)
	for i, w := range n.weight {
		for c := range mean {
			mean[c] += w * n.family.curvature(n.p[i*k+c]) / n.total
		}
	}
	scales := make([]float64, len(n.b))
	for j, square := range n.squares {
		for c := range mean {
			scales[j*k+c] = square/n.total*mean[c] + 1e-12
		}
	}
	penalised := len(scales) - k
	floats.AddConst(n.penalty, scales[:penalised])
	return scales
}

// solve writes a step with |∇²·step + gradient| ≤ aim, by conjugate gradients preconditioned by the scales.
func (n *newton) solve(ctx context.Context, aim float64) error {
	scales := n.scales()
	residual, along, hessianAlong := make([]float64, len(n.b)), make([]float64, len(n.b)), make([]float64, len(n.b))
	scaled := make([]float64, len(n.b))
	clear(n.step)
	floats.AddScaled(residual, -1, n.gradient)
	floats.DivTo(scaled, residual, scales)
	copy(along, scaled)
	product := floats.Dot(residual, scaled)
	for ; n.left > 0; n.left-- {
		if floats.Norm(residual, 2) <= aim {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		n.hessianTimes(along, hessianAlong)
		curvature := floats.Dot(along, hessianAlong)
		if !(curvature > 0) {
			return nil // no curvature: rounding
		}
		length := product / curvature
		floats.AddScaled(n.step, length, along)
		floats.AddScaled(residual, -length, hessianAlong)
		floats.DivTo(scaled, residual, scales)
		before := product
		product = floats.Dot(residual, scaled)
		floats.AddScaledTo(along, scaled, product/before, along)
	}
	return nil
}

// advance takes the step, halved until the objective decreases.
func (n *newton) advance(before float64) (value float64, ok bool) {
	next := make([]float64, len(n.b))
	slope := floats.Dot(n.gradient, n.step)
	for length := 1.0; length > 1e-6; length /= 2 {
		floats.AddScaledTo(next, n.b, length, n.step)
		if value := n.evaluate(next); value <= before+1e-4*length*slope {
			copy(n.b, next)
			return value, true
		}
	}
	n.evaluate(n.b)
	return before, false
}

const (
	ridgeRowsPerFeature = 20          // rows per feature from which no sparse model is tried, because ridge suffices
	sparsePath          = 16          // number of penalties to try, each sparseRatio times the previous one
	sparseRatio         = 0.7         // so that the last is 1/300 of the first
	sparseCells         = 500_000_000 // maximum cells processed by a path
	maxSparseSteps      = 100         // per penalty
)

// fitSparse replaces the model by the lasso (Tibshirani 1996) if its validation loss is below least. On few rows with
// many columns, of which few are informative, the lasso is far better than ridge.
func (l *linear) fitSparse(ctx context.Context, s *sample, d *design, f family, base []float64, least float64) error {
	if d.rows >= ridgeRowsPerFeature*d.count {
		return nil
	}
	folds := newFolds(s, d, f, base)
	whole := &regression{design: d, family: f, y: s.y, weight: s.weight}
	b := make([]float64, d.count*f.outputs())
	copy(b[len(b)-len(base):], base)
	penalty := whole.largestPenalty(b)
	left := sparseCells / (2 * d.rows * d.count)
	var path []float64 // followed by the last fit, because each fit starts from the previous one
	for worse := 0; len(path) < sparsePath && worse < 2 && left > 0; {
		penalty *= sparseRatio
		path = append(path, penalty)
		loss := 0.0
		for _, fold := range folds {
			fold.penalty = penalty
			if err := fold.shrink(ctx, fold.b, &left); err != nil {
				return err
			}
			loss += fold.loss()
		}
		if loss < least {
			least, worse = loss, 0
			l.sparse, l.penalty, l.b = true, penalty, b
		} else if l.sparse {
			worse++
		}
	}
	left = sparseCells / (2 * d.rows * d.count)
	for _, whole.penalty = range path {
		if !l.sparse || whole.penalty < l.penalty {
			break
		}
		if err := whole.shrink(ctx, b, &left); err != nil {
			return err
		}
	}
	return nil
}

// largestPenalty returns the smallest penalty at which all of b but the intercepts is 0; b must have only intercepts.
func (r *regression) largestPenalty(b []float64) float64 {
	n := newton{regression: r, b: b, total: floats.Sum(r.weight), gradient: make([]float64, len(b))}
	n.p, n.rowwise = make([]float64, r.rows*r.family.outputs()), make([]float64, r.rows*r.family.outputs())
	n.evaluate(b)
	n.differentiate()
	return floats.Norm(n.gradient[:len(b)-r.family.outputs()], math.Inf(1))
}

// shrink minimises, starting from b,
//
//	Σ_i w_i loss(x_i·b, y_i) / Σ_i w_i + penalty · ‖b without the intercepts‖₁
//
// by accelerated proximal gradients (Beck and Teboulle 2009) with restarts on overshoot (O'Donoghue and Candès 2015).
// It takes at most left steps, and subtracts those it took.
func (r *regression) shrink(ctx context.Context, b []float64, left *int) error {
	const enough = 1e-4 // maximum change of the last step
	ridgeless := *r
	ridgeless.penalty = 0
	at := slices.Clone(b) // ahead of b, by momentum
	n := newton{regression: &ridgeless, b: at, total: floats.Sum(r.weight), gradient: make([]float64, len(b))}
	n.p, n.rowwise = make([]float64, r.rows*r.family.outputs()), make([]float64, r.rows*r.family.outputs())
	if r.steepest == 0 {
		r.steepest = n.maxEigenvalue()
	}
	length := 1 / r.steepest
	penalised := len(b) - r.family.outputs()
	next, momentum := make([]float64, len(b)), 1.0
	for range min(maxSparseSteps, *left) {
		*left--
		if err := ctx.Err(); err != nil {
			return err
		}
		n.evaluate(at)
		n.differentiate()
		floats.AddScaledTo(next, at, -length, n.gradient)
		for j, v := range next[:penalised] {
			next[j] = math.Copysign(max(0, math.Abs(v)-length*r.penalty), v)
		}
		overshoots, moved := 0.0, 0.0
		for j, v := range next {
			overshoots += (at[j] - v) * (v - b[j])
			moved = max(moved, math.Abs(v-b[j]))
		}
		following := (1 + math.Sqrt(1+4*momentum*momentum)) / 2
		ahead := (momentum - 1) / following
		if momentum = following; overshoots > 0 {
			momentum, ahead = 1, 0
		}
		for j, v := range next {
			at[j] = v + ahead*(v-b[j])
		}
		copy(b, next)
		if moved < enough {
			return nil
		}
	}
	return nil
}

// maxEigenvalue returns an upper bound of the largest eigenvalue of ∇² anywhere, from some steps of the power method for
// the squared error.
func (n *newton) maxEigenvalue() float64 {
	const steps, allowance = 12, 1.2 // the method converges from below
	k := n.family.outputs()
	v, out := make([]float64, len(n.b)), make([]float64, len(n.b))
	for j := range v {
		v[j] = 1 + float64(j%7)/7 // asymmetric
	}
	size := 1.0
	for range steps {
		floats.Scale(1/floats.Norm(v, 2), v)
		n.times(v, n.rowwise)
		for i, w := range n.weight {
			floats.Scale(w/n.total, n.rowwise[i*k:(i+1)*k])
		}
		n.transposed(n.rowwise, out)
		size = floats.Norm(out, 2)
		v, out = out, v
	}
	return allowance * n.family.steepest() * size
}
