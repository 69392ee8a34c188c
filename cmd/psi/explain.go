package main

import (
	"bytes"
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

// explainFlags holds the flags of explain.
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
	game         choice
	reference    string
}

func (p *program) explainCommand() *cobra.Command {
	f := explainFlags{mode: choose("fast", "refined", "exact"), layout: choose("wide", "long"), game: optional(gameNames()...)}
	c := &cobra.Command{
		Use:   "explain MODEL DATA",
		Short: "Explain predictions: how much each column raised or lowered them",
		Long: `explain gives, for each row of DATA, the prediction and a Shapley attribution of every column
as a mean and a standard deviation. The base and the attributions add up to the prediction.
For two classes they add up to the score (log odds) of the positive class. For more than two,
every class has its own score: --output picks one class, and --output A --against B explains
why A rather than B.

On the screen, explain shows a few rows for people. With -o, --format or --json it writes all
rows for programs.

Mode fast is one forward pass. With the exact head, the default of psi train, its attributions
are the model's Shapley values. With the learned head they are close to them.

Mode refined improves the attributions of the learned head. It evaluates the model on some
subsets of each row's columns and gives a standard error with each attribution. It stops after
--budget evaluations of a row, or when no standard error is above --tolerance.

Mode exact computes Shapley values from all subsets of the columns, for any head and at most
16 columns.

DATA is a file or a quoted pattern such as 'part-*.csv'; with a pattern, the first output
column names the file. DATA may also be the URL of either, or of a prefix in a bucket: s3://,
gs://, azblob:// or file://, with options of the store after a ?. For standard input, use -
with --format.

Spreadsheets run text that starts with =, +, - or @ as a formula. If labels, column names or
file names come from people you do not trust, add --spreadsheet-safe to CSV that a spreadsheet
will open.`,
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
	flags.Float64Var(&f.tolerance, "tolerance", 0, "with --mode refined: stop when no standard error of a row is above `T`, in units of the prediction or score")
	flags.IntVar(&f.budget, "budget", 0, "with --mode refined: maximum number `N` of evaluations per row (default 4 per column, or 64 with --tolerance)")
	flags.Float64Var(&f.z, "z", 1.96, "width of the intervals, as ∓ z standard deviations of a normal distribution: 1.96 gives 95 %")
	flags.StringVar(&f.doubt, "doubt", "", "`none` skips the epistemic uncertainty (how far other training rows would have moved attributions); intervals then show the spread alone, and a row takes about two thirds of the time")
	flags.IntVar(&f.top, "top", 3, "p_top is the probability that an attribution is among this many largest")
	flags.StringVar(&f.rows, "rows", "", "use only the first `N` rows, or rows A to B-1 for A:B, counted from 0")
	flags.StringVar(&f.output, "output", "", "`CLASS` to explain if there are more than two (default all)")
	flags.StringVar(&f.against, "against", "", "with --output, the `CLASS` to compare with: why one class rather than the other")
	flags.IntVar(&f.againstRow, "against-row", noRow, "compare each row with row `N` of DATA: why is its prediction higher or lower?")
	flags.StringArrayVar(&f.group, "group", nil, "`NAME=A,B`: columns that share one attribution, instead of the model's own groups; may be repeated")
	flags.IntVar(&f.reasons, "reasons", 0, "on the screen, describe the `K` most important reasons in words; only reasons whose interval excludes 0")
	flags.BoolVar(&f.interactions, "interactions", false, "also compute pairwise interactions; a wide table has one column A__x__B per pair")
	flags.StringSliceVar(&f.unknown, "unknown", nil, "`COLUMNS` to treat as missing, whether or not DATA has them")
	flags.Var(&f.game, "game", "what happens to absent columns (default the model's own game)")
	flags.StringVar(&f.reference, "reference", "", "`TABLE` of reference rows for the games baseline (one row) and interventional (at most 1,000)")
	flags.Var(&f.layout, "layout", "layout of a table: one line per row, or one per row and column")
	addBackend(flags, &f.backend)
	f.resultFlags.add(flags)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return p.explain(cmd.Context(), args[0], args[1], &f)
	}
	return c
}

