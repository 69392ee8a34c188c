package main

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/psi-shapley/psi/internal/prose"
	"github.com/psi-shapley/psi/internal/synth"
	"github.com/psi-shapley/psi/table"
)

// sampleFlags holds the flags of sample.
type sampleFlags struct {
	rows   int
	seed   uint64
	rho    float64
	out    string
	truth  string
	format string
	force  bool
	json   bool
}

const (
	defaultSampleRows = 8000 // default rows of a synthetic table
	million           = "million"
)

func (p *program) sampleCommand() *cobra.Command {
	var f sampleFlags
	c := &cobra.Command{
		Use:   "sample NAME -o FILE",
		Short: "Write a table to try psi on",
		Long: `sample writes one of these tables:

    synth1 … synth5  columns x1, x2, x3 and the target y, whose true attributions are known
    synth5-paper     synth5 as the paper prints it, without its interaction of x2 and x3
    synth1-binary    synth1 with a target of 0 and 1
    gauss            columns x1 … x5 and y = x1 + .8 x2 + .5 x1 x3 + .5 ε: x1, x2 and x3 are correlated,
                     x4 and x5 do not matter
    copy             gauss with x2 a second time, in a further column x2_copy
    null             columns x1 … x10 and gauss's y: seven columns do not matter
    logit            gauss's columns and a target of 0 and 1, whose log-odds are x1 + .8 x2 + .5 x1 x3
    gaps             columns x1 … x5, half of their cells missing, and y = x1 + … + x5 + .3 ε
    million          columns x1 … x10 and the target y of Friedman's first problem: a large table
    bike             17,379 hours of a bicycle rental, target cnt (UCI, CC BY 4.0)
    adult            48,842 people, target income (UCI, CC BY 4.0)

The tables from synth1 to gaps have 8,000 rows and million has 1,000,000 unless --rows says otherwise.
Of bike and adult, --rows draws some, in their order.

From gauss to gaps, ε and all columns are standard normal. They are independent except that in gauss,
copy, null and logit, any two of x1, x2 and x3 have the correlation --rho.

million is y = 10 sin(π x1 x2) + 20 (x3 − ½)² + 10 x4 + 5 x5 + ε. Its columns are uniform from 0 to 1,
and ε has standard deviation 1. Its memory use does not grow with the number of rows.

--truth writes the attributions of a perfect model, for each row of a table from synth1 to gaps:

    row              number of the row, from 0
    mean_COLUMN      attribution of each column: the Shapley value of E[y | known columns], which for
                     logit is the log-odds of y = 1 given the known columns. Columns that do not
                     matter and missing cells have 0
    std_COLUMN       standard deviation of the column's own noise (synth tables only)
    draw_COLUMN      contribution of the column to this row's y, with that noise (synth tables only)
    noise_std        standard deviation of the noise of no column; in gaps with that of missing cells
    expected_y       E[y | observed cells]; log-odds if the target is 0 and 1`,
		Example: `  psi sample bike -o bike.csv
  psi sample synth1 --rows 2000 --truth truth.csv -o synth1.csv
  psi sample gauss --rho .9 --truth truth.csv -o gauss.csv
  psi sample million --rows 100000000 -o large.parquet
  psi sample synth3 --seed 7 -o - --format arrow | psi train - --format arrow --target y -o synth3.psi`,
		Args: arguments("NAME"),
	}
	c.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return sampleNames(), cobra.ShellCompDirectiveNoFileComp
	}
	flags := c.Flags()
	flags.IntVar(&f.rows, "rows", 0, "number of rows (default 8000; a million for million; all for bike and adult)")
	flags.Uint64Var(&f.seed, "seed", 0, "random seed: the same seed gives the same table")
	flags.Float64Var(&f.rho, "rho", synth.DefaultRho, "correlation of x1, x2 and x3 in "+joinOr(synth.CorrelatedNames())+", at least 0 and below 1")
	flags.StringVarP(&f.out, "out", "o", "", "`FILE` for the table: .csv, .tsv (either with .gz), .parquet or .arrow; - is standard output")
	flags.StringVar(&f.truth, "truth", "", "`FILE` for the true attributions of a synthetic table")
	flags.StringVar(&f.format, "format", "", "`FORMAT` of standard output: csv, tsv, parquet or arrow (default csv)")
	addForce(flags, &f.force)
	addJSON(flags, &f.json)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if err := f.check(args[0], cmd.Flags().Changed); err != nil {
			return err
		}
		return p.sample(cmd.Context(), args[0], &f)
	}
	return c
}

