package train

import (
	"fmt"
	"slices"
)

// State is everything that a run needs to continue: a run restored from it ends in the same weights as an uninterrupted
// one.
type State struct {
	Phase, Step int
	Taken       int // steps of the phase that were not skipped
	Nodes       int
	Best        float64
	Stale       int     // validations since the best
	Slowing     float64 // factor of the learning rate after rollbacks
	Rollbacks   int
	History     []Point
	Kept        []Candidate         // candidates of the phase, the best first
	Variables   map[string]Variable // weights, moments and counters, by path
}

// Variable is a tensor of a trainer. One of the two slices is set.
type Variable struct {
	Dims   []int
	Floats []float32
	Ints   []int64
}

// State returns a copy of the run's state.
func (r *Run) State() (*State, error) {
	s := &State{
		Phase: r.phase, Step: r.step, Taken: r.taken, Nodes: r.nodes, Best: r.best, Stale: r.stale, Slowing: r.slowing, Rollbacks: r.rollbacks,
		History: slices.Clone(r.history), Kept: slices.Clone(r.kept),
	}
	var err error
	s.Variables, err = r.trainer.save()
	return s, err
}

// Restore sets the state of a new run, which must have the same network, configuration and data.
func (r *Run) Restore(s *State) error {
	if s.Nodes < 1 || s.Phase < 0 || s.Phase > len(r.phases) || s.Step < 0 || (s.Phase < len(r.phases) && s.Step >= r.phases[s.Phase].steps) {
		return fmt.Errorf("train: restore: there is no step %d of phase %d", s.Step, s.Phase)
	}
	r.endSteps()
	if err := r.trainer.restore(s.Variables); err != nil {
		return err
	}
	r.phase, r.step, r.taken, r.best, r.kept = s.Phase, s.Step, s.Taken, s.Best, slices.Clone(s.Kept)
	r.stale = s.Stale
	r.slowing, r.rollbacks, r.history, r.good = s.Slowing, s.Rollbacks, slices.Clone(s.History), s
	r.setNodes(s.Nodes)
	return nil
}
