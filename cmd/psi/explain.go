package main

import (
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/internal/pipeline"
)

// explainFlags are what explain is asked for.
type explainFlags struct {
	resultFlags
	mode         choice
	tolerance    float64
	budget       int
	layout       choice
	backend      choice
	z            float64
	top          int
	rows         string
	output       string
	against      string
	againstRow   int
	interactions bool
	doubt        string
	reasons      int
	unknown      []string
	group        []string
}

func (p *program) explainCommand() *cobra.Command {
	f := explainFlags{mode: choose("fast", "refined", "exact"), layout: choose("wide", "long")}
	c := &cobra.Command{
		Use:   "explain MODEL DATA",
		Short: "Explain predictions: what each column added or took away",
		Long: `explain gives for each row of DATA the prediction and, for every column, its Shapley
attribution as a mean and a standard deviation. Base and attributions add up to the
prediction. Of two classes they add up to the score, the log odds, of the positive one; of
more, every class has a score of its own: --output picks one, and --output A --against B
explains why A rather than B. On the screen it shows a few rows for people; with -o, --format or --json it
writes all rows for programs.

Mode fast is one forward pass. With a model's exact head, the default of psi train, these
are the Shapley values of the model. With the learned head they are near them, and mode
refined brings them nearer: it asks the model for a few coalitions of each row's columns,
and says of each attribution how far it may still be off, as a standard error. It stops at
--budget evaluations of a row, or when no standard error is above --tolerance. Mode exact
computes them from all coalitions, whatever the head, for at most 16 columns.

DATA is a file, a quoted pattern such as 'part-*.csv' (the first column then names the
file), the URL of either or of a prefix in a bucket (s3://, gs://, azblob:// or file://;
what is to be said of the store follows a ?), or - with --format.

A spreadsheet runs text that begins with =, +, - or @ as a formula. If labels, or the names of
columns or files, come from people you do not trust, add --spreadsheet-safe to CSV that a
spreadsheet will open.`,
		Example: `  psi explain model.psi new.csv
  psi explain model.psi new.csv --rows 40:41 --interactions
  psi explain model.psi new.csv --rows 40:41 --reasons 3
  psi explain learned.psi new.csv --mode refined --tolerance 0.01
  psi explain model.psi new.csv --unknown income,age
  psi explain model.psi new.csv --rows 40:41 --against-row 7
  psi explain flowers.psi new.csv --output setosa --against virginica
  psi explain model.psi new.csv --group home=street,town --group body=height,weight
  psi explain model.psi new.parquet -o attributions.parquet
  psi explain model.psi new.csv --layout long -o attributions.csv
  psi explain model.psi 's3://bucket/rows/*.parquet?region=eu-west-1' -o attributions.parquet
  psi explain model.psi - --format arrow -o - < new.arrow > attributions.arrow`,
		Args: arguments(modelArgument, dataArgument),
	}
	flags := c.Flags()
	flags.Var(&f.mode, "mode", "how attributions are computed")
	flags.Float64Var(&f.tolerance, "tolerance", 0, "of mode refined: stop a row when no standard error is above `T`, in units of the prediction or score")
	flags.IntVar(&f.budget, "budget", 0, "of mode refined: at most `N` evaluations of a row (default 4 for each column, or 64 with --tolerance)")
	flags.Float64Var(&f.z, "z", 1.96, "intervals have the probability of ∓ z standard deviations of a normal distribution: 1.96 is 95 %")
	flags.StringVar(&f.doubt, "doubt", "", "`none`: do not ask how far other rows to learn from would move attributions; intervals are by spread, and a row takes about two thirds of the time")
	flags.IntVar(&f.top, "top", 3, "p_top is the probability to be among this many largest attributions")
	flags.StringVar(&f.rows, "rows", "", "the first `N` rows alone, or rows A:B, counted from 0, B not included")
	flags.StringVar(&f.output, "output", "", "`CLASS` to explain, of more than two (default all)")
	flags.StringVar(&f.against, "against", "", "with --output, the `CLASS` that it is held against: why the one and not the other")
	flags.IntVar(&f.againstRow, "against-row", noRow, "hold each row against row `N` of DATA: why the one is predicted higher or lower than the other")
	flags.StringArrayVar(&f.group, "group", nil, "`NAME=A,B`: columns to explain as one, in place of the model's own groups; may be repeated")
	flags.IntVar(&f.reasons, "reasons", 0, "on the screen, say in words the `K` most important reasons whose interval holds no 0")
	flags.BoolVar(&f.interactions, "interactions", false, "pairwise interactions too; a wide table has a column A__x__B for each pair")
	flags.StringSliceVar(&f.unknown, "unknown", nil, "`COLUMNS` to take for missing, whether DATA has them or not")
	flags.Var(&f.layout, "layout", "of a table: a line for each row, or for each row and column")
	addBackend(flags, &f.backend)
	f.resultFlags.add(flags)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return p.explain(cmd.Context(), args[0], args[1], &f)
	}
	return c
}

