package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/table"
)

func (p *program) cvCommand() *cobra.Command {
	var f trainFlags
	folds := 5
	c := &cobra.Command{
		Use:   "cv DATA --target COLUMN",
		Short: "Cross-validate: train and test on several divisions of a table",
		Long: `cv divides the rows of DATA into folds. For each fold it trains a model as train does and measures it
on rows that the model has not seen, beside the mean, a linear and an additive model that
learned from the same rows. It prints each metric's mean over the folds ± its standard
deviation, and the error of each fold. It writes no model.

Rows are divided at random, so that each is tested once. --by keeps rows with equal values in one fold: use it if
DATA has several rows of a patient or a customer. --order-by is for predicting what comes next: the
rows are cut by that column into one block more than there are folds, and each fold tests a block
and trains on all before it. Rows without a value there train in every fold. The column stays an input,
unless --drop names it too.

Within each fold a tenth of the training rows chooses the weights, or --validation-fraction of them, divided by the same
column. The rows that test choose nothing. Models have no --bags and are not audited: psi train makes
the one to use.`,
		Example: `  psi cv houses.csv --target price
  psi cv visits.csv --target cost --folds 10 --by patient
  psi cv sales.csv --target sold --order-by day --drop day --effort fast
  psi cv houses.csv --target price --json`,
		Args: arguments(dataArgument),
	}
	flags := c.Flags()
	f.addLearning(flags)
	flags.IntVar(&folds, "folds", folds, "how many times to train and test")
	flags.StringVar(&f.validationBy, "by", "", "`COLUMN`, such as a patient's number, whose rows stay in one fold; it is no input")
	flags.StringVar(&f.orderBy, "order-by", "", "`COLUMN` of numbers or times: each fold tests rows that are newer than all it trains on")
	flags.Lookup("time-budget").Usage = "`TIME` that all folds may take, such as 10m, or seconds: an effort that would take longer is cut to size"
	flags.Lookup("seed").Usage = "one seed gives one division and one model for each fold, on one backend"
	flags.Lookup("validation-fraction").Usage = "share of the training rows of a fold to choose the weights by"
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

// checkFolds finds what is wrong with the flags of cv without looking at any data.
func (f *trainFlags) checkFolds(folds int, given func(flag string) bool) error {
	switch {
	case f.target == "":
		return errNoTarget("cv")
	case folds < 2:
		return &usageError{fmt.Sprintf("--folds is %d", folds), "give 2 or more, such as 5"}
	case f.validationBy != "" && f.orderBy != "":
		return &usageError{"--by does not go with --order-by", "leave one of them out"}
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
		return &plainError{"", fmt.Sprintf("stopped after %d of %d folds; nothing is kept", done, folds), "run it again to have all of it"}
	}
	if err != nil {
		return asFolds(inFile(err, rows.name))
	}
	p.tellUnread(&rows.unread)
	if f.json {
		return p.document(f.foldsDocument(result))
	}
	_, err = fmt.Fprint(p.stdout, f.foldsText(result))
	return err
}

// flagOfFolds names the flag of cv in a text about the one of train.
func flagOfFolds(text string) string { return strings.ReplaceAll(text, "--validation-by", "--by") }

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
