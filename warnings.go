package psi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/psi-shapley/psi/eval"
	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/internal/baseline"
	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/prose"
	"github.com/psi-shapley/psi/internal/train"
)

// Values of Warning.Kind.
const (
	NoBetterThanMean     = "no_better_than_mean"
	NoBetterThanLinear   = "no_better_than_linear"
	NoBetterThanAdditive = "no_better_than_additive"
	Leak                 = "leak"
	TooGood              = "too_good"
	CutShort             = "cut_short"
	StillFalling         = "still_falling"
)

// Warning is a reason to distrust a model as a whole. It may have learned too little, or from values that are not known
// at prediction time.
type Warning struct {
	Kind    string `json:"kind"`
	Message string `json:"message"` // one sentence on what was found
	Remedy  string `json:"remedy"`  // one sentence on what to do
}

// String returns Message and Remedy.
func (w Warning) String() string { return w.Message + " " + w.Remedy }

// Warnings returns the reasons to distrust the model, the most important first. It returns an empty slice, not nil, if
// there are none.
func (m *Model) Warnings() []Warning {
	list := []Warning{}
	if w, beaten := m.manifest.beaten(); beaten {
		list = append(list, w)
	}
	if w, suspicious := m.manifest.leak(); suspicious {
		list = append(list, w)
	}
	if m.manifest.cutShort() {
		list = append(list, Warning{
			CutShort, fmt.Sprintf("There was time for %s of the steps of effort %s.", percent(m.manifest.Provenance.Share), m.manifest.effort()),
			"Train with a longer time budget (Config.TimeBudget), or without one.",
		})
	} else if fall := lastFall(m.history); fall > stillFalling {
		list = append(list, Warning{
			StillFalling, fmt.Sprintf("The validation error was still falling when training ended: by %.1f %% in the last quarter of its steps.", 100*fall),
			m.manifest.trainLonger(),
		})
	}
	return list
}

// cutShort reports whether a time budget or an interruption skipped steps.
func (m *Manifest) cutShort() bool {
	share := m.Provenance.Share
	return share > 0 && math.Round(100*share) < 100
}

// percent formats a share in whole per cent.
func percent(share float64) string {
	if share < 0.01 {
		return "less than 1 %"
	}
	return fmt.Sprintf("%.0f %%", 100*share)
}

func (m *Manifest) effort() Effort { return cmp.Or(Effort(m.Provenance.Effort), Normal) }

// trainLonger says how to train longer.
func (m *Manifest) trainLonger() string {
	if m.effort() == Fast {
		return "Train with effort normal (Config.Effort=normal)."
	}
	return fmt.Sprintf("Train with more steps (Settings.Steps=%d).", 2*m.Settings.Steps)
}

// beaten returns a warning if the validation loss of a baseline is at most the model's. The mean has precedence,
// because a model that is no better has learned nothing. Otherwise the baseline with the lowest loss is named.
func (m *Manifest) beaten() (w Warning, beaten bool) {
	metric := m.LossMetric()
	own, known := m.Metrics[metric]
	if !known {
		return Warning{}, false
	}
	var best *Baseline
	for _, b := range m.PlainModels() {
		loss, measured := b.Metrics[metric]
		if !measured || loss > own {
			continue
		}
		if best == nil || best.Name != baseline.Mean && loss < best.Metrics[metric] {
			best = &b
		}
	}
	if best == nil {
		return Warning{}, false
	}
	figures := fmt.Sprintf("%s %s on validation rows, against %s", lossWords(metric), prose.Number(own), prose.Number(best.Metrics[metric]))
	if r2, known := m.Metrics["r2"]; known && metric == "rmse" {
		figures += fmt.Sprintf(" (R² %.3f, against %.3f)", r2, best.Metrics["r2"])
	}
	switch best.Name {
	case baseline.Linear:
		return m.beatenByLinear(figures), true
	case baseline.Additive:
		return Warning{
			NoBetterThanAdditive, fmt.Sprintf("The model predicts no better than an additive model, one curve for each column: %s.", figures),
			m.learnMore() + ", or use an additive model instead.",
		}, true
	}
	constant := "the mean of the target"
	if m.Task != Regression {
		constant = "the base rate of each class"
	}
	return Warning{
		NoBetterThanMean, fmt.Sprintf("The model predicts no better than %s: %s.", constant, figures),
		"Do not use it: its columns may not tell the target. Train with more rows, other columns or more effort (Config.Effort=best).",
	}, true
}

