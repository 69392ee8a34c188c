package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/internal/prose"
	"github.com/psi-shapley/psi/table"
)

func (p *program) cvCommand() *cobra.Command {
	var f trainFlags
	folds := 5
	c := &cobra.Command{
		Use:   "cv DATA --target COLUMN",
		Short: "Cross-validate: train and test on several splits of a table",
		Long: `cv divides the rows of DATA into folds. For each fold it trains a model as psi train does and
measures it on rows that the model has not seen. Beside it, it measures the mean, a linear and
an additive model trained on the same rows. It prints the mean ± standard deviation of each
metric over the folds, and the error of each fold. It writes no model.

By default the division is random and each row is tested once. --by keeps rows with equal
values in one fold: use it if DATA has several rows per patient or customer.

--order-by measures how well psi predicts the future. It sorts the rows by that column and
cuts them into one block more than there are folds. Each fold tests one block and trains on
all blocks before it. Rows without a value in that column are in the training rows of every
fold. The column stays a feature, unless --drop names it too.

In each fold, a tenth of the training rows, or --validation-fraction of them, chooses the
weights; they are divided by the same column. The test rows choose nothing. These models have
no --bags and are not audited: train the model to use with psi train.`,
		Example: `  psi cv houses.csv --target price
  psi cv visits.csv --target cost --folds 10 --by patient
  psi cv sales.csv --target sold --order-by day --drop day --effort fast
  psi cv houses.csv --target price --json`,
		Args: arguments(dataArgument),
	}
	flags := c.Flags()
	f.addLearning(flags)
	flags.IntVar(&folds, "folds", folds, "number of folds")
	flags.StringVar(&f.validationBy, "by", "", "`COLUMN`, such as a patient number: rows with equal values stay in one fold; not used as a feature")
	flags.StringVar(&f.orderBy, "order-by", "", "`COLUMN` of numbers or times: each fold tests rows newer than all of its training rows")
	flags.Lookup("time-budget").Usage = "maximum `TIME` for all folds, such as 10m, or seconds; psi shortens the training to fit"
	flags.Lookup("seed").Usage = "random seed: the same seed and backend give the same folds and models"
	flags.Lookup("validation-fraction").Usage = "share of each fold's training rows used for validation"
	c.RunE = func(cmd *cobra.Command, args []string) error {
		var err error
		if f.groups, err = parseGroups(f.group); err != nil {
			return err
		}
		if err := f.checkFolds(folds, cmd.Flags().Changed); err != nil {
			return err
		}
		change, err := f.settings(cmd.Context(), cmd.Flags())
		if err != nil {
			return err
		}
		return p.cv(cmd.Context(), args[0], &f, folds, change)
	}
	return c
}

// checkFolds checks the flags of cv without reading any data.
func (f *trainFlags) checkFolds(folds int, given func(flag string) bool) error {
	switch {
	case f.target == "":
		return errNoTarget("cv")
	case folds < 2:
		return &usageError{fmt.Sprintf("--folds is %d", folds), "give 2 or more, such as 5"}
	case f.validationBy != "" && f.orderBy != "":
		return &usageError{"--by and --order-by cannot be combined", "leave one of them out"}
	}
	if err := f.checkLearning(given); err != nil {
		return err
	}
	return asFolds(f.checkRoles())
}

func (p *program) cv(ctx context.Context, argument string, f *trainFlags, folds int, change func(*psi.Settings)) error {
	rows, err := p.trainingRows(ctx, argument, f)
	if err != nil {
		return err
	}
	defer rows.Close()
	watch := newWatch(p, time.Now)
	config := f.learning(change)
	config.Progress = func(s psi.Progress) {
		s.Note = flagOfFolds(s.Note)
		watch.progress(s)
	}
	result, err := psi.CrossValidate(ctx, rows.training, config, folds)
	watch.end()
	if errors.Is(err, context.Canceled) {
		done := 0
		if result != nil {
			done = len(result.Folds)
		}
		return &plainError{"", fmt.Sprintf("stopped after %d of %d folds; no result is kept", done, folds), "run the command again for the full result"}
	}
	if err != nil {
		return asFolds(inFile(err, rows.name))
	}
	p.reportUnread(&rows.unread)
	if f.json {
		return p.document(f.foldsDocument(result))
	}
	_, err = fmt.Fprint(p.stdout, f.foldsText(result))
	return err
}

