package train

import (
	"fmt"
	"slices"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	gomlx "github.com/gomlx/gomlx/ml/train"
	"github.com/gomlx/gomlx/ml/train/optimizer"

	"github.com/psi-shapley/psi/internal/engine"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/network"
)

// Engine is the backend of a tensor engine. It trains every network.
type Engine struct{ *engine.Backend }

func (e Engine) open(r *Run) (trainer, error) {
	net, err := network.New(r.net)
	if err != nil {
		return nil, err
	}
	return &graphTrainer{run: r, net: net, backend: e.Backend, params: net.NewParams()}, nil
}

// teacher is the copy of the weights from before the phase polish.
const teacher = "teacher"

// graphTrainer trains with graphs of a tensor engine, which also holds the weights.
type graphTrainer struct {
	run     *Run
	net     *network.Network
	backend *engine.Backend
	params  *network.Params
}

func (t *graphTrainer) get(name string) (map[string][]float32, error) { return t.params.Get(name) }

func (t *graphTrainer) put(weights map[string][]float32) error {
	for _, name := range []string{current, average, teacher} {
		if err := t.params.Put(name, weights); err != nil {
			return err
		}
	}
	return nil
}

func (t *graphTrainer) evaluator(nodes int) form.Evaluator {
	return t.net.NewEvaluator(t.backend, t.params, average, engine.Live, nodes)
}

func (t *graphTrainer) close() {}

func (t *graphTrainer) begin(p *phase) (steps, error) {
	t.params.SetTrainable(current, p.groups...)
	f, err := t.backend.Compile(t.params.Store, engine.Live, func(scope *model.Scope, in []*Node) []*Node {
		return []*Node{t.stepGraph(p, scope, in)}
	})
	return &graphSteps{t, p, f}, err
}

// graphSteps runs the steps of a phase by a graph.
type graphSteps struct {
	*graphTrainer
	phase *phase
	f     *engine.Function
}

func (s *graphSteps) close() { s.f.Close() }

func (s *graphSteps) take(b *minibatch, rate, keep float64) (float64, error) {
	n := b.Rows.Rows
	in := network.RowTensors(b.Rows)
	in = append(in,
		engine.Tensor(b.Target, n, 1),
		engine.Tensor(b.Weight, n, 1),
		engine.Tensor(b.Rows.Observed, n, b.Rows.Players()),
		engine.Tensor(b.masks, n, b.copies, b.players),
		engine.Tensor([]float32{float32(rate)}),
		engine.Tensor([]float32{float32(keep)}))
	if s.phase.picks {
		in = append(in, engine.Tensor(b.picks, n, b.players))
	}
	if s.phase.drop > 0 {
		in = append(in, engine.Tensor(b.kept, s.net.Inputs.Columns(), n, s.net.Embedding))
	}
	out, err := s.f.Call(in...)
	if err != nil {
		return 0, err
	}
	return float64(out[0][0]), nil
}

// stepGraph builds one step: loss, gradients clipped by their norm, AdamW, and the moving average.
func (t *graphTrainer) stepGraph(p *phase, scope *model.Scope, in []*Node) *Node {
	rows, rest := network.RowsOf(t.net.Inputs, in)
	y, weight, observed, players, rate, keep := rest[0], rest[1], rest[2], rest[3], rest[4], rest[5]
	mask := network.ColumnsOf(t.net.Inputs, players, observed)
	x := lossInputs{y: y, weight: weight, mask: mask, players: players}
	rest = rest[6:]
	if p.picks {
		x.pick, rest = rest[0], rest[1:]
	}
	var kept *Node
	if p.drop > 0 {
		kept = rest[0]
	}
	x.Forward = t.net.Thinned(t.trained(p, mask), rows, kept)
	if p.usesTeacher {
		x.teacher = t.net.Forward(t.params.Lookup(teacher, mask), rows)
	}
	loss := p.loss(x)
	grads := scope.BuildTrainableVariablesGradientsGraph(loss)
	clip(grads, t.params.TrainableGroups(scope, loss), t.run.Clip)
	optimizer.LearningRateVar(scope, dtypes.Float32, 0).SetNodeValue(Reshape(rate))
	adam := optimizer.Adam().Scope(fmt.Sprintf("adam%d", t.run.phase)).Betas(0.9, 0.99).Epsilon(1e-8).WeightDecay(p.decay).Done()
	adam.(gomlx.OptimizeWithGradients).UpdateGraphWithGradients(scope, grads, dtypes.Float32)
	now, then := t.params.Lookup(current, mask), t.params.Lookup(average, mask)
	for _, w := range t.net.Weights() {
		if p.trains(w) {
			a := now(w.Name)
			t.params.Set(average, w.Name, Add(a, Mul(Reshape(keep), Sub(then(w.Name), a))))
		}
	}
	return loss
}

