package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/batch"
	"github.com/psi-shapley/psi/internal/pipeline"
	"github.com/psi-shapley/psi/internal/prose"
	"github.com/psi-shapley/psi/internal/store"
	"github.com/psi-shapley/psi/report"
)

// reportFlags holds the flags of report.
type reportFlags struct {
	out, by, format string
	title, author   string
	backend         choice
	z               float64
	force, json     bool
	gameFlags
	given func(flag string) bool
}

// reportResult is the JSON document of report.
type reportResult struct {
	Schema      string   `json:"schema"`
	File        string   `json:"file"`
	Bytes       int      `json:"bytes"`
	Model       string   `json:"model"`
	Rows        int      `json:"rows"`
	Explained   int      `json:"explained"`
	Shown       int      `json:"shown"`
	Verdict     []string `json:"verdict"`     // what is predicted and how well, what drives it, what to watch
	Trust       string   `json:"trust"`       // verdict on attributions
	Calibration string   `json:"calibration"` // verdict on calibration
	Warnings    []string `json:"warnings"`    // those with the largest effect first
}

func (p *program) reportCommand() *cobra.Command {
	var f reportFlags
	c := &cobra.Command{
		Use:   "report MODEL (DATA | SUMMARY) -o FILE.html",
		Short: "Write a report on a model and a table as one HTML file",
		Long: `report writes one HTML file for people who do not know Shapley values. It starts with a
verdict in three sentences and warnings. It shows what the model predicts and how well, how
far to trust the attributions, which columns matter and how each acts. Single rows,
interactions, the data and the origin of the model follow. The file needs no network and no
other file, and can be printed.

psi reads and predicts all rows of DATA. It computes attributions on a random sample with a
fixed seed, and the report says how many rows that is. --by COL compares importance between
the values of a column, which need not be a feature of the model.

If the model has several games, a page compares the attributions of some rows in two of them.
--game writes the whole report in another game, as in psi explain. With many reference rows, psi
explains fewer rows.

The report shows its date: today or, if the environment variable SOURCE_DATE_EPOCH is set,
that many seconds after 1970. The same model, table, flags and date give the same bytes.

SUMMARY is the _summary.json of a batch (psi batch), by path or URL, or the OUT that contains
it. The report then describes the results of all its files from the summary alone, and reads
no rows.`,
		Example: `  psi report model.psi test.csv -o report.html
  psi report model.psi test.csv --by sex -o report.html
  psi report model.psi test.csv --title "Bike rentals" --author "Ann Example" -o report.html
  psi report model.psi test.csv --game interventional --reference typical.csv -o report.html
  psi report model.psi explained/ -o batch.html
  psi report model.psi s3://explained/2026/_summary.json -o batch.html`,
		Args: arguments(modelArgument, dataArgument),
	}
	flags := c.Flags()
	flags.StringVarP(&f.out, "out", "o", "", "output `FILE`, ending in .html")
	flags.StringVar(&f.by, "by", "", "`COLUMN` whose values to compare importance between")
	flags.StringVar(&f.title, "title", "", "`TITLE` of the report (default Report on TARGET)")
	flags.StringVar(&f.author, "author", "", "`NAME` of the author, for the first page")
	flags.Float64Var(&f.z, "z", 1.96, "intervals are mean ∓ z standard deviations")
	f.gameFlags.add(flags)
	addBackend(flags, &f.backend)
	addInputFormat(flags, &f.format)
	addForce(flags, &f.force)
	addJSON(flags, &f.json)
	f.given = flags.Changed
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return p.makeReport(cmd.Context(), args[0], args[1], &f)
	}
	return c
}

// check resolves what can be resolved without the model.
func (f *reportFlags) check() error {
	switch {
	case f.out == "":
		return &usageError{"the output file is missing", "add -o FILE.html"}
	case !strings.HasSuffix(strings.ToLower(f.out), ".html") && !strings.HasSuffix(strings.ToLower(f.out), ".htm"):
		return &usageError{fmt.Sprintf("the output file %q does not end in .html", f.out), "use .html"}
	case !(f.z > 0) || math.IsInf(f.z, 0):
		return &usageError{fmt.Sprintf("--z is %g", f.z), "give a positive number, such as 1.96 for intervals of 95 %"}
	}
	return nil
}