// shownRows is how many rows are enough on the screen, unless more are asked for.
const shownRows = 10

func (p *program) explain(ctx context.Context, path, argument string, f *explainFlags) error {
	to, err := f.destination(textFormat)
	if err != nil {
		return err
	}
	options, err := f.options(to)
	if err != nil {
		return err
	}
	if err := p.checkFiles(ctx, f.force, []output{to.output()}, path, argument); err != nil {
		return err
	}
	rows, err := f.input(ctx, p, argument)
	if err != nil {
		return err
	}
	model, err := psi.OpenOn(path, f.backend.word)
	if err != nil {
		return err
	}
	defer model.Close()
	if err := f.checkOutput(path, model.Manifest()); err != nil {
		return err
	}
	in := &modelData{data: rows, program: p, path: path, model: model, unknown: f.unknown}
	in.unread.from, in.unread.to = options.From, options.To
	none, err := model.NoRows(options)
	if err != nil {
		return in.blame(err, rows.name)
	}
	than, err := in.rowAgainst(ctx, f.againstRow, options)
	if err != nil {
		return err
	}
	if none, err = than.compared(none); err != nil {
		return err
	}
	if rows.pattern {
		none.File = rows.name // so that a table of no rows has the column too
	}
	out, err := p.explanationSink(ctx, to, f, rows.pattern, none)
	if err != nil {
		return err
	}
	defer out.Abort()
	most := 0
	if to.format == textFormat && f.rows == "" {
		most = shownRows
		in.unread.to = most
	}
	err = pipeline.WriteBehind(ctx, than.all(in.explanations(options, most)), out.write)
	p.tellOthers(out.others)
	p.tellUnread(&in.unread)
	if err != nil {
		return err
	}
	if out.count == 0 && f.rows != "" {
		return &plainError{rows.name, "it has no rows " + f.rows, "rows are counted from 0"}
	}
	if err := out.Close(); err != nil {
		return err
	}
	if most > 0 && out.count == most {
		p.note("these are the first %d rows: --rows %d:%d shows the next, -o FILE.csv writes all", most, most, 2*most)
	}
	return p.written(f.resultFlags, model.Digest(), out.count)
}

// noDoubt is what --doubt may be.
const noDoubt = "none"

// options checks what can be checked without the model.
func (f *explainFlags) options(to destination) (psi.Explain, error) {
	o := psi.Explain{Mode: explain.Mode(f.mode.word), Tolerance: f.tolerance, Budget: f.budget, Z: f.z, Top: f.top, Unknown: f.unknown, Interactions: f.interactions, Output: f.output, Against: f.against, NoDoubt: f.doubt == noDoubt}
	switch {
	case f.doubt != "" && f.doubt != noDoubt:
		return o, &usageError{fmt.Sprintf("--doubt is %q", f.doubt), "leave it out, or give --doubt none"}
	case !(f.z > 0) || math.IsInf(f.z, 0):
		return o, &usageError{fmt.Sprintf("--z is %g", f.z), "give a positive number, such as 1.96 for intervals of 95 %"}
	case !(f.tolerance >= 0) || math.IsInf(f.tolerance, 0):
		return o, &usageError{fmt.Sprintf("--tolerance is %g", f.tolerance), "give a positive number, in units of the prediction or score"}
	case f.budget < 0:
		return o, &usageError{fmt.Sprintf("--budget is %d", f.budget), "give a whole number from 1 up"}
	case (f.tolerance > 0 || f.budget > 0) && o.Mode != explain.Refined:
		return o, &usageError{fmt.Sprintf("mode %s has no --tolerance and no --budget", o.Mode), "add --mode refined"}
	case f.reasons < 0:
		return o, &usageError{fmt.Sprintf("--reasons is %d", f.reasons), "give a whole number from 1 up"}
	case f.reasons > 0 && to.format != textFormat:
		return o, &usageError{"--reasons are words for the screen", "leave out -o, --format and --json: their mean, lower and upper say the same in numbers"}
	case f.top < 1:
		return o, &usageError{fmt.Sprintf("--top is %d", f.top), "give a whole number from 1 up"}
	case f.interactions && f.layout.word == "long" && !to.json && to.format != textFormat:
		return o, &usageError{"the long layout has no place for --interactions", "use --layout wide, or write to a file that ends in .json"}
	}
	switch {
	case f.against != "" && f.output == "":
		return o, &usageError{"--against says what to hold a class against, but not which class to explain", "add --output CLASS"}
	case f.against != "" && f.against == f.output:
		return o, &usageError{fmt.Sprintf("--output and --against are both %q", f.output), "name two different classes"}
	}
	var err error
	if o.Groups, err = parseGroups(f.group); err != nil {
		return o, err
	}
	o.From, o.To, err = parseRows(f.rows)
	return o, err
}

