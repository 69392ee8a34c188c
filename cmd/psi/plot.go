package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/internal/prose"
	"github.com/psi-shapley/psi/plot"
	"github.com/psi-shapley/psi/table"
)

// plotFlags holds the flags of plot.
type plotFlags struct {
	out, data, format string
	backend, mode, by choice
	since             string
	row               int
	columns           []string
	output            string
	maxColumns        int
	title, size       string
	width, height     float64 // from --size, in inches
	z                 float64
	interactions      bool
	dark, json        bool
	force             bool
	spreadsheet       bool
	gameFlags
}

// plotDocument is the JSON document of plot.
type plotDocument struct {
	Schema string `json:"schema"`
	Kind   string `json:"kind"`
	File   string `json:"file"`
	Data   string `json:"data"` // file with the plotted data; "" if not requested
	Model  string `json:"model"`
	Title  string `json:"title"`
	Read   string `json:"read"`  // how to read it
	Exact  string `json:"exact"` // how close its attributions are to Shapley values; "" if it shows none
}

// picture is a kind of picture with its requirements.
type picture struct {
	kind, shows string
	rows        int  // maximum rows of the table, as a random sample; 0 means the one of --row
	whole       bool // it shows no columns, so none can be selected
	gameless    bool // it shows no attributions, so it has no game
	pairs       bool // it needs interactions
	draw        func(*explain.Explanation, plot.Options) (*plot.Picture, error)
	make        func(*plotting, context.Context) (*plot.Picture, error) // replaces draw if it needs more than an explanation
}

// What bars show.
const (
	byAttribution = "attribution"
	byLoss        = "loss"
)

// Maximum rows of a picture: more do not change what is visible, and pairs are expensive.
const (
	plotRows     = 5000
	pairRows     = 500
	fidelityRows = 100
)

func pictures() []picture {
	return []picture{
		{kind: "bar", shows: "importance: how much each column moves predictions", rows: plotRows, draw: plot.Bar},
		{kind: "beeswarm", shows: "one dot per row and column: attribution and value", rows: plotRows, draw: plot.Beeswarm},
		{kind: "waterfall", shows: "one row, from the base to its prediction", draw: plot.Waterfall},
		{kind: "force", shows: "one row, what raises against what lowers its prediction", draw: plot.Force},
		{kind: "ranking", shows: "one row, the order of columns for different interval widths", draw: plot.Ranking},
		{kind: "dependence", shows: "attribution of a column by its value (--columns)", rows: plotRows, draw: plot.Dependence},
		{kind: "interaction", shows: "interactions between pairs of columns", rows: pairRows, pairs: true, draw: plot.Interaction},
		{kind: "decision", shows: "paths of many rows from the base to their predictions", rows: plotRows, draw: plot.Decision},
		{kind: "heatmap", shows: "attributions of many rows at once", rows: plotRows, draw: plot.Heatmap},
		{kind: "groups", shows: "importance by the values of a column (--columns)", rows: plotRows, draw: plot.Groups},
		{kind: "drift", shows: "changes in attributions since an earlier table (--since)", rows: plotRows, make: (*plotting).drift},
		{kind: "calibration", shows: "calibration of probabilities or intervals", whole: true, gameless: true, make: (*plotting).calibration},
		{kind: "fidelity", shows: "attributions against Shapley values from all subsets of columns", whole: true, make: (*plotting).fidelity},
		{kind: "history", shows: "the training", whole: true, gameless: true, make: (*plotting).history},
	}
}

