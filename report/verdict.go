package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/internal/prose"
)

// tooGood is the R² or AUROC from which a model is suspicious.
const tooGood = .999

// muchWorse is a decrease of R² or AUROC beyond chance.
const muchWorse = .01

// worthWatching is the minimum share of all attributions that a warning must affect to be named in the verdict.
const worthWatching = .01

// verdict summarises the report in three sentences: what is predicted and how well, what drives it, and what to watch.
func (r *Report) verdict(suspects []psi.Suspect) []string {
	return []string{r.howWell(), r.drivers(), r.watch(suspects)}
}

// skillMetric returns the metric that decides how good a model is.
func (r *Report) skillMetric() string {
	return map[psi.Task]string{psi.Regression: "r2", psi.Binary: "auroc", psi.Multiclass: "macro_auroc"}[r.Model.Task]
}

// tellsOfAside reports whether the first page shows the validation rows of the training. It does, because the table may
// contain training rows, unless the model does worse on the table, which may come from another time or place.
func (r *Report) tellsOfAside() bool {
	m := metricOf(r.Performance.Metrics, r.skillMetric())
	return m.Value == nil || m.Validation != nil && *m.Validation < *m.Value+muchWorse
}

func (r *Report) howWell() string {
	what, m := r.predicted(), measured{r, r.tellsOfAside()}
	skill := m.value(r.skillMetric())
	if skill == nil {
		return fmt.Sprintf("The model predicts %s; its accuracy is not known.", what)
	}
	figures := m.words(*skill)
	kinds := map[string]string{
		psi.NoBetterThanMean: "always predicting the mean", psi.NoBetterThanLinear: "a linear model", psi.NoBetterThanAdditive: "an additive model",
	}
	if r.Model.Classes != nil {
		kinds[psi.NoBetterThanMean] = "always predicting the share of each class"
	}
	for _, w := range r.Warnings {
		if plain, beaten := kinds[w.Kind]; beaten {
			return fmt.Sprintf("The model predicts %s no better than %s: %s.", what, plain, figures)
		}
	}
	if *skill >= tooGood {
		return fmt.Sprintf("The model predicts %s almost without error. This rarely holds on new rows: find out why before you rely on it.", what)
	}
	return fmt.Sprintf("The model predicts %s %s: %s.", what, m.level(*skill), figures)
}

// predicted describes what the model predicts.
func (r *Report) predicted() string {
	switch r.Model.Task {
	case psi.Binary:
		return fmt.Sprintf("whether %s is %s", r.Model.Target, r.Model.Classes[1])
	case psi.Multiclass:
		return fmt.Sprintf("which of %d classes %s is", len(r.Model.Classes), r.Model.Target)
	}
	return r.Model.Target
}

// measured holds the metrics of some rows: the validation rows of the training, or those of the table.
type measured struct {
	*Report
	aside bool
}

func (m measured) rows() string {
	if m.aside {
		return "on rows held out from training"
	}
	return "on the rows of " + m.Data.Name
}

func (m measured) value(name string) *float64 {
	if m.aside {
		return metricOf(m.Performance.Metrics, name).Validation
	}
	return metricOf(m.Performance.Metrics, name).Value
}

// plain returns the result of the simplest guess.
func (m measured) plain(name string) *float64 {
	if !m.aside {
		if name == "mae" {
			return nil
		}
		return m.Performance.Plain
	}
	at := slices.IndexFunc(m.Performance.Metrics, func(metric Metric) bool { return metric.Name == name })
	if at < 0 || len(m.Performance.Baselines) == 0 || m.Performance.Baselines[0].Name != "mean" {
		return nil
	}
	return m.Performance.Baselines[0].Values[at]
}

// words describes the quality in figures that need no statistics.
func (m measured) words(skill float64) string {
	switch m.Model.Task {
	case psi.Binary:
		return fmt.Sprintf("it ranks two rows of different classes correctly in %.0f of 100 cases (chance: 50), %s", math.Floor(100*skill), m.rows())
	case psi.Multiclass:
		if right := m.value("accuracy"); right != nil {
			words := fmt.Sprintf("it predicts the right class in %s of cases", percent(*right))
			if plain := m.plain("accuracy"); plain != nil {
				words += fmt.Sprintf(" (always predicting the most common class: %s)", percent(*plain))
			}
			return words + ", " + m.rows()
		}
	case psi.Regression:
		metric, words := "rmse", "its typical error is "
		if m.Scale == explain.Log {
			metric, words = "mae", "the mean absolute error of its medians is " // the median minimises it
		}
		if off := m.value(metric); off != nil {
			words += threeDigits(*off)
			if plain := m.plain(metric); plain != nil {
				words += fmt.Sprintf(" (always predicting the mean: %s)", threeDigits(*plain))
			}
			return words + ", " + m.rows()
		}
	}
	return m.rows()
}

