package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/table"
)

// trainFlags holds the flags of train.
type trainFlags struct {
	target             string
	task               choice
	positive           string
	targetScale        choice
	drop, only         []string
	categorical        []string
	keep               []string
	keepIdentifiers    bool
	weight             string
	group              []string
	groups             []psi.Group // parsed from group
	missing            []string
	decimal, dateOrder choice
	missingAsLevel     []string
	validation         string
	validationFraction float64
	validationBy       string
	orderBy            string
	validationAfter    string
	head, effort       choice
	members            int
	bags               int
	config             string
	set                []string
	seed               uint64
	referenceRows      int
	backend            choice
	timeBudget         time.Duration
	onInterrupt        choice
	progress           choice
	resume             bool
	force              bool
	format             string
	out                string
	helpConfig         bool
	json               bool
	withTrees          bool
	python             string
}

func (p *program) trainCommand() *cobra.Command {
	var f trainFlags
	c := &cobra.Command{
		Use:   "train DATA --target COLUMN -o MODEL",
		Short: "Train a model on a table",
		Long: `train learns to predict the target column from all other columns and writes the model to one
file. The file also holds the model's errors on validation rows and an audit of its
attributions against Shapley values. For comparison it holds those of the mean, a linear and
an additive model on the same rows. train warns if the model predicts no better than one of
these three, if the training was cut short, or if the validation error was still falling at
the end.

Target: text, true/false, or numbers with only two different values are classes, and the model
gives their probabilities. Any other target is predicted as a number. --task overrides this:
1, 2, 3 may be classes too.

Unused columns: train skips columns that teach nothing, which have the same value in every
training row, or are text in which no label occurs in three rows or more. It skips columns
that seem to identify rows: text that differs in every row, and whole numbers that count the
rows. It skips free text: several words that differ in nearly every row. --keep id uses a
column anyway. Tables to predict may have these columns or not.

Reading: text columns are categories, unless at least 95 % of the cells are numbers or dates
as people write them: "$1,234.50", "48.4%", "(1,200)", "12k", "31.12.2024". The other cells
are then missing. A column of Yes, No, y and 1 is true/false. train reports how it reads each
such column; --categorical keeps the text. If 1,234 can be a thousand or a decimal, --decimal
decides; if 01/02/2024 can be in January or February, --date-order decides. The model reads
later tables the same way. Missing cells (empty, NA, NaN, null, ?) need no imputation.

Groups: columns that belong together, such as height and weight, can share one attribution:
--group body=height,weight.

Validation: by default, a random tenth of the rows. With --order-by, the newest rows by a
column such as a date, to test how the model predicts the future. Rows with equal values in
that column stay on one side, and rows without a value are training rows. A date without a
time of day means midnight UTC.

Interruption: train keeps its state in MODEL.checkpoint until it ends. After an interruption,
the same command with --resume continues and gives the same model. If it cannot write a
checkpoint, for example on a full disk, train warns, continues and tries again.

DATA is a file (.csv, .csv.gz, .tsv, .parquet, .arrow), or a quoted pattern such as
'part-*.csv' whose files form one table. It may also be the URL of either, or of a prefix in a
bucket: s3://, gs://, azblob:// or file://. For standard input, use - with --format.`,
		Example: `  psi train houses.csv --target price -o houses.psi
  psi train houses.csv --target price --drop id,address --categorical postcode -o houses.psi
  psi train adult.csv --target income --positive '>50K' -o adult.psi
  psi train flowers.csv --target kind --task multiclass --group petal=petal_length,petal_width -o flowers.psi
  psi train 'visits-*.parquet' --target cost --validation-by patient -o cost.psi
  psi train sales.csv --target sold --order-by day --validation-after 2024-03-01 -o sales.psi
  psi train houses.csv --target price --time-budget 2m --set members=3 -o houses.psi
  psi train houses.csv --target price --resume -o houses.psi
  psi train --help-config`,
		Args: func(cmd *cobra.Command, args []string) error {
			if f.helpConfig {
				return nil
			}
			return arguments(dataArgument)(cmd, args)
		},
	}
	flags := c.Flags()
	f.addLearning(flags)
	flags.StringVarP(&f.out, "out", "o", "", "output `FILE` for the model")
	flags.StringVar(&f.validation, "validation", "", "`FILE` of rows to validate on")
	flags.StringVar(&f.validationBy, "validation-by", "", "`COLUMN`, such as a patient number: rows with equal values stay together; not used as a feature")
	flags.StringVar(&f.orderBy, "order-by", "", "`COLUMN` of numbers or times: the newest rows validate; it stays a feature, unless --drop names it too")
	flags.StringVar(&f.validationAfter, "validation-after", "", "`VALUE` of the --order-by column, such as 2024-03-01: all later rows validate, whatever their share")
	flags.IntVar(&f.bags, "bags", 8, "number of small networks trained on resampled rows, for the epistemic uncertainty of attributions; 0 for none")
	flags.IntVar(&f.referenceRows, "reference-rows", 0, "number of training rows to keep in the model for psi ask, at most 512; anyone with the file can read them")
	f.onInterrupt = choose("stop", "finish")
	flags.Var(&f.onInterrupt, "on-interrupt", "what Ctrl-C does: stop, to continue later with --resume; or finish, and write the model learned so far")
	f.progress = choose("auto", "json")
	flags.Var(&f.progress, "progress", "progress output: auto for people; json for programs, one object per line at least every second")
	flags.BoolVar(&f.resume, "resume", false, "continue an interrupted training from its checkpoint")
	flags.BoolVar(&f.withTrees, "with-trees", false, "also train trees with LightGBM, and mix both with the weights that predict best; needs Python with lightgbm, pandas and pyarrow")
	flags.StringVar(&f.python, "python", "python3", "with --with-trees: the Python `PROGRAM` that has LightGBM")
	addForce(flags, &f.force)
	flags.BoolVar(&f.helpConfig, "help-config", false, "list the settings of --config and --set")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if f.helpConfig {
			return p.listSettings(f.json)
		}
		if err := f.check(cmd.Flags().Changed); err != nil {
			return err
		}
		var err error
		if f.groups, err = parseGroups(f.group); err != nil {
			return err
		}
		if err := f.checkRoles(); err != nil {
			return err
		}
		if !f.finished() {
			if err := p.checkFiles(cmd.Context(), f.force, f.outputs(), args[0], f.validation, f.config); err != nil {
				return err
			}
		}
		change, err := f.settings(cmd.Context(), cmd.Flags())
		if err != nil {
			return err
		}
		return p.train(cmd.Context(), args[0], &f, change)
	}
	return c
}