func (p *program) makeReport(ctx context.Context, path, argument string, f *reportFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	date, err := today()
	if err != nil {
		return err
	}
	cover := report.Cover{Title: f.title, Author: f.author, Date: date}
	inputs := []string{path, argument, f.reference}
	if !store.IsURL(argument) {
		inputs = append(inputs, filepath.Join(argument, batch.SummaryKey)) // if it is the OUT of a batch
	}
	if err := p.checkFiles(ctx, f.force, []output{{path: f.out, content: contentReport}}, inputs...); err != nil {
		return err
	}
	summary, err := p.findSummary(ctx, argument)
	if err != nil {
		return err
	}
	if summary != nil {
		return errors.Join(p.reportBatch(ctx, path, summary, cover, f), summary.place.Close())
	}
	d, err := p.open(ctx, path, argument, f.format, f.backend)
	if err != nil {
		return err
	}
	defer d.model.Close()
	game, err := f.gameFlags.options(ctx, d)
	if err != nil {
		return err
	}
	d.measure, d.also = true, f.by
	rows, err := d.whole(ctx)
	if err != nil {
		return err
	}
	ahead := pipeline.ReadAhead(ctx, rows)
	defer ahead.Close()
	r, err := report.Gather(ctx, d.model, ahead, report.Options{
		Cover: cover, Name: filepath.Base(d.name), Model: filepath.Base(path), By: f.by, Z: f.z, Game: game.Game, Reference: game.Reference,
		Progress: func(words string) { p.logf("%s", words) },
	})
	p.reportUnread(&d.unread)
	if err != nil {
		return d.blame(err, d.name)
	}
	reportInFlags(r)
	written, err := p.writePage(ctx, f.out, func(to *counter) error { return report.Write(to, r) })
	if err != nil {
		return err
	}
	if f.json {
		document := reportResult{
			"psi.reported/v1", f.out, written, d.model.Digest(), r.Data.Rows, r.Data.Explained, r.Data.Carried,
			r.Verdict, r.Trust.Verdict, r.Calibration.Verdict,
			[]string{},
		}
		for _, w := range r.Warnings {
			document.Warnings = append(document.Warnings, w.Words)
		}
		return p.document(document)
	}
	p.logf("%s: %s, %s explained, %s shown one by one, %d kB", f.out, prose.Count(r.Data.Rows, "row"), prose.Thousands(r.Data.Explained), prose.Thousands(r.Data.Carried), written/1000)
	for _, w := range warningsOf(d.model) {
		p.logf("Warning: %s", w)
	}
	p.logf("%s", r.Trust.Verdict)
	p.logf("%s", r.Calibration.Verdict)
	return nil
}

// today returns the date of a report. SOURCE_DATE_EPOCH overrides it for reproducible reports; see
// https://reproducible-builds.org/specs/source-date-epoch/.
func today() (string, error) {
	const variable = "SOURCE_DATE_EPOCH"
	now := time.Now()
	if text, set := os.LookupEnv(variable); set {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return "", &usageError{fmt.Sprintf("%s is %q", variable, text), "give seconds since 1970, or unset it"}
		}
		now = time.Unix(seconds, 0).UTC()
	}
	return now.Format(time.DateOnly), nil
}

// writePage writes a file atomically, and returns its size.
func (p *program) writePage(ctx context.Context, path string, write func(to *counter) error) (size int, err error) {
	out, err := p.stage(ctx, destination{path: path})
	if err != nil {
		return 0, err
	}
	defer out.Abort()
	counted := &counter{to: out}
	if err := write(counted); err != nil {
		return 0, err
	}
	return counted.bytes, out.Close()
}

// counter counts the bytes written through it.
type counter struct {
	to    *stage
	bytes int
}

func (c *counter) Write(text []byte) (int, error) {
	n, err := c.to.Write(text)
	c.bytes += n
	return n, err
}

// batchReportResult is what report says of the file of a batch.
type batchReportResult struct {
	Schema string `json:"schema"`
	File   string `json:"file"`
	Bytes  int    `json:"bytes"`
	Model  string `json:"model"`
	Job    string `json:"job"`
	Rows   int    `json:"rows"`   // explained
	Failed int    `json:"failed"` // units
	Done   string `json:"done"`   // verdict on completeness
	Trust  string `json:"trust"`  // verdict on attributions
}

// summaryAt is the summary of a batch: a JSON file, or one in the place where parts lie.
type summaryAt struct {
	argument string
	place    *store.Location
	key      string
	out      string // OUT; "" if it is not known
}

func (s *summaryAt) name() string { return s.place.Name(s.key) }