// learnMore says how the model may become better than a baseline.
func (m *Manifest) learnMore() string {
	if m.cutShort() {
		return "Train with a longer time budget (Config.TimeBudget)"
	}
	return "Train with more rows or more effort (Config.Effort=best)"
}

func (m *Manifest) beatenByLinear(figures string) Warning {
	const limit, named = 40, 5 // columns of a setting, and of a sentence
	n := len(m.LinearColumns)
	if n == 0 || n > limit {
		return Warning{
			NoBetterThanLinear, fmt.Sprintf("The model predicts no better than a linear model: %s.", figures),
			m.learnMore() + ", or use a linear model instead.",
		}
	}
	names := strings.Join(m.LinearColumns[:min(n, named)], ", ")
	if more := n - named; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return Warning{
		NoBetterThanLinear, fmt.Sprintf("The model predicts no better than a linear model of %d of the %d columns (%s): %s.", n, len(m.Columns), names, figures),
		fmt.Sprintf("Train on these alone (%s), or use a linear model instead.", columnsSetting("table.Options.Keep", m.LinearColumns)),
	}
}

func lossWords(metric string) string {
	if metric == "log_loss" {
		return "log loss"
	}
	return metric
}

// stillFalling is the smallest fall of the validation error in the last quarter of the steps that causes a warning. ADR
// 0029 lists the falls of trainings that were long enough, and of others.
const stillFalling = 0.025

// lastFall returns the share by which the best validation error of phase fit fell in the last quarter of its steps,
// averaged over members. It returns 0 if the history does not contain it.
func lastFall(history []byte) float64 {
	lines, err := csv.NewReader(bytes.NewReader(history)).ReadAll()
	if err != nil || len(lines) < 2 || !slices.Equal(lines[0], historyColumns()) {
		return 0
	}
	type point struct {
		step  int
		score float64
	}
	members := map[string][]point{}
	var order []string
	for _, line := range lines[1:] {
		step, wrongStep := strconv.Atoi(line[2])
		score, wrongScore := strconv.ParseFloat(line[4], 64)
		if line[1] != "fit" || wrongStep != nil || wrongScore != nil || !(score > 0) {
			continue
		}
		if members[line[0]] == nil {
			order = append(order, line[0])
		}
		members[line[0]] = append(members[line[0]], point{step, score})
	}
	sum := 0.0
	for _, member := range order {
		points := members[member]
		last := points[len(points)-1].step
		before, best := math.Inf(1), math.Inf(1)
		for _, p := range points {
			best = min(best, p.score)
			if 4*p.step <= 3*last {
				before = best
			}
		}
		if !math.IsInf(before, 1) {
			sum += (before - best) / before / float64(len(order))
		}
	}
	return sum
}

// Baseline is a simple model fitted on the same training rows as psi's model, with its metrics on the same validation
// rows.
type Baseline struct {
	Name    string             `json:"name"` // "mean", "linear" or "additive"
	Metrics map[string]float64 `json:"metrics"`
}

// Label returns the baseline's name for people.
func (b Baseline) Label(task Task) string {
	switch {
	case b.Name == baseline.Linear:
		return "linear model"
	case b.Name == baseline.Additive:
		return "additive model"
	case task != Regression:
		return "base rate"
	}
	return "mean"
}

// LossMetric returns the metric that compares the model with its baselines: "rmse", "mae" or "log_loss". Lower is
// better.
func (m *Manifest) LossMetric() string {
	switch {
	case m.Task != Regression:
		return "log_loss"
	case m.Scale.Link == encode.Log:
		return "mae" // predictions are medians, which minimise mae; means minimise rmse
	}
	return "rmse"
}

// PlainModels returns the baselines, the simplest first. It returns nil for models of versions that had none.
func (m *Manifest) PlainModels() []Baseline {
	var list []Baseline
	for _, name := range baseline.Names() {
		if metrics, known := m.Baselines[name]; known {
			list = append(list, Baseline{name, metrics})
		}
	}
	return list
}