func (p *program) plotCommand() *cobra.Command {
	f := plotFlags{mode: choose("fast", "refined", "exact"), by: choose(byAttribution, byLoss)}
	help := &strings.Builder{}
	for _, k := range pictures() {
		fmt.Fprintf(help, "    %-12s %s\n", k.kind, k.shows)
	}
	c := &cobra.Command{
		Use:   "plot KIND MODEL DATA -o FILE",
		Short: "Draw explanations and checks of a model",
		Long: `plot draws explanations of the rows of DATA. The extension of FILE sets the format: SVG, PNG
or PDF. KIND is one of

` + help.String() + `
Intervals are mean ∓ z standard deviations. Missing cells are drawn as missing, never as 0.
Pictures of many rows show at most 5,000 rows, drawn at random with a fixed seed. Pictures of
pairs show 500 rows and fidelity shows 100. bar stacks all classes if there are more than two.

--columns names the columns to show. For dependence, the second column colours the dots. For
groups, the first column defines the groups and the others are shown.

bar --by loss draws how much each column lowers the squared error or the log loss of a row.
psi train measured this on the validation rows; the rows of DATA are not read.

If nothing has changed, drift marks a column in one of 20 pairs of tables. If the model was
trained with --validation-by and both tables have that column, drift compares groups of rows
with the same value instead of single rows.

--game shows the attributions of another game, as in psi explain. Trees of another program have
no uncertainty, so their pictures have no intervals, and there is no ranking and no history.

--data FILE writes the numbers of the picture. Attributions show what the model does, not what
would happen if somebody changed a value.`,
		Example: `  psi plot bar model.psi new.csv -o importance.svg
  psi plot bar model.psi new.csv --by loss -o loss.svg
  psi plot beeswarm model.psi new.csv --max 8 --title "What moves the price" --size 8x5 -o swarm.png
  psi plot waterfall model.psi new.csv --row 17 -o row17.png
  psi plot waterfall model.psi new.csv --row 17 --interactions -o row17.svg
  psi plot dependence model.psi new.csv --columns age -o age.svg --data age.csv
  psi plot dependence model.psi new.csv --columns age,sex --dark -o age-sex.png
  psi plot beeswarm model.psi new.csv --game interventional --reference typical.csv -o swarm.png
  psi plot drift model.psi march.csv --since january.csv -o drift.svg
  psi plot calibration model.psi test.csv -o calibration.pdf`,
		Args: arguments(kindArgument, modelArgument, dataArgument),
	}
	flags := c.Flags()
	flags.StringVarP(&f.out, "out", "o", "", "output `FILE`, ending in .svg, .png or .pdf")
	flags.StringVar(&f.data, "data", "", "`FILE` for the numbers of the picture; the extension sets the format")
	flags.StringVar(&f.since, "since", "", "`FILE` of earlier rows that drift compares DATA with")
	flags.IntVar(&f.row, "row", 0, "row to show in a picture of one row, counted from 0")
	flags.StringSliceVar(&f.columns, "columns", nil, "`COLUMNS` to show (default the most important); dependence takes one, or two with the second for colour")
	flags.StringVar(&f.output, "output", "", "`CLASS` to show if there are more than two (default the most probable class of the row, or the first)")
	flags.IntVar(&f.maxColumns, "max", 15, "maximum number of columns to show")
	flags.StringVar(&f.title, "title", "", "title of the picture (default a description of it)")
	flags.StringVar(&f.size, "size", "", "width and height of the picture in inches, such as 8x5; PNG has 144 dots per inch (default depends on the picture)")
	flags.SetNormalizeFunc(formerPlotFlags)
	flags.Var(&f.mode, "mode", "how attributions are computed, as in psi explain")
	flags.Var(&f.by, "by", "what a bar measures: the size of attributions, or how much the column lowers the loss")
	flags.Float64Var(&f.z, "z", 1.96, "intervals are mean ∓ z standard deviations")
	flags.BoolVar(&f.interactions, "interactions", false, "split a waterfall into main effects and pairwise interactions")
	flags.BoolVar(&f.dark, "dark", false, "dark background")
	f.gameFlags.add(flags)
	addSpreadsheetSafe(flags, &f.spreadsheet)
	addBackend(flags, &f.backend)
	addInputFormat(flags, &f.format)
	addForce(flags, &f.force)
	addJSON(flags, &f.json)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return p.plot(cmd.Context(), args[0], args[1], args[2], &f)
	}
	return c
}

// formerPlotFlags accepts flags by their former names.
func formerPlotFlags(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	switch name {
	case "column":
		name = "columns"
	case "most":
		name = "max"
	}
	return pflag.NormalizedName(name)
}

// plotting is the state of plot.
type plotting struct {
	*modelData
	kind    picture
	flags   *plotFlags
	options plot.Options
	game    psi.ExplainOptions // game and reference rows
}

