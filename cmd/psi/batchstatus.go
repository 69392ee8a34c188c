package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/psi-shapley/psi/batch"
	"github.com/psi-shapley/psi/internal/prose"
)

// findJob understands JOB, the id of a job in a queue; OUT with --queue, for a queue that has lost the job; and OUT alone,
// which knows its queue on this machine or the one that it was submitted to.
func (p *program) findJob(ctx context.Context, f *queueFlags, argument, name string) (*batch.Runner, error) {
	q := f.queue(p, name)
	if q.URL != "" && jobID.MatchString(argument) {
		return q.Find(ctx, argument)
	}
	q.URL = f.at.URL // OUT knows better than the environment
	return batch.Open(ctx, argument, q)
}

var jobID = regexp.MustCompile(`^[0-9a-f]{12}$`)

const jobArgument = "OUT, or --queue URL and JOB,"

func (p *program) batchStatusCommand() *cobra.Command {
	var f queueFlags
	var watch, asJSON bool
	c := &cobra.Command{
		Use:   "status (--queue URL [JOB] | [--queue URL] OUT)",
		Short: "Show the progress and the failures of a job",
		Long: `status shows how many units of a job are done and which failed. With --queue alone it lists
the jobs of a queue. It exits 1 if units failed.`,
		Example: `  psi batch status explained/ --watch
  psi batch status --queue nats://queue:4222 3f9a2c11d0e4`,
		Args: cobra.MaximumNArgs(1),
	}
	f.add(c.Flags())
	c.Flags().BoolVar(&watch, "watch", false, "wait until the job is finished")
	addJSON(c.Flags(), &asJSON)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return p.listJobs(cmd.Context(), &f, asJSON)
		}
		return p.batchStatus(cmd.Context(), &f, args[0], watch, asJSON)
	}
	return c
}

func (p *program) batchStatus(ctx context.Context, f *queueFlags, argument string, watch, asJSON bool) error {
	r, err := p.findJob(ctx, f, argument, "psi batch status")
	if err != nil {
		return err
	}
	status, err := r.Status(ctx)
	if status != nil && errors.Is(err, batch.ErrUnreachable) {
		p.logf("%v; progress is counted from the parts alone", err)
		return p.printStatus(ctx, r, status, asJSON)
	}
	if err == nil && watch {
		show := &batchWatch{program: p, start: time.Now()}
		status, err = r.Await(ctx, time.Second, show.progress)
		show.clear()
	}
	if err != nil {
		return err
	}
	return p.printStatus(ctx, r, status, asJSON)
}

// printStatus prints the status of a job, and its summary if it is finished. Failed units are an error.
func (p *program) printStatus(ctx context.Context, r *batch.Runner, status *batch.Status, asJSON bool) error {
	var summary *batch.Summary
	if status.State == batch.Finished || status.State == batch.Failed {
		var err error
		if summary, err = r.Summary(ctx); err != nil {
			return err
		}
	}
	if asJSON {
		if err := p.document(struct {
			*batch.Status
			Summary *batch.Summary `json:"summary"`
		}{status, summary}); err != nil {
			return err
		}
	} else {
		text := &bytes.Buffer{}
		batchText(text, status, summary)
		if _, err := p.stdout.Write(text.Bytes()); err != nil {
			return err
		}
	}
	if status.Failed > 0 {
		return &reportedError{fmt.Sprintf("%s of %s failed; fix the files, then run psi batch resume %s", prose.Thousands(status.Failed), prose.Count(status.Units, "unit"), r.Out)}
	}
	return nil
}

// batchText is for people: how far, what mattered, what failed.
func batchText(to *bytes.Buffer, s *batch.Status, summary *batch.Summary) {
	fmt.Fprintf(to, "job %s: %s, %d of %s done", s.ID, s.State, s.Done, prose.Count(s.Units, "unit"))
	if s.Failed > 0 {
		fmt.Fprintf(to, ", %d failed", s.Failed)
	}
	to.WriteString("\n")
	if summary != nil {
		fmt.Fprintf(to, "%s explained in %s, %.3g MB read, %.3g MB written\n", prose.Count(summary.Rows, "row"), formatDuration(time.Duration(summary.Seconds*float64(time.Second))), float64(s.Bytes)/1e6, float64(summary.BytesWritten)/1e6)
		summaryText(to, summary)
	}
	failuresText(to, s)
}

