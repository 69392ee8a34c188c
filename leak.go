package psi

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/psi-shapley/psi/internal/baseline"
	"github.com/psi-shapley/psi/internal/train"
)

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