// level expresses an R² or AUROC in words.
func (m measured) level(skill float64) string {
	from := []float64{.9, .7, .4, .1}
	if m.Model.Classes != nil {
		from = []float64{.9, .8, .7, .6}
	}
	for i, words := range []string{"very well", "well", "moderately well", "weakly"} {
		if skill >= from[i] {
			return words
		}
	}
	return "hardly at all"
}

func metricOf(list []Metric, name string) Metric {
	if at := slices.IndexFunc(list, func(m Metric) bool { return m.Name == name }); at >= 0 {
		return list[at]
	}
	return Metric{}
}

// threeDigits writes a number with three digits, or with all integer digits.
func threeDigits(v float64) string {
	if v >= 100 && v < 1e15 {
		return prose.Thousands(int(math.Round(v)))
	}
	return fmt.Sprintf("%.3g", v)
}

// drivers names the columns that move predictions most.
func (r *Report) drivers() string {
	const most = 3
	order, shares := overall(r.Importances), r.shares()
	names, together := []string{}, 0.0
	for _, d := range order[:min(len(order), most)] {
		if shares[d] > 0 {
			names, together = append(names, r.Players[d].Name), together+shares[d]
		}
	}
	switch {
	case len(names) == 0:
		return "No column changes its predictions."
	case len(order) == 1:
		return names[0] + " alone drives its predictions."
	case len(names) == 1:
		return fmt.Sprintf("%s drives its predictions: it has %s of the total importance.", names[0], percent(together))
	}
	all := ""
	if len(order) > len(names) {
		all = fmt.Sprintf("; together they have %s of the total importance", percent(together))
	}
	return fmt.Sprintf("%s has the most influence, followed by %s%s.", names[0], joined(names[1:]), all)
}

// watch names the most important caveat in a sentence.
func (r *Report) watch(suspects []psi.Suspect) string {
	if len(r.Warnings) == 0 || r.Warnings[0].Change < worthWatching {
		return "No check found a reason not to use it. Monitor whether new rows stay similar to these."
	}
	w := r.Warnings[0]
	var names []string
	for _, at := range w.Columns {
		names = append(names, r.Columns[at].Name)
	}
	column := strings.Join(names, ", ")
	switch w.Kind {
	case psi.NoBetterThanMean:
		return "Do not use it: its columns may not predict the target."
	case psi.NoBetterThanLinear, psi.NoBetterThanAdditive:
		return "Before you rely on it, train it longer or on more rows, or use the simpler model."
	case psi.Leak:
		return ask(suspects)
	case psi.TooGood:
		return "First check whether some column is known only after the outcome."
	case psi.CutShort, psi.StillFalling:
		return "Longer training would have made it better, so do not treat it as the best possible model."
	case kindCalibration:
		return "Watch its stated uncertainty: it does not match the observed outcomes."
	case kindAttributions:
		return "Be careful with attributions of single columns: they are only roughly right."
	case kindAssociated:
		return fmt.Sprintf("Watch %s together: they carry much the same information, so how the credit splits between them means little.", joined(names))
	case kindMissing:
		return fmt.Sprintf("Watch %s: many of its cells are missing.", column)
	case kindConstant:
		return fmt.Sprintf("Watch %s: it has only one value here, so these rows cannot show what another value would do.", column)
	case kindUnknown:
		return fmt.Sprintf("Watch %s: it has labels that were absent or very rare in training.", column)
	case kindOutside:
		return fmt.Sprintf("Watch %s: it has values outside the training range.", column)
	}
	return fmt.Sprintf("Watch %s: some of its labels are so rare that results for them rest on few rows.", column)
}

// ask asks about columns that may leak the target.
func ask(suspects []psi.Suspect) string {
	names := make([]string, len(suspects))
	for i, s := range suspects {
		names[i] = s.Column
	}
	return fmt.Sprintf("First check whether %s %s known when you predict: %s the outcome almost perfectly.",
		joined(names), either(len(names), "is", "are"), either(len(names), "it alone predicts", "each of them alone predicts"))
}