// checkBaselines rejects unknown baselines and columns that the model does not have.
func (m *Manifest) checkBaselines() error {
	for name := range m.Baselines {
		if !slices.Contains(baseline.Names(), name) {
			return fmt.Errorf("unknown baseline %q", name)
		}
	}
	names := columnNames(m.Columns)
	for _, name := range m.LinearColumns {
		if !slices.Contains(names, name) {
			return fmt.Errorf("the linear baseline has an unknown column %.40q", name)
		}
	}
	return nil
}

// baselines fits the baselines on the training rows, measures them on the validation rows and stores the metrics in the
// manifest.
func (t *training) baselines(ctx context.Context, m *Model) error {
	models, err := baseline.Fit(ctx, baseline.Problem{
		Rows: t.plainTraining(), Units: t.in.Units, Classes: len(t.in.Target.Classes), Base: t.in.Target.Base,
	})
	if err != nil {
		return err
	}
	m.manifest.Baselines = map[string]map[string]float64{}
	for i := range models {
		m.manifest.Baselines[models[i].Name] = m.measurePlain(models[i].Predict(t.in.Validation.Rows), t.in.Plain, labels(t.in.Validation, t.in.Target), t.in.Validation.Weight)
		for _, player := range models[i].Columns {
			m.manifest.LinearColumns = append(m.manifest.LinearColumns, t.in.Encoder.Players[player].Name)
		}
	}
	if t.fold != nil {
		m.fitted = fitted{models, t.in.Plain, t.in.Rows}
	}
	return nil
}

// measurePlain measures a baseline's predictions; targets are as returned by labels.
func (m *Model) measurePlain(predictions []float64, units encode.Target, targets []float64, weights []float32) map[string]float64 {
	p, all := m.plainPrediction(predictions, units), m.NewEvaluator()
	for i, y := range targets {
		all.add(p, i, y, float64(weights[i]))
	}
	return plainMetrics(all.evaluation())
}

// plainPrediction converts a baseline's output, numbers encoded by units or probabilities, into a Prediction.
func (m *Model) plainPrediction(predictions []float64, units encode.Target) *Prediction {
	p := &Prediction{Probability: predictions, Classes: m.manifest.Classes()}
	if !m.classes() {
		none := make([]float64, len(predictions))
		p = &Prediction{scores: make([]float64, len(predictions)), stds: none, ranges: none}
		for i, v := range predictions {
			p.scores[i] = units.Mean + units.Std*v
		}
		p.link = explain.Link{Scale: explain.Identity, NonNegative: units.NonNegative}
		p.Mean = p.link.Responses(p.scores)
	}
	return p
}

// plainMetrics returns a baseline's metrics. Baselines of a number have no uncertainty, so its metrics are left out.
func plainMetrics(e eval.Evaluation) map[string]float64 {
	metrics := finiteMetrics(e)
	for _, name := range []string{"nll", "coverage_50", "coverage_90"} {
		delete(metrics, name)
	}
	return metrics
}

// finiteMetrics returns the metrics that are defined.
func finiteMetrics(e eval.Evaluation) map[string]float64 {
	metrics := map[string]float64{}
	for _, metric := range e.Metrics {
		if !math.IsNaN(metric.Value) && !math.IsInf(metric.Value, 0) {
			metrics[metric.Name] = metric.Value
		}
	}
	return metrics
}

// Suspect is a column that predicts the target almost perfectly by itself. It may leak the target, that is, be known
// only after the target is.
type Suspect struct {
	Column string  `json:"column"`
	Metric string  `json:"metric"` // "r2", "auroc" or "macro_auroc"
	Value  float64 `json:"value"`  // out of fold, on training rows
}

// Thresholds above which a column is a suspect. Skill (R², or 2·AUROC − 1) cannot exceed 1, so that such a column has
// 95 % of the model's skill too.
const (
	suspectR2    = 0.95
	suspectAUROC = 0.98
)

// tooGood is the R² or AUROC above which a model is suspicious.
const tooGood = 0.999

// skillMetric returns the metric whose best value is 1.
func (m *Manifest) skillMetric() string {
	switch m.Task {
	case Binary:
		return "auroc"
	case Multiclass:
		return "macro_auroc"
	}
	return "r2"
}

