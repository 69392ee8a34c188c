package train

import (
	"fmt"
	"maps"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/tensors"
)

// State is all that a run needs to go on where it was: a run restored from it ends in
// the same weights as one never stopped.
type State struct {
	Phase, Step int
	Taken       int // steps of the phase that were not skipped
	Nodes       int
	Best        float64
	Slowing     float64 // of the learning rate, by rollbacks
	Rollbacks   int
	History     []Point
	Kept        map[string][]float32 // best weights of the phase so far, if any
	Variables   map[string]Variable  // weights, moments and counters, by path
}

// Variable is one tensor of the engine's store. One of the two slices is set.
type Variable struct {
	Dims   []int
	Floats []float32
	Ints   []int64
}

// State copies the run's state.
func (r *Run) State() (*State, error) {
	s := &State{
		Phase: r.phase, Step: r.step, Taken: r.taken, Nodes: r.nodes, Best: r.best, Slowing: r.slowing, Rollbacks: r.rollbacks,
		History: slices.Clone(r.history), Kept: maps.Clone(r.kept), Variables: map[string]Variable{},
	}
	for v := range r.params.Store.IterVariables() {
		t, err := v.Value()
		if err != nil {
			return nil, fmt.Errorf("train: save %s: %w", v.Path(), err)
		}
		saved := Variable{Dims: t.Shape().Dimensions}
		switch t.DType() {
		case dtypes.Float32:
			saved.Floats, err = tensors.CopyFlatData[float32](t)
		case dtypes.Int64:
			saved.Ints, err = tensors.CopyFlatData[int64](t)
		default:
			err = fmt.Errorf("unexpected type %s", t.DType())
		}
		if err != nil {
			return nil, fmt.Errorf("train: save %s: %w", v.Path(), err)
		}
		s.Variables[v.Path()] = saved
	}
	return s, nil
}

// Restore puts a run, newly made with the same network, recipe and data, into a state.
func (r *Run) Restore(s *State) error {
	if s.Nodes < 1 || s.Phase < 0 || s.Phase > len(r.phases) || s.Step < 0 || (s.Phase < len(r.phases) && s.Step >= r.phases[s.Phase].steps) {
		return fmt.Errorf("train: restore: there is no step %d of phase %d", s.Step, s.Phase)
	}
	if err := r.forget(s); err != nil {
		return err
	}
	for path, saved := range s.Variables {
		var t *tensors.Tensor
		if saved.Ints != nil {
			t = tensors.FromFlatDataAndDimensions(saved.Ints, saved.Dims...)
		} else {
			t = tensors.FromFlatDataAndDimensions(saved.Floats, saved.Dims...)
		}
		v := r.params.Store.GetVariable(path)
		if v == nil {
			r.params.Store.VariableWithValue(path, t).SetTrainable(false)
			continue
		}
		if !v.Shape().Equal(t.Shape()) {
			return fmt.Errorf("train: restore %s: saved as %s, but this network has %s", path, t.Shape(), v.Shape())
		}
		if err := v.SetValue(t); err != nil {
			return fmt.Errorf("train: restore %s: %w", path, err)
		}
	}
	r.phase, r.step, r.taken, r.best, r.kept = s.Phase, s.Step, s.Taken, s.Best, maps.Clone(s.Kept)
	r.slowing, r.rollbacks, r.history, r.good = s.Slowing, s.Rollbacks, slices.Clone(s.History), s
	r.setNodes(s.Nodes)
	if r.stepper != nil {
		r.stepper.close()
		r.stepper = nil
	}
	return nil
}

// forget puts the variables that a state knows nothing of, such as the moments of a phase
// that had not begun, back to the zeros they start from.
func (r *Run) forget(s *State) error {
	for v := range r.params.Store.IterVariables() {
		if _, known := s.Variables[v.Path()]; !known {
			if err := v.SetValue(tensors.FromShape(v.Shape())); err != nil {
				return fmt.Errorf("train: forget %s: %w", v.Path(), err)
			}
		}
	}
	return nil
}