// sampleNames returns the names of the tables.
func sampleNames() []string { return slices.Concat(synth.Names(), []string{million}, shippedNames()) }

func (f *sampleFlags) check(name string, given func(flag string) bool) error {
	names := sampleNames()
	switch {
	case !slices.Contains(names, name):
		return &usageError{fmt.Sprintf("there is no table %q", name), didYouMean(name, names, "choose "+joinOr(names))}
	case f.out == "":
		return &usageError{"psi sample needs -o", fmt.Sprintf("name the file for the table: -o %s.csv, or -o - to print it", name)}
	case f.out == standardOutput && f.json:
		return &usageError{"--json and -o - would both print on standard output", "name a file: -o " + name + ".csv"}
	case given("rows") && f.rows < 1:
		return &usageError{fmt.Sprintf("--rows is %d", f.rows), "give a whole number from 1 up"}
	case given("rho") && !slices.Contains(synth.CorrelatedNames(), name):
		return &usageError{name + " does not take a correlation", "leave --rho out, or choose " + joinOr(synth.CorrelatedNames())}
	case !(f.rho >= 0 && f.rho < 1):
		return &usageError{fmt.Sprintf("--rho is %g", f.rho), "give a number of at least 0 and below 1"}
	case f.truth != "" && slices.Contains(shippedNames(), name):
		return &usageError{name + " is a real table, so its true attributions are unknown", "leave --truth out, or choose a synthetic table"}
	case f.truth != "" && name == million:
		return &usageError{"psi cannot write the true attributions of million", "leave --truth out, or choose " + joinOr(synth.Names())}
	case f.out != standardOutput:
		if err := checkTableName(f.out); err != nil {
			return err
		}
	}
	if f.truth != "" {
		return checkTableName(f.truth)
	}
	return nil
}

func (p *program) sample(ctx context.Context, name string, f *sampleFlags) error {
	result := resultFlags{out: f.out, format: f.format}
	to, err := result.destination(csvFormat)
	if err != nil {
		return err
	}
	if to.path == "" && to.json {
		return &usageError{"psi cannot write this table as JSON", "use --format csv, tsv, parquet or arrow"}
	}
	outputs := []output{to.output()}
	if f.truth != "" {
		outputs = append(outputs, destination{path: f.truth}.output())
	}
	if err := p.checkFiles(ctx, f.force, outputs); err != nil {
		return err
	}
	drawn, err := drawSample(ctx, name, f)
	if err != nil {
		return err
	}
	if err := p.writeTables(ctx, to, drawn.parts); err != nil {
		return err
	}
	if f.truth != "" {
		if err := p.writeTables(ctx, destination{path: f.truth}, whole(drawn.truth)); err != nil {
			return err
		}
	}
	if drawn.citation != "" {
		p.logf("%s", strings.TrimSpace(drawn.citation))
	}
	if f.out != standardOutput {
		p.logf("%s: %s, target %s", f.out, prose.Count(drawn.rows, "row"), drawn.target)
	}
	if !f.json {
		return nil
	}
	return p.document(sampleDocument(name, f, drawn))
}

// drawnSample is a table to write, in parts.
type drawnSample struct {
	parts    iter.Seq2[*table.Table, error]
	rows     int
	target   string
	truth    *table.Table // for a synthetic table
	citation string       // for a real table
}

// whole returns a table as its only part.
func whole(t *table.Table) iter.Seq2[*table.Table, error] {
	return func(yield func(*table.Table, error) bool) { yield(t, nil) }
}