// shownRows is the default number of rows in text output.
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
	if err := p.checkFiles(ctx, f.force, []output{to.output()}, path, argument, f.reference); err != nil {
		return err
	}
	rows, err := f.input(ctx, p, argument)
	if err != nil {
		return err
	}
	model, err := psi.OpenOptions{Backend: psi.Backend(f.backend.word)}.Open(path)
	if err != nil {
		return err
	}
	defer model.Close()
	if err := f.checkOutput(path, model.Manifest()); err != nil {
		return err
	}
	in := &modelData{data: rows, program: p, path: path, model: model, unknown: f.unknown}
	if options.Reference, err = p.reference(ctx, in, f.reference); err != nil {
		return err
	}
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
		none.File = rows.name // so that a table without rows has the column too
	}
	out, err := p.explanationSink(ctx, to, f, rows.pattern, none)
	if err != nil {
		return err
	}
	defer out.Abort()
	limit := 0
	if to.format == textFormat && f.rows == "" {
		limit = shownRows
		in.unread.to = limit
	}
	err = pipeline.WriteBehind(ctx, than.all(in.explanations(options, limit)), out.write)
	p.reportOtherLabels(out.others)
	p.reportUnread(&in.unread)
	if err != nil {
		return err
	}
	if out.count == 0 && f.rows != "" {
		return &plainError{rows.name, "it has no rows " + f.rows, "rows are counted from 0"}
	}
	if err := out.Close(); err != nil {
		return err
	}
	if limit > 0 && out.count == limit {
		p.logf("these are the first %d rows: --rows %d:%d shows the next, -o FILE.csv writes all", limit, limit, 2*limit)
	}
	return p.written(f.resultFlags, model.Digest(), out.count)
}

// noDoubt is the value of --doubt that disables it.
const noDoubt = "none"

