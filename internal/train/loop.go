package train

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"
)

// Progress reports the state of a run.
type Progress struct {
	Phase       string
	Step, Steps int           // of the phase
	Loss        float64       // of the last step
	Score       float64       // of the last validation; NaN if there was none at this step
	Best        float64       // lowest score of the phase so far
	Error       float64       // lowest mean squared error of the validation rows so far; NaN if not measured
	Done        float64       // finished share of the work of all phases
	Remaining   time.Duration // estimated time to the end; 0 while unknown
	Note        string        // message for people, such as a rollback
}

// Point is an entry of a run's history.
type Point struct {
	Phase string
	Step  int
	Loss  float64 // of the step
	Score float64 // of the validation
}

// History returns the validations so far.
func (r *Run) History() []Point { return r.history }

// RunOptions configures callbacks and the deadline of Train. All fields are optional.
type RunOptions struct {
	Deadline  time.Time            // phases are cut short to end by then
	StopEarly <-chan struct{}      // phases are cut short when it is closed; may be nil
	Progress  func(Progress)       // called after every step
	Save      func(s *State) error // called with the state after every valid validation
}

// Train runs all remaining steps.
func (r *Run) Train(ctx context.Context, w RunOptions) error {
	pace := newPace(r, w)
	saved := r.good
	for !r.Done() {
		if err := ctx.Err(); err != nil {
			return err
		}
		p, err := r.stepTo(ctx, pace.due(r))
		if err != nil {
			return err
		}
		if w.Progress != nil {
			p.Done, p.Remaining = pace.measure(r)
			w.Progress(p)
		}
		if w.Save != nil && r.good != saved {
			saved = r.good
			if err := w.Save(saved); err != nil {
				return err
			}
		}
	}
	return nil
}

// pace relates steps to time.
type pace struct {
	deadline  time.Time
	stopEarly <-chan struct{}
	start     time.Time
	begun     float64 // work done at the start

	phase int // current phase, and its start time
	since time.Time
	from  int // its first step
	until time.Time
}

func newPace(r *Run, w RunOptions) *pace {
	now := time.Now()
	return &pace{deadline: w.Deadline, stopEarly: w.StopEarly, start: now, begun: r.work(), phase: -1}
}

// due returns how many steps of the phase should be finished after the next one to meet the deadline. Each phase gets
// its share of the remaining time.
func (p *pace) due(r *Run) int {
	p.checkStopEarly()
	if p.deadline.IsZero() {
		return 0
	}
	now := time.Now()
	if p.phase != r.phase {
		p.phase, p.since, p.from = r.phase, now, r.step
		this := &r.phases[r.phase]
		share := this.work(this.steps-r.step) / (r.totalWork() - r.work())
		p.until = now.Add(time.Duration(share * float64(max(0, p.deadline.Sub(now)))))
	}
	steps := r.phases[r.phase].steps
	if !now.Before(p.until) {
		return steps
	}
	over := float64(now.Sub(p.since)) / float64(p.until.Sub(p.since))
	return p.from + int(math.Ceil(over*float64(steps-p.from)))
}

// checkStopEarly moves the deadline forward if training is to stop early. It leaves a little time for the phases that have
// not begun, which train σ.
func (p *pace) checkStopEarly() {
	select {
	case <-p.stopEarly:
		now := time.Now()
		soon := now.Add(min(longestEnd, time.Duration(endShare*float64(now.Sub(p.start)))))
		if p.deadline.IsZero() || soon.Before(p.deadline) {
			p.deadline, p.phase = soon, -1 // divide the remaining time again
		}
		p.stopEarly = nil
	default:
	}
}

// A run that stops early takes this share of its previous duration, up to a maximum.
const (
	endShare   = 0.1
	longestEnd = 10 * time.Second
)

// measure returns the finished share of the work, and the estimated time for the rest.
func (p *pace) measure(r *Run) (done float64, remaining time.Duration) {
	total, now := r.totalWork(), r.work()
	if worked := now - p.begun; worked > 0.005*total {
		remaining = time.Duration(float64(time.Since(p.start)) / worked * (total - now))
	}
	if !p.deadline.IsZero() {
		if left := max(0, time.Until(p.deadline)); remaining == 0 || remaining > left {
			remaining = left
		}
	}
	return now / total, remaining
}

func (p *phase) work(steps int) float64 { return p.cost * float64(steps) }

func (r *Run) totalWork() (work float64) {
	for i := range r.phases {
		work += r.phases[i].work(r.phases[i].steps)
	}
	return work
}

// work returns how much of totalWork is finished.
func (r *Run) work() (work float64) {
	for i := range r.phase {
		work += r.phases[i].work(r.phases[i].steps)
	}
	if !r.Done() {
		work += r.phases[r.phase].work(r.step)
	}
	return work
}

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