// addLearning adds the flags that all training commands share.
func (f *trainFlags) addLearning(flags *pflag.FlagSet) {
	f.task, f.head, f.effort = choose("auto", "regression", "binary", "multiclass"), choose("exact", "learned"), choice{efforts(), string(psi.Normal)}
	flags.StringVar(&f.target, "target", "", "`COLUMN` to predict")
	flags.Var(&f.task, "task", "what to predict: a number, one of two classes, or one of several; auto decides by the target's values")
	f.targetScale = choose(psi.AutoScale, psi.IdentityScale, psi.LogMeanScale, psi.LogScale)
	flags.Var(&f.targetScale, "target-scale", "scale for a numeric target: identity; log-mean, the log of its mean; or log, the mean of its log, which predicts medians. auto tries the first two if all targets are positive and strongly skewed")
	flags.StringVar(&f.positive, "positive", "", "`LABEL` of the positive class, of two (default the last in sorted order)")
	flags.StringSliceVar(&f.drop, "drop", nil, "`COLUMNS` not to use, such as A,B")
	flags.StringSliceVar(&f.only, "only", nil, "`COLUMNS` to use, such as A,B; all others are not used")
	flags.StringSliceVar(&f.keep, "keep", nil, "`COLUMNS` to use even if they seem to identify rows, are free text, or teach nothing")
	flags.BoolVar(&f.keepIdentifiers, "keep-identifiers", false, "use all columns that seem to identify rows or are free text, with a warning")
	flags.StringSliceVar(&f.categorical, "categorical", nil, "`COLUMNS` to read as categories even if they look like numbers, dates or true/false")
	flags.StringArrayVar(&f.group, "group", nil, "`NAME=A,B`: columns that share one attribution; may be repeated")
	flags.StringVar(&f.weight, "weight", "", "`COLUMN` of row weights, 0 or more; not used as a feature")
	flags.StringArrayVar(&f.missing, "missing", nil, "`TEXT` to treat as a missing value, besides the default ones; may be repeated")
	f.decimal, f.dateOrder = optional(".", ","), optional(string(table.DayFirst), string(table.MonthFirst), string(table.YearFirst))
	flags.Var(&f.decimal, "decimal", "decimal separator of numbers such as 1,234 in ambiguous columns (default that of other columns)")
	flags.Var(&f.dateOrder, "date-order", "order of day, month and year of dates such as 01/02/2024 in ambiguous columns")
	flags.StringSliceVar(&f.missingAsLevel, "missing-as-level", nil, "`COLUMNS` in which a missing cell is a value of its own, such as \"never asked\", rather than unknown")
	flags.Float64Var(&f.validationFraction, "validation-fraction", 0.1, "share of the rows to validate on")
	flags.Var(&f.head, "head", "exact: attributions are the model's Shapley values; learned: they approximate them")
	flags.Var(&f.effort, "effort", "training effort: fast takes a third to a half of the time of normal; best takes about three times as long and averages two or four networks")
	flags.IntVar(&f.members, "members", 1, "number of networks to train and average")
	flags.StringVar(&f.config, "config", "", "YAML `FILE` of settings")
	flags.StringArrayVar(&f.set, "set", nil, "`KEY=VALUE` of a setting; may be repeated")
	flags.Uint64Var(&f.seed, "seed", 0, "random seed: the same seed and backend give the same model, byte for byte")
	addBackend(flags, &f.backend)
	flags.Var((*seconds)(&f.timeBudget), "time-budget", "maximum `TIME` of the training, such as 10m, or seconds; psi shortens the training to fit")
	addInputFormat(flags, &f.format)
	addJSON(flags, &f.json)
}

