package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

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
	given           func(flag string) bool
}

// reported is the JSON document of report.
type reported struct {
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

The report shows its date: today or, if the environment variable SOURCE_DATE_EPOCH is set,
that many seconds after 1970. The same model, table, flags and date give the same bytes.

SUMMARY is the _summary.json of a batch (psi batch), by path or URL, or the OUT that contains
it. The report then describes the results of all its files from the summary alone, and reads
no rows.`,
		Example: `  psi report model.psi test.csv -o report.html
  psi report model.psi test.csv --by sex -o report.html
  psi report model.psi test.csv --title "Bike rentals" --author "Ann Example" -o report.html
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
	inputs := []string{path, argument}
	if !store.IsURL(argument) {
		inputs = append(inputs, filepath.Join(argument, batch.SummaryKey)) // if it is the OUT of a batch
	}
	if err := p.checkFiles(ctx, f.force, []output{{path: f.out, holds: aReport}}, inputs...); err != nil {
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
	d.measure, d.also = true, f.by
	rows, err := d.whole(ctx)
	if err != nil {
		return err
	}
	ahead := pipeline.ReadAhead(ctx, rows)
	defer ahead.Close()
	r, err := report.Gather(ctx, d.model, ahead, report.Options{
		Cover: cover, Name: filepath.Base(d.name), Model: filepath.Base(path), By: f.by, Z: f.z,
		Progress: func(words string) { p.note("%s", words) },
	})
	p.tellUnread(&d.unread)
	if err != nil {
		return d.blame(err, d.name)
	}
	reportInFlags(r)
	written, err := p.writePage(ctx, f.out, func(to *counter) error { return report.Write(to, r) })
	if err != nil {
		return err
	}
	if f.json {
		said := reported{
			"psi.reported/v1", f.out, written, d.model.Digest(), r.Data.Rows, r.Data.Explained, r.Data.Carried,
			r.Verdict, r.Trust.Verdict, r.Calibration.Verdict,
			[]string{},
		}
		for _, w := range r.Warnings {
			said.Warnings = append(said.Warnings, w.Words)
		}
		return p.document(said)
	}
	p.note("%s: %s, %s explained, %s shown one by one, %d kB", f.out, prose.Count(r.Data.Rows, "row"), prose.Thousands(r.Data.Explained), prose.Thousands(r.Data.Carried), written/1000)
	for _, w := range warningsOf(d.model) {
		p.note("Warning: %s", w)
	}
	p.note("%s", r.Trust.Verdict)
	p.note("%s", r.Calibration.Verdict)
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