// trained looks up the current weights for groups that the phase trains, and the averaged weights of earlier phases for
// others.
func (t *graphTrainer) trained(p *phase, in *Node) network.Lookup {
	moving, frozen := t.params.Lookup(current, in), t.params.Lookup(average, in)
	groups := map[string]form.Weight{}
	for _, w := range t.net.Weights() {
		groups[w.Name] = w
	}
	return func(name string) *Node {
		if p.trains(groups[name]) {
			return moving(name)
		}
		return StopGradient(frozen(name))
	}
}

func (p *phase) trains(w form.Weight) bool {
	return slices.Contains(p.groups, w.Group)
}

// clip scales the gradients of each group of weights to a norm of at most top, so that no group dominates another.
func clip(grads []*Node, groups []form.Group, top float64) {
	for i, g := range groups {
		if g == form.Absent { // clipped together with the mean
			groups[i] = form.Mean
		}
	}
	square := map[form.Group]*Node{}
	for i, g := range grads {
		s := ReduceAllSum(Square(g))
		if sum, ok := square[groups[i]]; ok {
			s = Add(sum, s)
		}
		square[groups[i]] = s
	}
	for i := range grads {
		norm := AddScalar(Sqrt(square[groups[i]]), 1e-6)
		grads[i] = Mul(grads[i], MinScalar(Div(ConstAs(norm, top), norm), 1))
	}
}

// save copies the variables of the store.
func (t *graphTrainer) save() (map[string]Variable, error) {
	all := map[string]Variable{}
	for v := range t.params.Store.IterVariables() {
		value, err := v.Value()
		if err != nil {
			return nil, fmt.Errorf("train: save %s: %w", v.Path(), err)
		}
		saved := Variable{Dims: value.Shape().Dimensions}
		switch value.DType() {
		case dtypes.Float32:
			saved.Floats, err = tensors.CopyFlatData[float32](value)
		case dtypes.Int64:
			saved.Ints, err = tensors.CopyFlatData[int64](value)
		default:
			err = fmt.Errorf("unexpected type %s", value.DType())
		}
		if err != nil {
			return nil, fmt.Errorf("train: save %s: %w", v.Path(), err)
		}
		all[v.Path()] = saved
	}
	return all, nil
}

func (t *graphTrainer) restore(saved map[string]Variable) error {
	if err := t.forget(saved); err != nil {
		return err
	}
	for path, s := range saved {
		var value *tensors.Tensor
		if s.Ints != nil {
			value = tensors.FromFlatDataAndDimensions(s.Ints, s.Dims...)
		} else {
			value = tensors.FromFlatDataAndDimensions(s.Floats, s.Dims...)
		}
		v := t.params.Store.GetVariable(path)
		if v == nil {
			t.params.Store.VariableWithValue(path, value).SetTrainable(false)
			continue
		}
		if !v.Shape().Equal(value.Shape()) {
			return fmt.Errorf("train: restore %s: saved as %s, but this network has %s", path, value.Shape(), v.Shape())
		}
		if err := v.SetValue(value); err != nil {
			return fmt.Errorf("train: restore %s: %w", path, err)
		}
	}
	return nil
}

// forget resets the variables that a state does not contain, such as the moments of a phase that had not begun, to
// their initial zeros.
func (t *graphTrainer) forget(saved map[string]Variable) error {
	for v := range t.params.Store.IterVariables() {
		if _, known := saved[v.Path()]; !known {
			if err := v.SetValue(tensors.FromShape(v.Shape())); err != nil {
				return fmt.Errorf("train: forget %s: %w", v.Path(), err)
			}
		}
	}
	return nil
}
