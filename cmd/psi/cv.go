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
	p.tellUnread(&rows.unread)
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