// flagOfFolds replaces settings, and flags of train, in a text by the flags of cv. The number of folds is an argument,
// not a setting.
func flagOfFolds(text string) string {
	return strings.NewReplacer("--validation-by", "--by", "give fewer folds", "give fewer --folds").Replace(inFlags(text))
}

// asFolds is flagOfFolds for errors.
func asFolds(err error) error {
	if e, ok := errors.AsType[*usageError](err); ok {
		return &usageError{flagOfFolds(e.message), flagOfFolds(e.remedy)}
	}
	if e, ok := errors.AsType[*table.Error](err); ok {
		named := *e
		named.Remedy = flagOfFolds(e.Remedy)
		return &named
	}
	return err
}

// foldsDocument is the JSON document of cv.
type foldsDocument struct {
	Schema  string         `json:"schema"`
	Target  string         `json:"target"`
	Task    psi.Task       `json:"task"`
	Divided string         `json:"divided"` // how rows are divided
	Folds   []foldDocument `json:"folds"`
	Models  []foldsModel   `json:"models"` // psi, then the baselines, the simplest first
}

type foldDocument struct {
	TrainingRows int                `json:"training_rows"`
	TestRows     int                `json:"test_rows"`
	Metrics      map[string]float64 `json:"metrics"` // of psi
	Baselines    []psi.Baseline     `json:"baselines"`
}

// foldsModel holds a model's metrics over all folds.
type foldsModel struct {
	Name    string                  `json:"name"`
	Metrics map[string]metricSpread `json:"metrics"`
}

type metricSpread struct {
	Mean  float64  `json:"mean"`
	Std   *float64 `json:"std"`   // null with one fold
	Folds int      `json:"folds"` // folds in which the metric is defined
}

func (f *trainFlags) foldsDocument(c *psi.CrossValidation) foldsDocument {
	doc := foldsDocument{Schema: "psi.cv/v1", Target: f.target, Task: c.Task, Divided: f.divided()}
	for _, fold := range c.Folds {
		doc.Folds = append(doc.Folds, foldDocument(fold))
	}
	for _, m := range modelsOf(c) {
		entry := foldsModel{m.name, map[string]metricSpread{}}
		for _, name := range definedMetrics(c, m.baseline) {
			s, _ := c.Spread(m.baseline, name)
			spread := metricSpread{Mean: s.Mean, Folds: s.Folds}
			if !math.IsNaN(s.Std) {
				spread.Std = &s.Std
			}
			entry.Metrics[name] = spread
		}
		doc.Models = append(doc.Models, entry)
	}
	return doc
}

// divided describes how the rows are divided.
func (f *trainFlags) divided() string {
	switch {
	case f.orderBy != "":
		return "in the order of " + f.orderBy
	case f.validationBy != "":
		return "by " + f.validationBy
	}
	return "at random"
}

// foldsModelName identifies a model in the comparison.
type foldsModelName struct{ name, baseline, label string }

// modelsOf lists psi and the baselines that occur in some fold: a fold with few rows has only the mean.
func modelsOf(c *psi.CrossValidation) []foldsModelName {
	var longest []psi.Baseline
	for _, fold := range c.Folds {
		if len(fold.Baselines) > len(longest) {
			longest = fold.Baselines
		}
	}
	list := make([]foldsModelName, 1+len(longest))
	list[0] = foldsModelName{"psi", "", "psi"}
	for i, b := range longest {
		list[1+i] = foldsModelName{b.Name, b.Name, b.Label(c.Task)}
	}
	return list
}

