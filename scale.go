package psi

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/prose"
	"github.com/psi-shapley/psi/internal/train"
	"github.com/psi-shapley/psi/table"
)

// Values of Config.TargetScale.
const (
	AutoScale     = "auto"
	IdentityScale = "identity"
	LogMeanScale  = string(encode.LogMean)
	LogScale      = string(encode.Log)
)

// ScaleChoice records how the scale of a number was chosen: by the validation errors of one network per scale, each
// trained for a third of the steps.
type ScaleChoice struct {
	Skewness     float64 `json:"skewness"`      // of the target
	IdentityRMSE float64 `json:"identity_rmse"` // in the target's own units
	LogMeanRMSE  float64 `json:"log_mean_rmse"`
}

func (c *ScaleChoice) validate() error {
	if c != nil && math.IsNaN(c.Skewness+c.IdentityRMSE+c.LogMeanRMSE) {
		return errors.New("invalid target scale: its skewness or an error is not a number")
	}
	return nil
}

// TargetScaleName returns the scale on which a number was learned: IdentityScale, LogMeanScale or LogScale. It returns
// "share" for classes of trees that predict probabilities, and "" for other classes.
func (m *Manifest) TargetScaleName() string {
	switch {
	case m.Scale.Link == encode.Probability:
		return string(explain.Share)
	case m.Task != Regression:
		return ""
	case m.Scale.Link == encode.IdentityLink:
		return IdentityScale
	}
	return string(m.Scale.Link)
}

// link returns the link of the scale to start with.
func (t *training) link(labels *encode.Labels) (encode.Link, error) {
	switch t.TargetScale {
	case AutoScale, "":
		if labels.Skewed() {
			t.skewness = labels.Skewness()
			return encode.LogMean, nil
		}
		return encode.IdentityLink, nil
	case IdentityScale:
		return encode.IdentityLink, nil
	case LogMeanScale, LogScale:
		if !labels.Positive() {
			return "", &table.Error{
				Row: -1, Column: t.Target, Message: fmt.Sprintf("the target is not above 0 in every row, so that it has no scale %s", t.TargetScale),
				Remedy: "use the scale identity, whose predictions are not negative if the target never is",
			}
		}
		return encode.Link(t.TargetScale), nil
	}
	return "", wrongSetting(fmt.Sprintf("unknown target scale %q", t.TargetScale), fmt.Sprintf("choose %s, %s, %s or %s", AutoScale, IdentityScale, LogMeanScale, LogScale))
}

// scaleShare is the share of a time budget for the trials of scales.
const scaleShare = 0.2

// clearlyBetter is the largest ratio of errors that decides for the target's own units. On a target that spans several
// decades, a few rows dominate the error, so an error of some hundred rows may be off by as much. The log of the mean
// then keeps these rows from dominating the others.
const clearlyBetter = 0.9

// chooseScale tries the scales of a skewed target. It chooses log-mean unless the target's own units are clearly
// better.
func (t *training) chooseScale(ctx context.Context, m *Model) (*ScaleChoice, error) {
	if t.skewness == 0 {
		return nil, nil
	}
	logMean, err := t.tryScale(ctx, m, 0)
	if err != nil {
		return nil, err
	}
	tried := *t.in
	choosing, aside := t.choosing, t.aside
	t.setTarget(m, t.in.Plain)
	identity, err := t.tryScale(ctx, m, 1)
	if err != nil {
		return nil, err
	}
	choice := &ScaleChoice{Skewness: t.skewness, IdentityRMSE: rootMean(identity, t.choosing.Weight), LogMeanRMSE: rootMean(logMean, t.choosing.Weight)}
	if choice.IdentityRMSE > clearlyBetter*choice.LogMeanRMSE {
		*t.in, t.choosing, t.aside = tried, choosing, aside
		m.manifest.Scale = t.in.Target
	}
	return choice, nil
}

