package psi

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/train"
)

// bags trains the bagged networks that point does not have yet. Their spread is the epistemic uncertainty.
func (t *training) bags(ctx context.Context, m *Model, point *checkpoint) error {
	for i := range t.settings.Bags {
		if t.settings.Members+i < len(point.Members) {
			continue // finished before the interruption
		}
		if t.stopped() || t.TimeBudget > 0 && time.Now().After(t.bagsEnd()) {
			t.keepBags(m, i)
			break
		}
		bag, err := t.bag(ctx, i, point)
		if err != nil {
			return err
		}
		if t.stopped() { // it is not finished
			t.keepBags(m, i)
			break
		}
		point.Members = append(point.Members, *bag)
		point.State, point.unsaved = nil, true
		t.tryToSave(point)
	}
	m.bags = point.members()[t.settings.Members:][:t.settings.Bags]
	for _, b := range m.bags {
		m.manifest.BagNodes = append(m.manifest.BagNodes, b.Nodes)
	}
	return nil
}

// keepBags keeps the finished bags, or none if there are too few.
func (t *training) keepBags(m *Model, done int) {
	note := fmt.Sprintf("the uncertainty of attributions is based on %d networks instead of %d", done, t.settings.Bags)
	if done < min(minBags, t.settings.Bags) {
		done, note = 0, "the training stopped too early to estimate the uncertainty of attributions"
	}
	t.settings.Bags, m.manifest.Settings.Bags = done, done
	t.note(note)
}

// bag trains a network on a bootstrap sample of the rows, or resumes it from point.
func (t *training) bag(ctx context.Context, i int, point *checkpoint) (*trained, error) {
	seed := memberSeed(t.Seed, maxSettings["members"]+1+i)
	recipe := t.settings.recipe(seed).Bag()
	recipe.Base, recipe.LogStd = t.in.Target.Base, t.in.Target.LogStd()
	run, err := train.New(t.net.Bag(), train.Native{}, recipe, train.Bootstrap(t.in.Training, seed, t.in.Units), t.in.Validation)
	if err != nil {
		return nil, err
	}
	defer run.Close()
	watch := train.RunOptions{StopEarly: t.StopEarly, Progress: func(p train.Progress) {
		t.report(Progress{
			Stage: "doubt", Member: i, Step: p.Step, Steps: p.Steps, Done: (float64(i) + p.Done) / float64(t.settings.Bags),
			Remaining: remaining(p, t.settings.Bags-1-i), Error: math.NaN(), Note: p.Note,
		})
	}}
	if t.TimeBudget > 0 {
		watch.Deadline = t.sharedUntil(t.bagsEnd(), t.settings.Bags-i)
	}
	return t.finish(ctx, run, point, watch)
}

// finish trains a network to its end, resuming it from point if it was interrupted.
func (t *training) finish(ctx context.Context, run *train.Run, point *checkpoint, watch train.RunOptions) (*trained, error) {
	if point.State != nil {
		if err := run.Restore(point.State); err != nil {
			return nil, err
		}
	}
	watch.Save = func(s *train.State) error {
		t.advance(point, s)
		return nil
	}
	if err := run.Train(ctx, watch); err != nil {
		return nil, err
	}
	weights, err := run.Weights()
	if err != nil {
		return nil, err
	}
	return &trained{Member: form.Member{Weights: weights, Nodes: run.Nodes()}, History: run.History()}, nil
}

// bagsEnd returns the time at which a time budget ends the training of bags. The audit has the rest.
func (t *training) bagsEnd() time.Time {
	return t.start.Add(time.Duration((1 - auditShare) * float64(t.TimeBudget)))
}

// sharedUntil returns the deadline of the first of several networks that share the time until end.
func (t *training) sharedUntil(end time.Time, networks int) time.Time {
	now := time.Now()
	return now.Add(end.Sub(now) / time.Duration(networks))
}