// summaryText names the players that mattered most to the first output.
func summaryText(to *bytes.Buffer, s *batch.Summary) {
	if s.Rows == 0 || len(s.Outputs) == 0 {
		return
	}
	const limit = 8
	o := s.Outputs[0]
	missing := map[string]float64{}
	for _, m := range s.Missing {
		missing[m.Player] = m.Ratio
	}
	players := slices.Clone(o.Players)
	slices.SortStableFunc(players, func(a, b batch.PlayerSummary) int { return cmp.Compare(b.Size, a.Size) })
	lines := [][]string{{"column", "mean |attribution|", "in training", "mean std", "missing"}}
	for _, player := range players[:min(limit, len(players))] {
		lines = append(lines, []string{prose.Printable(player.Player), prose.Number(player.Size), numberOrDash(player.Trained), numberOrDash(player.Std), fmt.Sprintf("%.1f %%", 100*missing[player.Player])})
	}
	to.WriteString("\n" + aligned("", lines))
	if len(players) > limit {
		fmt.Fprintf(to, "and %s\n", prose.Count(len(players)-limit, "more column"))
	}
	if o.NDCG != nil {
		fmt.Fprintf(to, "agreement of the importance order with training (NDCG): %.3f\n", *o.NDCG)
	}
	if s.Audit != nil && s.Audit.RelativeRMSE != nil {
		fmt.Fprintf(to, "audit of %s against Shapley values computed without the head: relative error %.2g\n", prose.Count(s.Audit.Rows, "row"), *s.Audit.RelativeRMSE)
	}
}

// numberOrDash returns a dash for a number that is not known.
func numberOrDash(v *float64) string {
	if v == nil {
		return "–"
	}
	return prose.Number(*v)
}

// failuresText is the table of failures.
func failuresText(to *bytes.Buffer, s *batch.Status) {
	if s.Failed == 0 {
		return
	}
	const limit = 20
	lines := [][]string{{"unit", "file", "row groups", "row", "column", "what is wrong"}}
	for _, f := range s.Failures[:min(limit, len(s.Failures))] {
		row := "–"
		if f.Row != nil {
			row = prose.Thousands(int(*f.Row))
		}
		lines = append(lines, []string{strconv.Itoa(f.Unit), prose.Printable(f.File), groupsText(f.Groups), row, cmp.Or(prose.Printable(f.Column), "–"), prose.Printable(f.Message + "; " + f.Remedy)})
	}
	to.WriteString("\n" + aligned("", lines))
	if s.Failed > limit {
		fmt.Fprintf(to, "and %s: --json lists them all\n", prose.Count(s.Failed-limit, "more failure"))
	}
}

func groupsText(groups []int) string {
	switch len(groups) {
	case 0:
		return "all"
	case 1:
		return fmt.Sprint(groups[0])
	}
	return fmt.Sprintf("%d–%d", groups[0], groups[len(groups)-1])
}

// listJobs tells which jobs a queue knows.
func (p *program) listJobs(ctx context.Context, f *queueFlags, asJSON bool) error {
	at, err := f.needed(p, "psi batch status")
	if err != nil {
		return err
	}
	jobs, err := at.Jobs(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return p.document(map[string]any{"schema": "psi.batch.jobs/v1", "jobs": jobs})
	}
	lines := [][]string{{"job", "state", "units", "submitted", "out"}}
	for _, j := range jobs {
		lines = append(lines, []string{j.ID, j.State, prose.Thousands(j.Units), j.Submitted.Format(time.DateTime), prose.Printable(j.Out)})
	}
	_, err = io.WriteString(p.stdout, aligned("", lines))
	return err
}