// options checks what can be checked without the model.
func (f *explainFlags) options(to destination) (psi.ExplainOptions, error) {
	o := psi.ExplainOptions{Mode: explain.Mode(f.mode.word), Tolerance: f.tolerance, Budget: f.budget, Z: f.z, Top: f.top, Unknown: f.unknown, Interactions: f.interactions, Output: f.output, Against: f.against, NoDoubt: f.doubt == noDoubt, Game: psi.Game(f.game.word)}
	if f.reference != "" && o.Game == "" {
		o.Game = psi.InterventionalGame
	}
	switch {
	case f.doubt != "" && f.doubt != noDoubt:
		return o, &usageError{fmt.Sprintf("--doubt is %q", f.doubt), "leave it out, or use --doubt none"}
	case !(f.z > 0) || math.IsInf(f.z, 0):
		return o, &usageError{fmt.Sprintf("--z is %g", f.z), "give a positive number, such as 1.96 for intervals of 95 %"}
	case !(f.tolerance >= 0) || math.IsInf(f.tolerance, 0):
		return o, &usageError{fmt.Sprintf("--tolerance is %g", f.tolerance), "give a positive number, in units of the prediction or score"}
	case f.budget < 0:
		return o, &usageError{fmt.Sprintf("--budget is %d", f.budget), "give a whole number from 1 up"}
	case (f.tolerance > 0 || f.budget > 0) && o.Mode != explain.Refined:
		return o, &usageError{fmt.Sprintf("--tolerance and --budget do not work with --mode %s", o.Mode), "add --mode refined"}
	case f.reasons < 0:
		return o, &usageError{fmt.Sprintf("--reasons is %d", f.reasons), "give a whole number from 1 up"}
	case f.reasons > 0 && to.format != textFormat:
		return o, &usageError{"--reasons works only on the screen", "leave out -o, --format and --json; their columns mean, lower and upper give the same in numbers"}
	case f.top < 1:
		return o, &usageError{fmt.Sprintf("--top is %d", f.top), "give a whole number from 1 up"}
	case f.interactions && f.layout.word == "long" && !to.json && to.format != textFormat:
		return o, &usageError{"--interactions does not work with the long layout", "use --layout wide, or write to a file that ends in .json"}
	}
	switch {
	case f.against != "" && f.output == "":
		return o, &usageError{"--against needs --output", "add --output CLASS"}
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

// checkOutput rejects classes that the model does not have.
func (f *explainFlags) checkOutput(path string, m psi.Manifest) error {
	classes := m.Classes()
	for _, flag := range []struct{ name, class string }{{"--output", f.output}, {"--against", f.against}} {
		switch {
		case flag.class == "":
		case classes == nil:
			return &plainError{path, fmt.Sprintf("the model predicts the number %q and has no classes, so %s does not apply", m.Target, flag.name), "leave it out"}
		case !slices.Contains(classes, flag.class):
			return &plainError{path, fmt.Sprintf("the model has no class %q", flag.class), didYouMean(flag.class, classes, "its classes are "+joinFirst(classes))}
		case m.Task == psi.Binary && flag.name == "--against":
			return &plainError{path, "with two classes, each is always compared with the other", "leave --against out"}
		case m.Task == psi.Binary && flag.class != classes[1]:
			return &plainError{
				path, fmt.Sprintf("with two classes, psi explains the positive one, %q", classes[1]),
				fmt.Sprintf("leave --output out: what lowers the score of %s raises that of %s", classes[1], classes[0]),
			}
		}
	}
	return nil
}

// parseRows parses A:B, where either may be omitted, or N for the first N rows.
func parseRows(text string) (from, to int, err error) {
	if text == "" {
		return 0, 0, nil
	}
	wrong := func(why string) error {
		return &usageError{fmt.Sprintf("--rows is %q: %s", text, why), "give N for the first N rows, or A:B for rows A to B-1, counted from 0"}
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
			err = wrong("these are not row numbers")
		}
		return n
	}
	from, to = number(a), number(b)
	switch {
	case err != nil:
	case b != "" && to <= from:
		err = wrong("it contains no row")
	}
	return from, to, err
}

// explanations explains all tables, but at most the given number of rows, unless that is 0.
func (d *modelData) explanations(o psi.ExplainOptions, limit int) func(context.Context) iter.Seq2[ofFile[*explain.Explanation], error] {
	return func(ctx context.Context) iter.Seq2[ofFile[*explain.Explanation], error] {
		return func(yield func(ofFile[*explain.Explanation], error) bool) {
			left := limit
			for i := range d.parts() {
				if limit > 0 {
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

func (d *modelData) explainPart(ctx context.Context, i int, o psi.ExplainOptions) iter.Seq2[*explain.Explanation, error] {
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

// explanationSink writes explanations to one of three outputs.
type explanationSink struct {
	table tableSink

	stage *stage
	json  *explain.JSONWriter

	text *textSink

	long     bool
	withFile bool // rows include their file
	count    int  // rows written
	others   others
	empty    *explain.Explanation
}

func (p *program) explanationSink(ctx context.Context, to destination, f *explainFlags, withFile bool, none *explain.Explanation) (*explanationSink, error) {
	s := &explanationSink{long: f.layout.word == "long", withFile: withFile, empty: none}
	var err error
	switch {
	case to.json:
		if s.stage, err = p.stage(ctx, to); err == nil {
			s.json = explain.NewJSONWriter(s.stage)
		}
	case to.format == textFormat:
		s.text = &textSink{program: p, withFile: withFile, reasons: f.reasons}
	default:
		s.table, err = p.tableSink(ctx, to)
	}
	return s, err
}

func (s *explanationSink) write(ctx context.Context, of ofFile[*explain.Explanation]) error {
	s.count += of.rows.Rows
	s.others.add(of.rows)
	if s.withFile {
		of.rows.File = of.file
	}
	switch {
	case s.json != nil:
		return s.json.Write(of.rows)
	case s.text != nil:
		s.text.add(of)
		return nil
	}
	tabulate := of.rows.Wide
	if s.long {
		tabulate = of.rows.Long
	}
	t, err := tabulate()
	if err != nil {
		return err
	}
	return s.table.Write(ctx, t)
}

// Close completes the output; a table without rows still has its columns.
func (s *explanationSink) Close() error {
	if s.count == 0 && s.text == nil {
		if err := s.write(context.Background(), ofFile[*explain.Explanation]{s.empty.File, s.empty}); err != nil {
			return err
		}
	}
	switch {
	case s.json != nil:
		if err := s.json.Close(); err != nil {
			return err
		}
		return s.stage.Close()
	case s.text != nil:
		return s.text.close()
	}
	return s.table.Close()
}

// Abort discards incomplete output; after Close it does nothing.
func (s *explanationSink) Abort() error {
	switch {
	case s.stage != nil:
		return s.stage.Abort()
	case s.table != nil:
		return s.table.Abort()
	}
	return nil
}

// textSink prints explanations for people once all are computed.
type textSink struct {
	program  *program
	withFile bool
	reasons  int
	files    []string
	parts    map[string][]*explain.Explanation
}

func (s *textSink) add(of ofFile[*explain.Explanation]) {
	if s.parts == nil {
		s.parts = map[string][]*explain.Explanation{}
	}
	if s.parts[of.file] == nil {
		s.files = append(s.files, of.file)
	}
	s.parts[of.file] = append(s.parts[of.file], of.rows)
}

func (s *textSink) close() error {
	var text bytes.Buffer
	if len(s.files) == 0 {
		text.WriteString("The table has no rows.\n")
	}
	for i, file := range s.files {
		whole, err := explain.Join(s.parts[file])
		if err != nil {
			return err
		}
		if i > 0 {
			text.WriteString("\n")
		}
		if s.withFile {
			text.WriteString(file + "\n\n")
		}
		screen := s.program.screen
		options := explain.TextOptions{
			Width: s.program.stdoutWidth(), Reasons: s.reasons, Colour: screen.stdout && screen.colours,
			Others: "--output CLASS shows another; with --against CLASS it is compared with that class.",
		}
		if err := explain.Text(&text, whole, options); err != nil {
			return err
		}
	}
	_, err := s.program.stdout.Write(text.Bytes())
	return err
}