// findSummary is nil if DATA names tables.
func (p *program) findSummary(ctx context.Context, argument string) (*summaryAt, error) {
	if argument == standardInput {
		return nil, nil //nolint:nilnil // standard input is a table
	}
	place, pattern, err := store.Open(ctx, argument)
	if err != nil {
		return nil, nil //nolint:nilerr,nilnil // whoever looks for tables there says it better
	}
	s := &summaryAt{argument: argument, place: place, key: batch.SummaryKey, out: place.Name("")}
	key, single := store.Single(pattern)
	switch {
	case single && strings.HasSuffix(strings.ToLower(key), ".json"):
		if s.key = key; filepath.Base(key) != batch.SummaryKey {
			s.out = ""
		}
		return s, nil
	case pattern == "":
		_, err := place.Stat(ctx, s.key)
		if err == nil {
			return s, nil
		}
		_, job := (&batch.Runner{Out: argument}).Job(ctx)
		if errors.Is(err, store.ErrNotFound) && job == nil {
			err = &plainError{s.out, "this batch has no summary yet: it is not finished", "see psi batch status " + s.out}
			return nil, errors.Join(err, place.Close())
		}
	}
	return nil, place.Close()
}

// reportBatch makes the report of a whole batch from its summary. Rows are not read.
func (p *program) reportBatch(ctx context.Context, path string, at *summaryAt, cover report.Cover, f *reportFlags) error {
	for _, flag := range []string{"by", "z", "game", "reference", "format", "backend"} {
		if f.given(flag) {
			return &usageError{"--" + flag + " does not apply here: " + at.name() + " is the summary of a batch, and has no rows", "leave it out, or name a table"}
		}
	}
	summary, err := batch.ReadSummary(ctx, at.argument)
	if err != nil {
		return unreadable(at.name(), err)
	}
	model, err := psi.Open(path)
	if err != nil {
		return err
	}
	defer model.Close()
	b, err := report.GatherBatch(model, filepath.Base(path), runOf(at, summary), cover)
	if err != nil {
		return inFile(err, at.name())
	}
	batchInFlags(b)
	written, err := p.writePage(ctx, f.out, func(to *counter) error { return report.WriteBatch(to, b) })
	if err != nil {
		return err
	}
	if f.json {
		return p.document(batchReportResult{"psi.reported.batch/v1", f.out, written, model.Digest(), b.Run.Job, b.Run.Rows, b.Run.Failed, b.Done.Verdict, b.Trust.Verdict})
	}
	p.logf("%s: batch of %s, %s explained, %d kB", f.out, prose.Count(b.Run.Files, "file"), prose.Count(b.Run.Rows, "row"), written/1000)
	p.logf("%s", b.Done.Verdict)
	p.logf("%s", b.Trust.Verdict)
	return nil
}

// unreadable says of a summary what to do about it.
func unreadable(name string, err error) error {
	_, syntax := errors.AsType[*json.SyntaxError](err)
	_, kind := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, store.ErrNotFound):
		return &plainError{name, "there is no such file", "check the path"}
	case syntax || kind:
		return &plainError{name, strings.TrimPrefix(err.Error(), name+": "), "copy it again, or recreate it with psi batch resume"}
	case errors.Is(err, fs.ErrPermission):
		return &plainError{name, "permission denied", "check its permissions, or the credentials"}
	}
	return &plainError{name, strings.TrimPrefix(strings.TrimPrefix(err.Error(), name), ": "), "name the " + batch.SummaryKey + " of a batch, or a table"}
}

// runOf is what a report needs of a summary.
func runOf(at *summaryAt, s *batch.Summary) report.Run {
	job := s.Job
	in := job.In
	if store.IsURL(in) {
		in, _, _ = strings.Cut(in, "?")
	}
	r := report.Run{
		Name: at.name(), Out: at.out, Job: job.ID, Model: job.Model, In: in, Mode: job.Options.Mode, Z: job.Options.Z, Submitted: job.Submitted, Seconds: s.Seconds,
		Files: job.Files, Units: job.Units, Failed: s.Failed, Rows: s.Rows, BytesRead: job.Bytes, BytesWritten: s.BytesWritten, ResidualMax: s.ResidualMax, Audit: s.Audit, Game: job.Options.Game,
	}
	if job.Reference != nil {
		r.References = job.Reference.Rows
		r.Game = cmp.Or(r.Game, psi.InterventionalGame)
	}
	for _, m := range s.Missing {
		r.Missing = append(r.Missing, report.RunMissing(m))
	}
	for _, o := range s.Outputs {
		output := report.RunOutput{Output: o.Output, NDCG: o.NDCG}
		for _, player := range o.Players {
			of := report.RunPlayer{Player: player.Player, Size: player.Size, Doubt: player.Doubt, Trained: player.Trained}
			if player.Std != nil { // a page of imported trees has 0: it has no unknown spread
				of.Std = *player.Std
			}
			output.Players = append(output.Players, of)
		}
		r.Outputs = append(r.Outputs, output)
	}
	for _, failure := range s.Failures {
		if failure != nil {
			r.Failures = append(r.Failures, report.RunFailure(*failure))
		}
	}
	return r
}