func efforts() (words []string) {
	for _, e := range psi.Efforts() {
		words = append(words, string(e))
	}
	return words
}

// check finds errors without reading any data.
func (f *trainFlags) check(given func(flag string) bool) error {
	switch {
	case f.target == "":
		return errNoTarget("train")
	case f.out == "":
		return &usageError{"psi train needs -o", "name the file for the model: -o model.psi"}
	case f.out == standardOutput:
		return &usageError{"a model cannot be written to standard output", "name a file: -o model.psi"}
	case f.validation != "" && (given("validation-fraction") || f.validationBy != ""):
		return &usageError{"--validation cannot be combined with --validation-fraction or --validation-by", "leave one of them out"}
	case f.validationAfter != "" && f.orderBy == "":
		return &usageError{"--validation-after needs --order-by", "name the column: --order-by COLUMN"}
	case f.validationAfter != "" && given("validation-fraction"):
		return &usageError{"--validation-after and --validation-fraction cannot be combined", "leave one of them out"}
	case given("validation-after") && f.validationAfter == "":
		return &usageError{"--validation-after is empty", "give a value of the --order-by column, such as 2024-03-01"}
	case f.withTrees && (f.validationBy != "" || f.orderBy != ""):
		return &usageError{"--with-trees cannot be combined with --validation-by or --order-by", "choose the rows yourself and give them as --validation TABLE"}
	case f.withTrees && (f.resume || f.head.word == "learned"):
		return &usageError{"--with-trees cannot be combined with --resume or --head learned", "leave one of them out"}
	case given("python") && !f.withTrees:
		return &usageError{"--python is for --with-trees", "add --with-trees, or leave it out"}
	case f.orderBy != "" && (f.validation != "" || f.validationBy != ""):
		return &usageError{"--order-by cannot be combined with --validation or --validation-by", "leave one of them out"}
	}
	return f.checkLearning(given)
}

func errNoTarget(command string) error {
	return &usageError{"psi " + command + " needs --target", "name the column to predict: --target COLUMN"}
}

// checkLearning is the part of check that all training commands share.
func (f *trainFlags) checkLearning(given func(flag string) bool) error {
	switch {
	case given("validation-fraction") && !(f.validationFraction > 0 && f.validationFraction < 1):
		return &usageError{fmt.Sprintf("--validation-fraction is %g", f.validationFraction), "give a number between 0 and 1, such as 0.1"}
	case f.timeBudget < 0 || given("time-budget") && f.timeBudget == 0:
		return &usageError{fmt.Sprintf("--time-budget is %v", f.timeBudget), "give a time such as 10m"}
	case f.positive != "" && (f.task.word == "regression" || f.task.word == "multiclass"):
		return &usageError{"--positive needs a target of two classes and cannot be combined with --task " + f.task.word, "leave one of them out"}
	}
	return nil
}