// checkOutput refuses classes that the model does not explain.
func (f *explainFlags) checkOutput(path string, m psi.Manifest) error {
	classes := m.Classes()
	for _, flag := range []struct{ name, class string }{{"--output", f.output}, {"--against", f.against}} {
		switch {
		case flag.class == "":
		case classes == nil:
			return &plainError{path, fmt.Sprintf("the model predicts the number %q, which has no classes for %s", m.Target, flag.name), "leave it out"}
		case !slices.Contains(classes, flag.class):
			return &plainError{path, fmt.Sprintf("the model has no class %q", flag.class), meant(flag.class, classes, "its classes are "+few(classes))}
		case m.Task == psi.Binary && flag.name == "--against":
			return &plainError{path, "of two classes, one is always held against the other", "leave --against out"}
		case m.Task == psi.Binary && flag.class != classes[1]:
			return &plainError{
				path, fmt.Sprintf("of two classes the positive one is explained, %q", classes[1]),
				fmt.Sprintf("leave --output out: what lowers the score of %s speaks for %s", classes[1], classes[0]),
			}
		}
	}
	return nil
}

// parseRows reads A:B, where either may be left out, or N for the first N rows.
func parseRows(text string) (from, to int, err error) {
	if text == "" {
		return 0, 0, nil
	}
	wrong := func(why string) error {
		return &usageError{fmt.Sprintf("--rows is %q: %s", text, why), "give N for the first N rows, or A:B, the first row and the one after the last, counted from 0"}
	}
	a, b, colon := strings.Cut(text, ":")
	if !colon {
		a, b = "", text
	}
	number := func(part string) int {
		n, failure := 0, error(nil)
		if part != "" {
			n, failure = strconv.Atoi(part)
		}
		if failure != nil || n < 0 {
			err = wrong("these are no numbers of rows")
		}
		return n
	}
	from, to = number(a), number(b)
	switch {
	case err != nil:
	case b != "" && to <= from:
		err = wrong("it holds no row")
	}
	return from, to, err
}

// explanations explains all tables, but no more rows than most, if that is not 0.
func (d *modelData) explanations(o psi.Explain, most int) func(context.Context) iter.Seq2[ofFile[*explain.Explanation], error] {
	return func(ctx context.Context) iter.Seq2[ofFile[*explain.Explanation], error] {
		return func(yield func(ofFile[*explain.Explanation], error) bool) {
			left := most
			for i := range d.parts() {
				if most > 0 {
					if left == 0 {
						return
					}
					o.To = left
				}
				for e, err := range d.explainPart(ctx, i, o) {
					if err == nil {
						left -= e.Rows
					}
					if !yield(ofFile[*explain.Explanation]{d.data.part(i), e}, d.blame(err, d.data.part(i))) || err != nil {
						return
					}
				}
			}
		}
	}
}

func (d *modelData) explainPart(ctx context.Context, i int, o psi.Explain) iter.Seq2[*explain.Explanation, error] {
	return func(yield func(*explain.Explanation, error) bool) {
		source, err := d.part(ctx, i)
		if err != nil {
			yield(nil, err)
			return
		}
		rows := pipeline.ReadAhead(ctx, source)
		defer rows.Close()
		d.model.Explanations(ctx, rows, o)(yield)
	}
}
