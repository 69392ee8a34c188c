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

// CrossValidation holds the metrics of models on rows that they were not trained on, fold by fold.
type CrossValidation struct {
	Task  Task
	Folds []Fold
}

// Fold is the result of one fold: a model and its baselines, trained on some rows and measured on the others.
type Fold struct {
	TrainingRows int                // including the validation rows
	TestRows     int                // rows that none of the models has seen
	Metrics      map[string]float64 // of psi's model; undefined ones are absent
	Baselines    []Baseline         // the simplest first
}

// CrossValidate trains one model per fold and measures it, and its baselines, on the rows that the fold holds out.
// Folds divide the rows as Train chooses validation rows: at random, by ValidationBy, or by OrderBy. With ValidationBy,
// rows with equal values stay in one fold. With OrderBy, each fold tests rows that are newer than all its training
// rows. Weights are chosen by validation rows among the training rows, never by test rows.
//
// The models have no bags and no audit. TimeBudget covers all folds. CrossValidate refuses Validation and
// ValidationAfter and ignores Checkpoint, Resume and ReferenceRows. As in Train, rows are kept in memory if they fit,
// else on disk. If ctx is cancelled, CrossValidate returns the finished folds and the error. The source is read once
// and not closed.
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
	before.Progress = nil // reported once for all folds
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
	report := withoutRepeats(c.Progress)
	if whole.Unlabelled > 0 {
		report(Progress{Stage: "read", Error: math.NaN(), Note: fmt.Sprintf("%d rows are left out: their target is missing", whole.Unlabelled)})
	}
	if whole.Weightless > 0 {
		report(Progress{Stage: "read", Error: math.NaN(), Note: fmt.Sprintf("%d rows are left out: their weight is 0", whole.Weightless)})
	}
	budget, done := c.TimeBudget, &CrossValidation{}
	for k := range folds {
		c.Progress = func(p Progress) {
			p.Fold, p.Folds, p.Done = k+1, folds, (float64(k)+p.Done)/float64(folds)
			p.Remaining = 0 // it covers the fold alone
			report(p)
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

// evaluatePlain measures the baselines on rows as Evaluate measures the model.
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

// fitted is the part of a training that only cross-validation keeps.
type fitted struct {
	plain      []baseline.Model // fitted on the encoded training rows
	plainUnits encode.Target    // units of their predictions of a number
	plainRows  int              // training and validation rows
}

// withoutBags applies change and then disables bags.
func withoutBags(change func(*Settings)) func(*Settings) {
	return func(s *Settings) {
		if change != nil {
			change(s)
		}
		s.Bags = 0
	}
}

// withoutRepeats reports each note once, although every fold repeats it.
func withoutRepeats(report func(Progress)) func(Progress) {
	reported := map[string]bool{}
	return func(p Progress) {
		if reported[p.Note] {
			p.Note, p.Warning = "", false
		}
		if p.Note != "" {
			reported[p.Note] = true
		}
		if report != nil {
			report(p)
		}
	}
}

// MetricSpread summarises a metric over the folds in which it is defined.
type MetricSpread struct {
	Mean  float64
	Std   float64 // over folds, √(Σ (x − mean)²/(n − 1)); NaN with one fold
	Folds int
}

// Spread summarises a metric of the named baseline, or of psi's model if name is "". It returns false if no fold has
// the metric.
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
	s.Std = math.Sqrt(squares / float64(s.Folds-1)) // 0/0 with one fold
	return s, s.Folds > 0
}

// Of returns the metrics of the named baseline, or of psi's model if name is "". It returns nil if the fold has no such
// baseline.
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