// checkRoles rejects columns with two roles.
func (f *trainFlags) checkRoles() error {
	wrong := func(message, remedy string) error { return &usageError{message, remedy} }
	switch {
	case slices.Contains(f.drop, f.target):
		return wrong(fmt.Sprintf("the target %q is dropped", f.target), "take it out of --drop")
	case f.validationBy == f.target:
		return wrong("--validation-by is the target", "name another column")
	case f.orderBy == f.target:
		return wrong("--order-by is the target", "name another column")
	case f.weight == f.target:
		return wrong("--weight is the target", "name another column")
	case f.weight != "" && slices.Contains(f.drop, f.weight):
		return wrong(fmt.Sprintf("the weight %q is dropped", f.weight), "take it out of --drop: a weight is never a feature")
	case slices.Contains(f.missingAsLevel, f.target):
		return wrong("--missing-as-level names the target", "name features only: rows without a target are skipped")
	}
	roles := []struct{ role, name string }{{"the target", f.target}, {"the weight", f.weight}, {"--validation-by", f.validationBy}}
	for _, name := range f.keep {
		for _, other := range roles {
			if other.name == name {
				return wrong(fmt.Sprintf("%s, %q, is to be kept", other.role, name), "--keep is for features: take it out")
			}
		}
		if slices.Contains(f.drop, name) {
			return wrong(fmt.Sprintf("column %q is both kept and dropped", name), "take it out of --keep or of --drop")
		}
	}
	for _, group := range f.groups {
		for _, other := range roles {
			if other.name != "" && slices.Contains(group.Columns, other.name) {
				return wrong(fmt.Sprintf("%s, %q, is in the group %q", other.role, other.name, group.Name), "a group consists of features: take it out")
			}
		}
		for _, name := range f.drop {
			if slices.Contains(group.Columns, name) {
				return wrong(fmt.Sprintf("column %q of the group %q is dropped", name, group.Name), "take it out of --drop or of --group")
			}
		}
	}
	return nil
}

// checkpointOf returns the path of the checkpoint, which exists until the model is finished.
func checkpointOf(model string) string { return model + ".checkpoint" }

// finished reports that there is nothing to resume: the model exists, and nothing will be written.
func (f *trainFlags) finished() bool {
	return f.resume && !exists(checkpointOf(f.out)) && exists(f.out)
}

// outputs returns the model, its checkpoint, and the temporary files of both.
func (f *trainFlags) outputs() []output {
	const draft = ".tmp" // suffix of names until their files are complete
	checkpoint, drafts := checkpointOf(f.out), []content{contentModel, contentCheckpoint}
	return []output{
		{path: f.out, content: contentModel},
		{path: checkpoint, content: contentCheckpoint},
		{path: f.out + draft, content: contentDraft, also: drafts},
		{path: checkpoint + draft, content: contentDraft, also: drafts},
	}
}

func (p *program) train(ctx context.Context, argument string, f *trainFlags, change func(*psi.Settings)) error {
	checkpoint := checkpointOf(f.out)
	if f.finished() {
		return p.finishedBefore(argument, f)
	}
	if !f.resume && exists(checkpoint) {
		p.logf("found %s of an earlier training: starting from scratch and replacing it (--resume would continue it)", checkpoint)
	}
	if f.progress.word == "json" {
		p.screen.stderr = false // a program reads it
	}
	if f.withTrees {
		if err := f.checkTrees(ctx); err != nil {
			return err
		}
	}
	rows, err := p.trainingRows(ctx, argument, f)
	if err != nil {
		return err
	}
	defer rows.Close()
	var both *bothTables
	if f.withTrees {
		if both, err = readBoth(ctx, rows, f); err != nil {
			return err
		}
	}
	before, _ := os.Stat(checkpoint)
	watch := newWatch(p, time.Now)
	if f.progress.word == "json" {
		watch.startHeartbeat()
	}
	var stopEarly <-chan struct{}
	if f.onInterrupt.word == "finish" {
		stopEarly, ctx = ctx.Done(), context.WithoutCancel(ctx)
	}
	config := f.learning(change)
	config.ReferenceRows, config.StopEarly, config.Progress = f.referenceRows, stopEarly, watch.progress
	config.Checkpoint, config.Resume, config.Scratch = checkpoint, f.resume, filepath.Dir(f.out)
	if rows.validation != nil {
		config.Validation = rows.validation
	}
	training := rows.training
	if both != nil {
		training, config.Validation = both.source(both.training), both.source(both.validation)
	}
	model, err := psi.Train(ctx, training, config)
	watch.end()
	if err != nil {
		if errors.Is(err, context.Canceled) {
			return stoppedTraining(err, checkpoint, f.keptSince(before))
		}
		return inFile(err, rows.underWay())
	}
	defer model.Close()
	if both != nil {
		if model, err = p.mixTrees(ctx, model, both, f); err != nil {
			return err
		}
	}
	if err := model.Save(f.out); err != nil {
		return unsavedModel(err, f.out, f.keptSince(before))
	}
	if err := os.Remove(checkpoint); err != nil && !errors.Is(err, os.ErrNotExist) {
		p.logf("%s is no longer needed, but cannot be removed: %v", checkpoint, err)
	}
	p.reportUnread(&rows.unread)
	return p.reportTraining(argument, f, model, watch)
}