func (m *Manifest) suspectFrom() float64 {
	if m.Task == Regression {
		return suspectR2
	}
	return suspectAUROC
}

// suspects returns the columns that may leak the target, in descending order of skill.
func (t *training) suspects(ctx context.Context, m *Model) ([]Suspect, error) {
	metric := m.manifest.skillMetric()
	values := map[string]float64{}
	p := baseline.Problem{Rows: t.plainTraining(), Units: t.in.Units, Classes: len(t.in.Target.Classes)}
	err := baseline.EachAlone(ctx, p, func(player int, predictions []float64, rows train.Data) {
		if v, known := m.measurePlain(predictions, t.in.Plain, labels(rows, t.in.Plain), rows.Weight)[metric]; known && v >= m.manifest.suspectFrom() {
			name := t.in.Encoder.Players[player].Name
			values[name] = max(v, values[name])
		}
	})
	var list []Suspect
	for _, f := range m.manifest.Columns {
		if v, suspect := values[f.Name]; suspect {
			list = append(list, Suspect{f.Name, metric, v})
		}
	}
	slices.SortStableFunc(list, func(a, b Suspect) int { return cmp.Compare(b.Value, a.Value) })
	return list, err
}

// checkSuspects rejects columns and metrics that the model does not have.
func (m *Manifest) checkSuspects() error {
	names := columnNames(m.Columns)
	for _, s := range m.Suspects {
		if !slices.Contains(names, s.Column) || s.Metric != m.skillMetric() || math.IsNaN(s.Value) || s.Value > 1 {
			return fmt.Errorf("unsound suspect column %q", s.Column)
		}
	}
	return nil
}

// leak warns of suspect columns, or of a model whose skill is suspiciously high.
func (m *Manifest) leak() (w Warning, suspicious bool) {
	metric := m.skillMetric()
	if len(m.Suspects) > 0 {
		return m.leakOf(m.Suspects), true
	}
	if v := m.Metrics[metric]; v >= tooGood {
		return Warning{
			TooGood, fmt.Sprintf("The model is suspiciously good: %s %.5g on %d validation rows.", skillWords(metric), v, m.Provenance.ValidationRows),
			"Check that no column is computed from the target or known only after it, and that rows which belong together do not both train and validate (Config.ValidationBy).",
		}, true
	}
	return Warning{}, false
}

func (m *Manifest) leakOf(suspects []Suspect) Warning {
	const limit = 5
	texts, names := make([]string, len(suspects)), make([]string, len(suspects))
	for i, s := range suspects {
		names[i], texts[i] = s.Column, fmt.Sprintf("%q (%s %.4g)", s.Column, skillWords(s.Metric), s.Value)
	}
	if len(names) == 1 {
		return Warning{
			Leak, fmt.Sprintf("Column %s alone predicts %q almost perfectly.", texts[0], m.Target),
			fmt.Sprintf("Is it known when you predict? If not, train again without it (%s).", columnsSetting("Config.Drop", names)),
		}
	}
	if more := len(texts) - limit; more > 0 {
		texts = append(texts[:limit], fmt.Sprintf("%d more", more))
	}
	last := len(texts) - 1
	return Warning{
		Leak, fmt.Sprintf("Each of the columns %s and %s alone predicts %q almost perfectly.", strings.Join(texts[:last], ", "), texts[last], m.Target),
		fmt.Sprintf("Are they known when you predict? Train again without those that are not (%s).", columnsSetting("Config.Drop", names)),
	}
}

// plainNames matches names that need no quotes in a shell or in a list.
var plainNames = regexp.MustCompile(`^[\pL\pN_.,-]+$`)

// columnsSetting returns a setting with column names, or without them if they need quotes.
func columnsSetting(setting string, names []string) string {
	if list := strings.Join(names, ","); plainNames.MatchString(list) && strings.Count(list, ",") == len(names)-1 {
		return setting + "=" + list
	}
	return setting
}

func skillWords(metric string) string {
	switch metric {
	case "auroc":
		return "AUROC"
	case "macro_auroc":
		return "macro AUROC"
	}
	return "R²"
}