func (p *program) plot(ctx context.Context, kind, path, argument string, f *plotFlags) error {
	kinds := pictures()
	at := slices.IndexFunc(kinds, func(k picture) bool { return k.kind == kind })
	if at < 0 {
		names := make([]string, len(kinds))
		for i, k := range kinds {
			names[i] = k.kind
		}
		return &usageError{fmt.Sprintf("there is no picture %q", kind), didYouMean(kind, names, "choose "+joinOr(names))}
	}
	format, err := f.check(kinds[at])
	if err != nil {
		return err
	}
	if err := p.checkFiles(ctx, f.force, f.outputs(format), path, argument, f.since, f.reference); err != nil {
		return err
	}
	d, err := p.open(ctx, path, argument, f.format, f.backend)
	if err != nil {
		return err
	}
	defer d.model.Close()
	if err := (&explainFlags{output: f.output}).checkOutput(path, d.model.Manifest()); err != nil {
		return err
	}
	if err := f.checkColumns(d.model.Players()); err != nil {
		return inFile(err, path)
	}
	m := &plotting{
		modelData: d, kind: kinds[at], flags: f,
		options: plot.Options{
			Columns: f.columns, Output: f.output, MaxPlayers: f.maxColumns, Pairs: f.interactions, Dark: f.dark,
			Title: f.title, Width: f.width, Height: f.height,
		},
	}
	if m.game, err = f.gameFlags.options(ctx, d); err != nil {
		return err
	}
	drawn, err := m.picture(ctx)
	p.reportUnread(&d.unread)
	if err != nil {
		return m.blame(err, d.name)
	}
	if err := p.writePicture(ctx, drawn, f.out, format); err != nil {
		return err
	}
	if f.data != "" {
		if err := p.writeTables(ctx, f.table(), whole(drawn.Data)); err != nil {
			return err
		}
	}
	if f.json {
		return p.document(plotDocument{"psi.plot/v1", kind, f.out, f.data, d.model.Digest(), drawn.Title, drawn.Read, drawn.Exact})
	}
	p.logf("%s", strings.TrimSuffix(fmt.Sprintf("%s: %s. %s %s", f.out, strings.TrimSuffix(drawn.Title, "."), drawn.Read, drawn.Exact), " "))
	return nil
}

// checkColumns rejects columns that the model does not have, before rows are read.
func (f *plotFlags) checkColumns(players []string) error {
	for _, name := range f.columns {
		if !slices.Contains(players, name) {
			return &table.Error{Row: -1, Column: name, Message: "the model has no such column", Remedy: didYouMean(name, players, "choose among "+joinFirst(players))}
		}
	}
	return nil
}

// check resolves what can be resolved without the model.
func (f *plotFlags) check(k picture) (format string, err error) {
	kind := k.kind
	switch {
	case k.whole && len(f.columns) > 0:
		return "", &usageError{fmt.Sprintf("--columns does not apply to %s, which shows no columns", kind), "leave it out"}
	case f.interactions && kind != "waterfall":
		return "", &usageError{fmt.Sprintf("--interactions applies only to waterfall, not to %s", kind), "psi plot interaction shows pairs over many rows"}
	case f.by.word == byLoss && kind != "bar":
		return "", &usageError{fmt.Sprintf("--by loss applies only to bar, not to %s", kind), "psi plot bar MODEL DATA --by loss -o FILE"}
	case f.chosen() != "" && (k.gameless || f.by.word == byLoss):
		return "", &usageError{"--game and --reference apply to attributions, which this picture does not show", "leave them out"}
	case (f.since != "") != (kind == "drift"):
		return "", &usageError{"--since and drift must be used together", "psi plot drift MODEL DATA --since FILE -o FILE"}
	case f.out == "":
		return "", &usageError{"the output file is missing", "add -o FILE, ending in .svg, .png or .pdf"}
	case !(f.z > 0):
		return "", &usageError{fmt.Sprintf("--z is %g", f.z), "give a positive number, such as 1.96 for intervals of 95 %"}
	case f.row < 0:
		return "", &usageError{fmt.Sprintf("--row is %d", f.row), "rows are counted from 0"}
	case f.maxColumns < 1:
		return "", &usageError{fmt.Sprintf("--max is %d", f.maxColumns), "give a whole number from 1 up"}
	}
	if f.width, f.height, err = parseSize(f.size); err != nil {
		return "", err
	}
	if format, err = plot.FormatOf(f.out); err != nil {
		return "", &usageError{fmt.Sprintf("cannot infer the picture format of %q", f.out), "use .svg, .png or .pdf"}
	}
	if f.data != "" {
		err = checkTableName(f.data)
	}
	if err == nil && f.spreadsheet && !f.table().isText() {
		err = &usageError{"--spreadsheet-safe applies only to CSV and TSV", "leave it out, or add --data FILE.csv"}
	}
	return format, err
}

