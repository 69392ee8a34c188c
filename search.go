package psi

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/psi-shapley/psi/internal/train"
)

// recipes are what effort best tries: the default, and what differs from it in one thing. What the caller has set stays.
func (t *training) recipes() []Settings {
	list := []Settings{t.settings}
	for _, vary := range []func(*Settings){
		func(s *Settings) { s.Rate *= 2 },
		func(s *Settings) { s.Rate /= 2 },
		func(s *Settings) { s.Dropout = 0.2 },
	} {
		s := t.defaults(t.size)
		vary(&s)
		if t.Change != nil {
			t.Change(&s)
		}
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

// searchShare of a time budget is for the trials of effort best.
const searchShare = 0.25

// search chooses the recipe whose mean, trained for a third of the steps, errs least on the validation rows.
func (t *training) search(ctx context.Context, point *checkpoint) error {
	list := t.recipes()
	for i := range list {
		if len(list) == 1 || i < len(point.Trials) {
			continue
		}
		score, err := t.try(ctx, list[i], i, len(list))
		if err != nil {
			return err
		}
		point.Trials, point.unsaved = append(point.Trials, score), true
		t.tryToSave(point)
	}
	if len(list) == 1 || t.stopped() {
		return nil
	}
	best := 0
	for i, score := range point.Trials[:len(list)] {
		if score < point.Trials[best] {
			best = i
		}
	}
	t.settings = list[best]
	t.note(fmt.Sprintf("of %d recipes the best on the validation rows has lr %g and dropout %g", len(list), t.settings.Rate, t.settings.Dropout))
	return nil
}

// try is the least validation error of a recipe's mean.
func (t *training) try(ctx context.Context, s Settings, i, of int) (best float64, err error) {
	s.Steps, s.RefitSteps = (s.Steps+2)/3, (s.RefitSteps+2)/3
	s.AbsentSteps, s.SpreadSteps, s.PolishSteps = 0, 0, 0 // the mean alone
	run, err := t.newRun(s, t.settings.Members)           // a seed that no member has
	if err != nil {
		return 0, err
	}
	defer run.Close()
	best = math.Inf(1)
	watch := train.Watch{Enough: t.Enough, Progress: func(p train.Progress) {
		if p.Error < best {
			best = p.Error
		}
		t.say(Progress{Stage: "search", Step: p.Step, Steps: p.Steps, Done: (float64(i) + p.Done) / float64(of), Error: math.NaN()})
	}}
	if t.TimeBudget > 0 {
		watch.Deadline = t.start.Add(time.Duration(searchShare * float64(t.TimeBudget) * float64(i+1) / float64(of)))
	}
	return best, run.Train(ctx, watch)
}