func drawSample(ctx context.Context, name string, f *sampleFlags) (*drawnSample, error) {
	if name == million {
		rows := cmp.Or(f.rows, 1_000_000)
		return &drawnSample{parts: synth.Friedman(rows, f.seed), rows: rows, target: "y"}, nil
	}
	if slices.Contains(shippedNames(), name) {
		t, citation, err := shipped(ctx, name, f.rows, f.seed)
		if err != nil {
			return nil, err
		}
		return &drawnSample{parts: whole(t), rows: t.Rows(), target: targetOf(t), citation: citation}, nil
	}
	sample, err := synthetic(name, cmp.Or(f.rows, defaultSampleRows), f)
	if err != nil {
		return nil, err
	}
	t, err := sample.Table()
	if err != nil {
		return nil, err
	}
	truth, err := sample.TruthTable()
	return &drawnSample{parts: whole(t), rows: t.Rows(), target: targetOf(t), truth: truth}, err
}

func synthetic(name string, rows int, f *sampleFlags) (*synth.Sample, error) {
	if slices.Contains(synth.CorrelatedNames(), name) {
		return synth.GenerateCorrelated(name, rows, f.seed, f.rho)
	}
	return synth.Generate(name, rows, f.seed)
}

func (p *program) writeTables(ctx context.Context, to destination, parts iter.Seq2[*table.Table, error]) error {
	sink, err := p.tableSink(ctx, to)
	if err != nil {
		return err
	}
	defer sink.Abort()
	for t, err := range parts {
		if err != nil {
			return err
		}
		if err := sink.Write(ctx, t); err != nil {
			return err
		}
	}
	return sink.Close()
}

// targetOf returns the target of a sample table, its last column.
func targetOf(t *table.Table) string { return t.Columns[len(t.Columns)-1].Name }

func sampleDocument(name string, f *sampleFlags, drawn *drawnSample) any {
	known := func(text string) *string {
		if text = strings.TrimSpace(text); text == "" {
			return nil
		}
		return &text
	}
	var rho *float64 // for a table with correlated columns
	if slices.Contains(synth.CorrelatedNames(), name) {
		rho = &f.rho
	}
	return struct {
		Schema   string   `json:"schema"`
		Name     string   `json:"name"`
		File     string   `json:"file"`
		Truth    *string  `json:"truth"`
		Rows     int      `json:"rows"`
		Seed     uint64   `json:"seed"`
		Rho      *float64 `json:"rho"`
		Target   string   `json:"target"`
		Citation *string  `json:"citation"`
	}{"psi.sample/v1", name, f.out, known(f.truth), drawn.rows, f.seed, rho, drawn.target, known(drawn.citation)}
}

// shippedTables are real tables, each with its citation. The script prepare beside them
// made them.
//
//go:embed tables/*.csv.gz tables/*.txt
var shippedTables embed.FS

func shippedNames() []string { return []string{"bike", "adult"} }

// shipped reads a real table, or the given number of its rows, chosen at random in their order.
func shipped(ctx context.Context, name string, rows int, seed uint64) (t *table.Table, citation string, err error) {
	packed, err := shippedTables.ReadFile("tables/" + name + ".csv.gz")
	if err != nil {
		return nil, "", err
	}
	text, err := shippedTables.ReadFile("tables/" + name + ".txt")
	if err != nil {
		return nil, "", err
	}
	source, err := table.OpenReader(bytes.NewReader(packed), table.CSV, table.Options{Name: name, SampleRows: -1})
	if err != nil {
		return nil, "", err
	}
	defer source.Close()
	if t, err = table.ReadAll(ctx, source); err != nil {
		return nil, "", err
	}
	if rows > t.Rows() {
		return nil, "", &usageError{fmt.Sprintf("%s has only %s", name, prose.Count(t.Rows(), "row")), "use a smaller --rows"}
	}
	if rows > 0 {
		const stream = 0x73616d706c65 // the second word of the seed
		chosen := rand.New(rand.NewPCG(seed, stream)).Perm(t.Rows())[:rows]
		slices.Sort(chosen)
		t = t.Select(chosen)
	}
	return t, string(text), nil
}