// parseSize parses a width and a height, such as 8x5. An empty size is 0 and 0.
func parseSize(size string) (width, height float64, err error) {
	const least, limit = 3, 40
	if size == "" {
		return 0, 0, nil
	}
	across, up, _ := strings.Cut(strings.ToLower(size), "x")
	width, err1 := strconv.ParseFloat(across, 64)
	height, err2 := strconv.ParseFloat(up, 64)
	if err1 != nil || err2 != nil || !(width >= least && width <= limit && height >= least && height <= limit) {
		return 0, 0, &usageError{fmt.Sprintf("--size is %q", size), fmt.Sprintf("give width and height in inches, from %d to %d, such as 8x5", least, limit)}
	}
	return width, height, nil
}

// table returns the destination of the plotted data.
func (f *plotFlags) table() destination {
	return destination{path: f.data, spreadsheet: f.spreadsheet}
}

// outputs returns the picture and, if requested, its data.
func (f *plotFlags) outputs(format string) []output {
	all := []output{{path: f.out, content: map[string]content{"svg": contentSVG, "png": contentPNG, "pdf": contentPDF}[format]}}
	if f.data != "" {
		all = append(all, f.table().output())
	}
	return all
}

// importAgain is the remedy for what an import without targets does not measure.
const importAgain = "import it again with --rows TABLE"

func (m *plotting) imported() bool { return m.model.Manifest().Imported != nil }

// checkSpread rejects a ranking by standard deviations that the model does not have.
func (m *plotting) checkSpread() error {
	none, err := m.model.NoRows(m.explaining())
	if err == nil && m.kind.kind == "ranking" && none.Std == nil {
		err = &plainError{m.path, "the uncertainty of its attributions is not known, so their order does not depend on z", "psi plot waterfall shows the order"}
	}
	return err
}

// picture draws.
func (m *plotting) picture(ctx context.Context) (*plot.Picture, error) {
	if m.kind.make != nil {
		return m.kind.make(m, ctx)
	}
	if m.flags.by.word == byLoss {
		return m.lossBar()
	}
	if err := m.checkSpread(); err != nil {
		return nil, err
	}
	o := m.explaining()
	o.Interactions = m.kind.pairs || m.flags.interactions
	if m.kind.rows > 0 {
		rows, err := m.sampled(ctx, m.kind.rows, "shown by")
		if err != nil {
			return nil, err
		}
		e, err := m.model.Explain(ctx, rows.Source(), o)
		if err != nil {
			return nil, err
		}
		return m.kind.draw(e, m.options)
	}
	o.From, o.To = m.flags.row, m.flags.row+1
	e, err := m.explained(ctx, o)
	if err != nil {
		return nil, err
	}
	if e.Rows == 0 {
		return nil, &plainError{m.name, fmt.Sprintf("it has no row %d", m.flags.row), "rows are counted from 0"}
	}
	return m.kind.draw(e, m.options)
}

// explaining returns the options of the explanation.
func (m *plotting) explaining() psi.ExplainOptions {
	o := m.game
	o.Mode, o.Z = explain.Mode(m.flags.mode.word), m.flags.z
	return o
}

// explained returns the explanation of the row of --row.
func (m *plotting) explained(ctx context.Context, o psi.ExplainOptions) (*explain.Explanation, error) {
	var parts []*explain.Explanation
	for part, err := range m.explanations(o, 0)(ctx) {
		if err != nil {
			return nil, err
		}
		parts = append(parts, part.rows)
	}
	if len(parts) == 0 {
		return m.model.NoRows(o)
	}
	return explain.Join(parts)
}

// sampled draws rows from the whole table and keeps their numbers. use describes the purpose, such as "compared by",
// for a message.
func (m *plotting) sampled(ctx context.Context, limit int, use string) (*table.Table, error) {
	sample, err := m.drawn(ctx, limit)
	if err != nil {
		return nil, err
	}
	if sample.Seen() == 0 {
		return nil, &plainError{m.name, "it has no rows", "give a table with rows"}
	}
	if sample.Seen() > limit {
		m.program.logf("%s: %s %s of %s rows, drawn at random", prose.Printable(m.name), use, prose.Thousands(limit), prose.Thousands(sample.Seen()))
	}
	rows, numbers := sample.Rows()
	m.options.RowNumbers = numbers
	return rows, nil
}

