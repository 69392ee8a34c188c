package psi

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/psi-shapley/psi/internal/baseline"
	"github.com/psi-shapley/psi/internal/dataset"
	"github.com/psi-shapley/psi/internal/encode"
)

// CrossValidation is how well models predict rows that they were not trained on.
type CrossValidation struct {
	Task  Task
	Folds []Fold
}

// Fold is one division of the rows: a model and its baselines, trained on some and measured on others.
type Fold struct {
	TrainingRows int                // those included that chose the weights
	TestRows     int                // that none of the models has seen
	Metrics      map[string]float64 // of psi's model, those that are defined
	Baselines    []Baseline         // the plainest first
}

// CrossValidate trains a model per fold and measures it, and its baselines, on the rows that the fold keeps out. Folds
// divide the rows as validation rows are chosen: at random; with ValidationBy so that rows with equal values stay
// together; or, with OrderBy, each fold tests rows that are newer than all it trains on. Weights are chosen by validation rows
// among those that train, never by those that test.
//
// Models have no bags and are not audited. TimeBudget is for all folds. Validation, ValidationAfter, Checkpoint and Resume
// are not for it. Rows are held as Train holds them: in memory while they fit, then on disk. If ctx ends, the
// folds that are done are returned beside the error.
func CrossValidate(ctx context.Context, rows Source, c Config, folds int) (done *CrossValidation, err error) {
	start := time.Now()
	c.fill()
	switch {
	case folds < 2:
		return nil, wrongSetting(fmt.Sprintf("%d folds are asked for", folds), "give 2 or more")
	case c.Validation != nil || c.ValidationAfter != "":
		return nil, wrongSetting("folds take the place of Config.Validation and Config.ValidationAfter", "leave them out")
	}
	before := training{Config: c}
	before.Progress = nil // the folds say it
	if _, err := before.inputs(rows.Schema()); err != nil {
		return nil, err
	}
	whole, err := dataset.ReadFolds(ctx, rows, dataset.Options{
		Target: c.Target, Task: c.Task, Weight: c.Weight, By: c.ValidationBy, OrderBy: c.OrderBy, Seed: c.Seed, Scratch: c.Scratch,
	}, folds)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, whole.Close()) }()
	c.Checkpoint, c.Resume, c.ReferenceRows, c.fold = "", false, 0, whole.Labels
	c.Change = withoutBags(c.Change)
	tell := once(c.Progress)
	if whole.Unlabelled > 0 {
		tell(Progress{Stage: "read", Error: math.NaN(), Note: fmt.Sprintf("%d rows are left out: their target is missing", whole.Unlabelled)})
	}
	if whole.Weightless > 0 {
		tell(Progress{Stage: "read", Error: math.NaN(), Note: fmt.Sprintf("%d rows are left out: their weight is 0", whole.Weightless)})
	}
	budget, done := c.TimeBudget, &CrossValidation{}
	for k := range folds {
		c.Progress = func(p Progress) {
			p.Fold, p.Folds, p.Done = k+1, folds, (float64(k)+p.Done)/float64(folds)
			p.Remaining = 0 // of the fold alone
			tell(p)
		}
		if budget > 0 {
			c.TimeBudget = max(1, (budget-time.Since(start))/time.Duration(folds-k))
		}
		task, fold, err := c.crossValidate(ctx, whole, k)
		if err != nil {
			return done, err
		}
		done.Task = task
		done.Folds = append(done.Folds, *fold)
	}
	return done, nil
}

// crossValidate trains and measures the models of a fold.
func (c Config) crossValidate(ctx context.Context, folds *dataset.Folds, k int) (Task, *Fold, error) {
	rows := folds.Training(ctx, k)
	defer rows.Close()
	m, err := Train(ctx, rows, c)
	if err != nil {
		return "", nil, err
	}
	defer m.Close()
	test := folds.Test(ctx, k)
	defer test.Close()
	e, err := m.Evaluate(ctx, test)
	if err != nil {
		return "", nil, err
	}
	again := folds.Test(ctx, k)
	defer again.Close()
	plain, err := m.evaluatePlain(ctx, again)
	if err != nil {
		return "", nil, err
	}
	return m.manifest.Task, &Fold{m.plainRows, e.Rows, finiteMetrics(*e), plain}, nil
}

// evaluatePlain measures the baselines that were fitted beside the model, as Evaluate measures the model.
func (m *Model) evaluatePlain(ctx context.Context, rows Source) ([]Baseline, error) {
	perBaseline := make([]*Evaluator, len(m.plain))
	for i := range perBaseline {
		perBaseline[i] = m.NewEvaluator()
	}
	outcomes := eachChunk(ctx, m, rows, span{}, nil, func(_ context.Context, c *chunk) ([]*Outcome, error) {
		truth, err := m.truth(c.table)
		if err != nil {
			return nil, err
		}
		weight := make([]float64, c.batch.Rows)
		for i, of := 0, m.weights(c.table); i < len(weight); i++ {
			weight[i] = of(i)
		}
		all := make([]*Outcome, len(m.plain))
		for i := range m.plain {
			all[i] = &Outcome{m.plainPrediction(m.plain[i].Predict(c.batch), m.plainUnits), truth, weight}
		}
		return all, nil
	})
	for all, err := range outcomes {
		if err != nil {
			return nil, err
		}
		for i, o := range all {
			perBaseline[i].Add(o)
		}
	}
	measured := make([]Baseline, len(m.plain))
	for i := range m.plain {
		measured[i] = Baseline{m.plain[i].Name, plainMetrics(perBaseline[i].evaluation())}
	}
	return measured, nil
}

// fitted is what a model keeps of its training for cross-validation alone.
type fitted struct {
	plain      []baseline.Model // on the encoded training rows
	plainUnits encode.Target    // of what they predict of a number
	plainRows  int              // that trained and validated
}

// withoutBags changes settings, and leaves the bags out.
func withoutBags(change func(*Settings)) func(*Settings) {
	return func(s *Settings) {
		if change != nil {
			change(s)
		}
		s.Bags = 0
	}
}

// once says each note once, though every fold has it.
func once(tell func(Progress)) func(Progress) {
	said := map[string]bool{}
	return func(p Progress) {
		if said[p.Note] {
			p.Note, p.Warning = "", false
		}
		if p.Note != "" {
			said[p.Note] = true
		}
		if tell != nil {
			tell(p)
		}
	}
}

// MetricSpread is a metric over the folds in which it is defined.
type MetricSpread struct {
	Mean  float64
	Std   float64 // of the folds, √(Σ (x − mean)²/(n − 1)); NaN of one fold
	Folds int
}

// Spread sums up a metric of the baseline with that name, or of psi's model if the name is empty. It is false if no fold has the metric.
func (c *CrossValidation) Spread(name, metric string) (MetricSpread, bool) {
	var s MetricSpread
	squares := 0.0
	for i := range c.Folds {
		x, known := c.Folds[i].Of(name)[metric]
		if !known {
			continue
		}
		s.Folds++
		away := x - s.Mean
		s.Mean += away / float64(s.Folds)
		squares += away * (x - s.Mean)
	}
	s.Std = math.Sqrt(squares / float64(s.Folds-1)) // 0/0 of one fold
	return s, s.Folds > 0
}

// Of is the metrics of a baseline, or of psi's model if the name is empty. It is nil if the fold has no such baseline.
func (f *Fold) Of(name string) map[string]float64 {
	if name == "" {
		return f.Metrics
	}
	for _, b := range f.Baselines {
		if b.Name == name {
			return b.Metrics
		}
	}
	return nil
}
