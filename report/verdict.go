package report

import (
	"cmp"
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

// notableDrop is a decrease of R² or AUROC beyond chance.
const notableDrop = .01

// minAffectedShare is the minimum share of all attributions that a warning must affect to be named in the verdict.
const minAffectedShare = .01

// verdict summarises the report in three sentences: what is predicted and how well, what drives it, and what to watch.
func (r *Report) verdict(suspects []psi.Suspect) []string {
	return []string{r.howWell(), r.drivers(), r.watch(suspects)}
}

// skillMetric returns the metric that decides how good a model is.
func (r *Report) skillMetric() string {
	return map[psi.Task]string{psi.Regression: "r2", psi.Binary: "auroc", psi.Multiclass: "macro_auroc"}[r.Model.Task]
}

// showsValidation reports whether the first page shows the validation rows of the training. It does, because the table may
// contain training rows, unless the model does worse on the table, which may come from another time or place.
func (r *Report) showsValidation() bool {
	m := metricOf(r.Performance.Metrics, r.skillMetric())
	return m.Value == nil || m.Validation != nil && *m.Validation < *m.Value+notableDrop
}

func (r *Report) howWell() string {
	what, m := r.predicted(), measured{r, r.showsValidation()}
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
		return "on " + m.Model.made.measuredRows()
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
	const limit = 3
	order, shares := overall(r.Importances), r.shares()
	names, together := []string{}, 0.0
	for _, d := range order[:min(len(order), limit)] {
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

// unmeasured reports whether nothing says how well the model predicts.
func (r *Report) unmeasured() bool {
	return measured{r, r.showsValidation()}.value(r.skillMetric()) == nil
}

// watch names the most important caveat in a sentence.
func (r *Report) watch(suspects []psi.Suspect) string {
	if r.Model.Imported != nil && r.unmeasured() {
		return "Measure it before you rely on it: no rows with known outcomes were given."
	}
	if len(r.Warnings) == 0 || r.Warnings[0].Change < minAffectedShare {
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
		return "Longer training may make it better, so do not treat it as the best possible model."
	case kindCalibration:
		if r.Model.made != "" {
			return "Watch its " + map[bool]string{true: "prediction intervals", false: "probabilities"}[r.Model.Classes == nil] + ": they do not match the observed outcomes."
		}
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
		if r.Model.trees {
			return fmt.Sprintf("Watch %s: it has labels that the trees do not have.", column)
		}
		return fmt.Sprintf("Watch %s: it has labels that were absent or very rare in training.", column)
	case kindOutside:
		if r.Model.trees {
			return fmt.Sprintf("Watch %s: it has values outside the range of the rows that the model was imported with.", column)
		}
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
		joined(names), singularOrPlural(len(names), "is", "are"), singularOrPlural(len(names), "it alone predicts", "each of them alone predicts"))
}

// Thresholds of warnings.
const (
	manyMissing  = .2
	fewOutside   = .001
	strongEnough = .8
)

// Kinds of warnings, besides those of the model.
const (
	kindCalibration  = "calibration"
	kindAttributions = "attributions"
	kindMissing      = "missing"
	kindConstant     = "constant"
	kindUnknown      = "unknown"
	kindOutside      = "outside"
	kindRare         = "rare"
	kindAssociated   = "associated"
)

// warnings returns the caveats for readers, those with the largest effect first: about the model as a whole, then about
// columns.
func (r *Report) warnings(ofModel []psi.Warning) []Warning {
	list := []Warning{}
	for _, w := range ofModel {
		list = append(list, Warning{w.Kind, []int{}, w.String(), 1})
	}
	if r.Calibration.Level == "poor" {
		list = append(list, Warning{kindCalibration, []int{}, r.Calibration.Verdict, 1})
	}
	if r.Trust.Level == "rough" || r.Trust.Level == "poor" {
		list = append(list, Warning{kindAttributions, []int{}, r.Trust.Verdict, 1})
	}
	list = append(list, r.ofColumns()...)
	slices.SortStableFunc(list, func(a, b Warning) int { return cmp.Compare(b.Change, a.Change) })
	return list
}

// ofColumns returns the warnings about columns. The effect of a warning is the share of all attributions that its
// columns have in the affected rows.
func (r *Report) ofColumns() []Warning {
	list := []Warning{}
	rows, shares := float64(r.Data.Rows), r.sharesOfColumns()
	for i := range r.Columns {
		c := &r.Columns[i]
		warn := func(kind string, cells int, words string, values ...any) {
			list = append(list, Warning{kind, []int{i}, fmt.Sprintf(words, values...), shares[i] * float64(cells) / rows})
		}
		if share := float64(c.Missing) / rows; c.Missing == r.Data.Rows {
			warn(kindMissing, c.Missing, "%s is missing in every row.", c.Name)
		} else if share >= manyMissing {
			words := "%s is missing in %s of rows. In those rows it has no attribution, and the model predicts without it."
			if c.GapLevel {
				words = "%s is missing in %s of rows. The model treats a missing cell as a value of its own, which has an attribution."
			}
			warn(kindMissing, c.Missing, words, c.Name, percent(share))
		}
		if c.constant() {
			warn(kindConstant, r.Data.Rows, "%s has only one value: these rows cannot show what it does.", c.Name)
		}
		if c.Unknown > 0 {
			words := "%s of %s %s a label that was absent or very rare in training. The model treats all such labels as one, “other”."
			if r.Model.trees {
				words = "%s of %s %s a label that the trees do not have. They treat all such labels alike."
			}
			warn(kindUnknown, c.Unknown, words, prose.Count(c.Unknown, "cell"), c.Name, singularOrPlural(c.Unknown, "has", "have"))
		}
		if float64(c.Outside) > fewOutside*rows {
			words := "%s of %s %s outside the training range: results for these rows are a guess from the nearest values."
			if r.Model.trees {
				words = "%s of %s %s outside the range of the rows that the model was imported with: nothing was measured there."
			}
			warn(kindOutside, c.Outside, words, prose.Count(c.Outside, "cell"), c.Name, singularOrPlural(c.Outside, "lies", "lie"))
		}
		if c.Rare > 0 && c.Levels > 2 {
			warn(kindRare, c.InRare, "%d of the %d labels of %s %s in fewer than %d rows: results for %s rest on little data.", c.Rare, c.Levels, c.Name, singularOrPlural(c.Rare, "is", "are"), rareRows, singularOrPlural(c.Rare, "it", "them"))
		}
	}
	for _, group := range r.alike() {
		names, sum, largest := make([]string, len(group.columns)), 0.0, 0.0
		for i, at := range group.columns {
			names[i], sum, largest = r.Columns[at].Name, sum+shares[at], max(largest, shares[at])
		}
		list = append(list, Warning{
			kindAssociated, group.columns,
			fmt.Sprintf("%s carry much the same information (association %s): they share the credit, and how it splits between them means little.", joined(names), group.measure()), sum - largest,
		})
	}
	return list
}

// shares returns each player's share of all |attributions|.
func (r *Report) shares() []float64 {
	shares, total := make([]float64, len(r.Players)), 0.0
	for _, list := range r.Importances {
		for _, im := range list {
			shares[im.Player] += im.Mean
			total += im.Mean
		}
	}
	for d := range shares {
		shares[d] /= max(total, math.SmallestNonzeroFloat64)
	}
	return shares
}

// sharesOfColumns returns the shares of the columns' players in rows that have them. A player that is missing in all
// rows counts with an equal share.
func (r *Report) sharesOfColumns() []float64 {
	observed := make([]int, len(r.Players))
	for _, list := range r.Importances {
		for _, im := range list {
			observed[im.Player] = im.Observed
		}
	}
	ofColumns := make([]float64, len(r.Columns))
	for d, share := range r.shares() {
		if observed[d] == 0 {
			share = 1 / float64(len(r.Players))
		} else {
			share = min(1, share*float64(r.Data.Explained)/float64(observed[d]))
		}
		for _, at := range r.Players[d].Columns {
			ofColumns[at] = share
		}
	}
	return ofColumns
}

// alike is a set of columns with nearly the same information.
type alike struct {
	columns   []int
	low, high float64 // strength of the associations
}

func (a alike) measure() string {
	if a.low == a.high {
		return fmt.Sprintf("%.2f of 1", a.low)
	}
	return fmt.Sprintf("%.2f to %.2f of 1", a.low, a.high)
}

// alike joins the columns of strong associations.
func (r *Report) alike() []alike {
	var groups []alike
	for _, a := range r.Associations {
		size := math.Abs(a.Value)
		if size < strongEnough {
			continue
		}
		joined := alike{[]int{a.A, a.B}, size, size}
		groups = slices.DeleteFunc(groups, func(g alike) bool {
			if !slices.Contains(g.columns, a.A) && !slices.Contains(g.columns, a.B) {
				return false
			}
			joined.columns = append(joined.columns, g.columns...)
			joined.low, joined.high = min(joined.low, g.low), max(joined.high, g.high)
			return true
		})
		slices.Sort(joined.columns)
		joined.columns = slices.Compact(joined.columns)
		groups = append(groups, joined)
	}
	slices.SortStableFunc(groups, func(a, b alike) int { return cmp.Compare(b.high, a.high) })
	return groups
}

// joined lists names with "and".
func joined(names []string) string {
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

func (c *Column) constant() bool {
	if c.GapLevel && c.Missing > 0 {
		return false // a missing cell is another value
	}
	if c.Labels != nil {
		return c.Levels == 1
	}
	return c.Least != nil && *c.Least == *c.Greatest
}

func singularOrPlural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// percent writes a share without rounding it to 0 or 100 %.
func percent(share float64) string {
	switch {
	case share > 0 && share < .001:
		return "under 0.1 %"
	case share < .1 || share > .9 && share < 1:
		return fmt.Sprintf("%.1f %%", 100*min(share, .999))
	}
	return fmt.Sprintf("%.0f %%", 100*share)
}