// definedMetrics lists the metrics that a model has in some fold.
func definedMetrics(c *psi.CrossValidation, baseline string) []string {
	var names []string
	for _, fold := range c.Folds {
		for name := range fold.Of(baseline) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// shownMetrics returns the metrics of the text output, the loss first.
func shownMetrics(task psi.Task) []string {
	switch task {
	case psi.Binary:
		return []string{"log_loss", "auroc", "average_precision", "brier"}
	case psi.Multiclass:
		return []string{"log_loss", "accuracy", "macro_auroc"}
	}
	return []string{"rmse", "mae", "r2", "coverage_90"}
}

// foldsText returns the result for people.
func (f *trainFlags) foldsText(c *psi.CrossValidation) string {
	models, metrics, tested := modelsOf(c), shownMetrics(c.Task), 0
	for _, fold := range c.Folds {
		tested += fold.TestRows
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s of %s in %d folds, divided %s; %s tested.\n", c.Task, prose.Printable(f.target), len(c.Folds), prose.Printable(f.divided()), prose.Count(tested, "row"))
	text.WriteString(verdict(c, models, metrics[0]) + "\n\n")
	text.WriteString(aligned("", summaryLines(c, models, metrics)) + "\n")
	text.WriteString(aligned("", foldLines(c, models, metrics[0])) + "\n")
	var legend [][]string
	for _, m := range metricsOf(c.Task) {
		if slices.Contains(metrics, m.Name) {
			legend = append(legend, []string{m.Name, m.Meaning})
		}
	}
	text.WriteString(aligned("", legend))
	return text.String()
}

// undefined stands for a metric that a model does not have.
const undefined = "–"

// summaryLines returns a table of the models' metrics over all folds.
func summaryLines(c *psi.CrossValidation, models []foldsModelName, metrics []string) [][]string {
	lines := make([][]string, 1+len(models))
	lines[0] = append([]string{"mean ± standard deviation"}, metrics...)
	for i, m := range models {
		lines[1+i] = make([]string, 1+len(metrics))
		lines[1+i][0] = m.label
		for j, name := range metrics {
			cell := undefined
			if s, known := c.Spread(m.baseline, name); known {
				cell = fmt.Sprintf("%s ± %.2g", prose.Number(s.Mean), s.Std)
				if name == "r2" { // for the mean it is 0 up to chance
					cell = fmt.Sprintf("%.3f ± %.3f", math.Round(1000*s.Mean)/1000+0, s.Std)
				}
			}
			lines[1+i][1+j] = cell
		}
	}
	return lines
}

// foldLines returns a table of one metric of the models in each fold.
func foldLines(c *psi.CrossValidation, models []foldsModelName, metric string) [][]string {
	lines := make([][]string, 1+len(c.Folds))
	lines[0] = []string{metric + " of fold", "trained on", "tested on"}
	for k, fold := range c.Folds {
		lines[1+k] = []string{strconv.Itoa(k + 1), prose.Count(fold.TrainingRows, "row"), prose.Count(fold.TestRows, "row")}
	}
	for _, m := range models {
		lines[0] = append(lines[0], m.label)
		for k, fold := range c.Folds {
			cell := undefined
			if v, known := fold.Of(m.baseline)[metric]; known {
				cell = prose.Number(v)
			}
			lines[1+k] = append(lines[1+k], cell)
		}
	}
	return lines
}

// verdict says whether psi predicts better than the best baseline.
func verdict(c *psi.CrossValidation, models []foldsModelName, loss string) string {
	best, least := models[0], math.Inf(1)
	for _, m := range models[1:] {
		if s, known := c.Spread(m.baseline, loss); known && s.Mean < least {
			best, least = m, s.Mean
		}
	}
	own, known := c.Spread("", loss)
	if !known || math.IsInf(least, 1) {
		return "Cannot compare the models: " + loss + " is not defined."
	}
	wins := 0
	for _, fold := range c.Folds {
		own, known := fold.Of("")[loss]
		if other, defined := fold.Of(best.baseline)[loss]; known && defined && own < other {
			wins++
		}
	}
	if own.Mean >= least {
		return fmt.Sprintf("The %s predicts these rows at least as well as psi: %s %s against %s. psi is better in %d of %d folds.",
			best.label, loss, prose.Number(least), prose.Number(own.Mean), wins, len(c.Folds))
	}
	return fmt.Sprintf("psi predicts these rows better than the best plain model, the %s: %s %s against %s. psi is better in %d of %d folds.",
		best.label, loss, prose.Number(own.Mean), prose.Number(least), wins, len(c.Folds))
}