// learning returns the part of the configuration that all training commands share.
func (f *trainFlags) learning(change func(*psi.Settings)) psi.Config {
	return psi.Config{
		Target: f.target, Task: psi.Task(f.task.word), Positive: f.positive, TargetScale: f.targetScale.word, Weight: f.weight, Groups: f.groups,
		Drop: f.readOnly(), Keep: f.keep, LeaveOutIdentifiers: !f.keepIdentifiers,
		Missing: f.missing, MissingAsLevel: f.missingAsLevel,
		ValidationFraction: f.validationFraction, ValidationBy: f.validationBy, OrderBy: f.orderBy, ValidationAfter: f.validationAfter,
		Head: f.head.word, Effort: psi.Effort(f.effort.word), Change: change, Seed: f.seed, Backend: psi.Backend(f.backend.word), TimeBudget: f.timeBudget,
	}
}

// keptSince returns the checkpoint of this training; nil if there is none. An existing file may be the checkpoint of an
// earlier training that is not resumed.
func (f *trainFlags) keptSince(before os.FileInfo) os.FileInfo {
	now, err := os.Stat(checkpointOf(f.out))
	if err != nil || !f.resume && before != nil && os.SameFile(before, now) && before.ModTime().Equal(now.ModTime()) {
		return nil
	}
	return now
}

// stoppedTraining describes what an interruption left behind. If the last checkpoint could not be written, err is the
// reason.
func stoppedTraining(err error, checkpoint string, kept os.FileInfo) error {
	lost, unwritten := errors.AsType[*psi.Error](err)
	switch {
	case unwritten && kept == nil:
		return &plainError{"", "stopped; nothing is kept because the checkpoint cannot be written: " + lost.Error(), "free disk space or choose another location, and run the command again"}
	case unwritten:
		return &plainError{
			"", fmt.Sprintf("stopped; the last checkpoint cannot be written (%v), so only the one of %s is kept: %s", lost, kept.ModTime().Format(time.TimeOnly), checkpoint),
			"add --resume to continue from it",
		}
	case kept == nil:
		return &plainError{"", "stopped before the first checkpoint", "run the command again"}
	}
	return &plainError{"", "stopped; the checkpoint " + checkpoint + " is kept", "add --resume to continue from it"}
}

// unsavedModel describes what is left of a training whose model could not be written.
func unsavedModel(err error, model string, kept os.FileInfo) error {
	remedy := "free disk space or choose another location, and run the command again"
	if kept != nil {
		remedy = "free disk space and add --resume: the checkpoint of " + kept.ModTime().Format(time.TimeOnly) + " is kept"
	}
	return &plainError{model, "the model cannot be written: " + strings.TrimPrefix(err.Error(), model+": "), remedy}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// finishedBefore answers --resume of a finished training.
func (p *program) finishedBefore(argument string, f *trainFlags) error {
	model, err := psi.OpenOptions{Backend: psi.Backend(f.backend.word)}.Open(f.out)
	if err != nil {
		return err
	}
	defer model.Close()
	p.logf("%s is already finished and stays unchanged", f.out)
	return p.reportTraining(argument, f, model, nil)
}