// setTarget moves all rows to another scale of the same target.
func (t *training) setTarget(m *Model, to encode.Target) {
	from := t.in.Target
	on := func(v float32) float32 { return to.Recode(v, from) }
	t.in.Training = train.Retargeted{Store: t.in.Training, On: on}
	t.in.Validation, t.choosing, t.aside = t.in.Validation.Retarget(on), t.choosing.Retarget(on), t.aside.Retarget(on)
	to.Reading = from.Reading
	t.in.Target, m.manifest.Scale = to, to
}

// plainTraining returns the training rows with targets in their own units, divided by the standard deviation.
func (t *training) plainTraining() train.Store {
	if t.in.Target.Link == encode.IdentityLink {
		return t.in.Training
	}
	return train.Retargeted{Store: t.in.Training, On: func(v float32) float32 { return t.in.Plain.Recode(v, t.in.Target) }}
}

// short returns settings with a third of the steps that train only the mean.
func (s Settings) short() Settings {
	s.Steps, s.RefitSteps = (s.Steps+2)/3, (s.RefitSteps+2)/3
	s.AbsentSteps, s.SpreadSteps, s.PolishSteps = 0, 0, 0
	return s
}

// tryScale trains the mean of a network for a third of the steps, and returns the squared error of each validation row
// in squared units of the target.
func (t *training) tryScale(ctx context.Context, m *Model, i int) ([]float64, error) {
	run, err := t.newRun(t.settings.short(), t.settings.Members) // a seed that no member has
	if err != nil {
		return nil, err
	}
	defer run.Close()
	watch := train.RunOptions{StopEarly: t.StopEarly, Progress: func(p train.Progress) {
		t.report(Progress{Stage: "scale", Step: p.Step, Steps: p.Steps, Done: (float64(i) + p.Done) / 2, Error: math.NaN()})
	}}
	if t.TimeBudget > 0 {
		watch.Deadline = t.start.Add(time.Duration(scaleShare * float64(t.TimeBudget) * float64(i+1) / 2))
	}
	if err := run.Train(ctx, watch); err != nil {
		return nil, err
	}
	weights, err := run.Weights()
	if err != nil {
		return nil, err
	}
	trial := &Model{manifest: m.manifest, config: m.config, members: []form.Member{{Weights: weights, Nodes: run.Nodes()}}}
	trial.manifest.Nodes = []int{run.Nodes()}
	if err := trial.prepare(t.passes(m.config)); err != nil {
		return nil, err
	}
	defer trial.Close()
	x, err := trial.own.Pass(ctx, t.choosing.Rows, 0)
	if err != nil {
		return nil, err
	}
	squares := trial.link().Responses(trial.scores(x.Value))
	for i, y := range labels(t.choosing, t.in.Target) {
		squares[i] = square(squares[i] - y)
	}
	return squares, nil
}

func rootMean(squares []float64, weights []float32) float64 {
	sum, total := 0.0, 0.0
	for i, v := range squares {
		sum, total = sum+float64(weights[i])*v, total+float64(weights[i])
	}
	return math.Sqrt(sum / total)
}

// ScaleText explains on which scale a number was learned and why. It returns "" for the target's own units if no other
// scale was tried.
func (m *Manifest) ScaleText() string {
	c := m.TargetScale
	if c != nil {
		tried := fmt.Sprintf("%s is positive and skewed (skewness %.2g), and in short trials the rmse was %s on the scale %s and %s on its own",
			m.Target, c.Skewness, prose.Number(c.LogMeanRMSE), LogMeanScale, prose.Number(c.IdentityRMSE))
		if m.Scale.Link == encode.IdentityLink {
			return tried + ": it is learned on its own scale (identity)."
		}
		if c.IdentityRMSE < c.LogMeanRMSE {
			tried += ", which is not clearly better"
		}
		return tried + fmt.Sprintf(": the log of its mean is learned (%s), and predictions are means.", LogMeanScale)
	}
	switch m.Scale.Link {
	case encode.LogMean:
		return fmt.Sprintf("The log of the mean of %s is learned (%s), and predictions are means.", m.Target, LogMeanScale)
	case encode.Log:
		return fmt.Sprintf("The log of %s is learned (%s), so that predictions are medians, which add up to less than the targets do; the scale %s predicts means.", m.Target, LogScale, LogMeanScale)
	}
	return ""
}