// drift compares two tables.
func (m *plotting) drift(ctx context.Context) (*plot.Picture, error) {
	earlier, err := m.program.data(ctx, m.flags.since, "")
	if err != nil {
		return nil, err
	}
	then, by := *m, m.model.Manifest().Provenance.ValidationBy()
	m.also = by
	then.modelData = &modelData{data: earlier, program: m.program, path: m.path, model: m.model, also: by, reportedIgnored: m.reportedIgnored}
	before, first, err := then.compared(ctx)
	if err != nil {
		return nil, then.blame(err, earlier.name)
	}
	m.reportedIgnored = then.reportedIgnored // report once
	after, second, err := m.compared(ctx)
	if err != nil {
		return nil, err
	}
	if first == nil || second == nil {
		if by != "" {
			m.program.logf("%q, the --validation-by column, is not in both tables: rows are treated as independent", prose.Printable(by))
		}
		return plot.Drift(before, after, m.options)
	}
	return plot.DriftBy(before, after, by, explain.Units{Before: first, After: second}, m.options)
}

// compared explains one of the two tables. The units are the rows' values of m.also; nil if there is no such column.
func (m *plotting) compared(ctx context.Context) (e *explain.Explanation, units []string, err error) {
	rows, err := m.sampled(ctx, m.kind.rows, "compared by")
	if err != nil {
		return nil, nil, err
	}
	if c := rows.Column(m.also); m.also != "" && c != nil {
		units = make([]string, rows.Rows())
		for i := range units {
			units[i] = c.Text(i)
		}
	}
	e, err = m.model.Explain(ctx, rows.Source(), m.game)
	return e, units, err
}

// fidelity compares with all coalitions, which are too many beyond 16 columns.
func (m *plotting) fidelity(ctx context.Context) (*plot.Picture, error) {
	rows, err := m.sampled(ctx, fidelityRows, "shown by")
	if err != nil {
		return nil, err
	}
	shown, err := m.model.Explain(ctx, rows.Source(), m.explaining())
	if err != nil {
		return nil, err
	}
	all := m.game
	all.Mode = explain.Exact
	exact, err := m.model.Explain(ctx, rows.Source(), all)
	if err != nil {
		return nil, err
	}
	return plot.Fidelity(shown, exact, m.options)
}

// lossBar draws LossImportance of the model's audit.
func (m *plotting) lossBar() (*plot.Picture, error) {
	audit := m.model.StoredAudit()
	if audit == nil || len(audit.LossImportance) == 0 {
		if m.imported() {
			return nil, &plainError{m.path, "the model was imported without rows that have the target, so its importance in loss is not known", importAgain}
		}
		return nil, &plainError{m.path, "the model file does not contain the importance in loss", "train the model again with this version of psi"}
	}
	var drops []plot.LossDrop
	for _, x := range audit.SortedLossImportance() {
		if x.Mean != nil && x.StandardError != nil && x.P != nil { // otherwise too few validation rows have the column
			drops = append(drops, plot.LossDrop{Player: x.Player, Mean: *x.Mean, StandardError: *x.StandardError, P: *x.P, Found: x.Found, Rows: x.Rows})
		}
	}
	if len(drops) == 0 {
		return nil, &plainError{m.path, "the importance in loss has no standard error: there were too few validation rows or groups", "train with more rows"}
	}
	return plot.LossBar(drops, audit.Loss(), m.options)
}

func (m *plotting) history(context.Context) (*plot.Picture, error) {
	if m.imported() {
		return nil, &plainError{m.path, "the model was imported, so it has no training history", "see psi inspect for what is known about it"}
	}
	return plot.History(bytes.NewReader(m.model.History()), m.options)
}

// calibration needs the target.
func (m *plotting) calibration(ctx context.Context) (*plot.Picture, error) {
	m.measure = true
	source, err := m.whole(ctx)
	if err != nil {
		return nil, err
	}
	defer source.Close()
	curve := m.model.NewCalibrationCurve()
	for outcome, err := range m.model.Outcomes(ctx, source) {
		if err != nil {
			return nil, err
		}
		if outcome.Truth == nil {
			return nil, &plainError{m.name, fmt.Sprintf("the target %q is missing", m.model.Manifest().Target), "use rows with known outcomes"}
		}
		curve.Add(outcome)
	}
	if m.imported() && len(curve.Points()) == 0 {
		return nil, &plainError{m.path, "the model was imported without rows that have the target, so it has no prediction intervals", importAgain}
	}
	var points []plot.CalibrationPoint
	for _, p := range curve.Points() {
		points = append(points, plot.CalibrationPoint(p))
	}
	return plot.Calibration(points, curve.What(), m.options)
}

// writePicture writes a file atomically.
func (p *program) writePicture(ctx context.Context, drawn *plot.Picture, path, format string) error {
	out, err := p.stage(ctx, destination{path: path})
	if err != nil {
		return err
	}
	defer out.Abort()
	if err := drawn.Write(out, format); err != nil {
		return err
	}
	return out.Close()
}
