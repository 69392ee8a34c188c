package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/psi-shapley/psi/batch"
	"github.com/psi-shapley/psi/internal/prose"
)

// submitted is the JSON document of a submitted job.
type submitted struct {
	Schema string `json:"schema"`
	Job    string `json:"job"`
	Out    string `json:"out"`
	Units  int    `json:"units"`
	Put    int    `json:"put"` // units that have no part yet
}

func (p *program) batchSubmitCommand() *cobra.Command {
	var f jobFlags
	var q queueFlags
	c := &cobra.Command{
		Use:   "submit --queue URL MODEL IN OUT",
		Short: "Put a job into a queue and print its id",
		Long: `submit splits the tables at IN into units, writes the plan and a copy of the model to OUT, and
puts the units into the queue. All workers must be able to reach IN and OUT under the same
names: URLs of buckets, or shared directories.

The same MODEL, IN and OUT are the same job. Submitting it again runs only the units that have
no part yet.`,
		Example: `  psi batch submit --queue nats://queue:4222 model.psi s3://tables/2026/ s3://explained/2026/`,
		Args:    arguments(modelArgument, inArgument, outArgument),
	}
	f.add(c.Flags())
	q.add(c.Flags())
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if err := inOut(args); err != nil {
			return err
		}
		at, err := q.needed(p, "psi batch submit")
		if err != nil {
			return err
		}
		if err := p.plan(cmd.Context(), args, &f); err != nil {
			return err
		}
		job, put, err := (&batch.Runner{Out: args[2], Queue: at}).Submit(cmd.Context())
		if err != nil {
			return err
		}
		return p.submitted(job, args[2], put, f.json)
	}
	return c
}

// submitted prints the job's id.
func (p *program) submitted(job *batch.Job, out string, put int, asJSON bool) error {
	if asJSON {
		return p.document(submitted{"psi.batch.submitted/v1", job.ID, out, job.Units, put})
	}
	p.note("%s of %s in the queue", prose.Thousands(put), prose.Count(job.Units, "unit"))
	_, err := fmt.Fprintln(p.stdout, job.ID)
	return err
}

func (p *program) batchResumeCommand() *cobra.Command {
	var q queueFlags
	var workers int
	var backend choice
	var asJSON bool
	c := &cobra.Command{
		Use:   "resume (--queue URL JOB | [--queue URL] OUT)",
		Short: "Run the units of a job that are missing or failed",
		Long: `resume puts every unit that has no part yet back into the queue, including the units that
failed. Given OUT alone, it continues where the job started: on this machine (psi batch run),
or in the queue it was submitted to. If that queue is lost, or to move the job to another
queue, give OUT and --queue.`,
		Example: `  psi batch resume explained/
  psi batch resume --queue nats://queue:4222 3f9a2c11d0e4
  psi batch resume --queue nats://queue:4222 s3://explained/2026/`,
		Args: arguments(jobArgument),
	}
	q.add(c.Flags())
	addWorkers(c, &workers, &backend)
	addJSON(c.Flags(), &asJSON)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		r, err := p.findJob(cmd.Context(), &q, args[0], "psi batch resume")
		if err != nil {
			return err
		}
		own := r.Queue.URL == ""
		if own && jobID.MatchString(args[0]) {
			return &plainError{args[0], "this job was submitted to a queue", "add --queue URL, or set " + queueVariable}
		}
		if own {
			return p.runLocally(cmd.Context(), r, workers, backend, asJSON)
		}
		job, put, err := r.Submit(cmd.Context())
		if err != nil {
			return err
		}
		return p.submitted(job, r.Out, put, asJSON)
	}
	return c
}

func (p *program) batchCancelCommand() *cobra.Command {
	var q queueFlags
	var asJSON bool
	c := &cobra.Command{
		Use:   "cancel (--queue URL JOB | [--queue URL] OUT)",
		Short: "Remove a job from its queue; finished parts stay",
		Example: `  psi batch cancel explained/
  psi batch cancel --queue nats://queue:4222 3f9a2c11d0e4`,
		Args: arguments(jobArgument),
	}
	q.add(c.Flags())
	addJSON(c.Flags(), &asJSON)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		r, err := p.findJob(cmd.Context(), &q, args[0], "psi batch cancel")
		if err != nil {
			return err
		}
		job, err := r.Cancel(cmd.Context())
		if errors.Is(err, batch.ErrNoQueue) {
			return &plainError{args[0], "no queue is running there", "there is nothing to cancel; for a job of another queue, add --queue URL and name the job"}
		}
		if err != nil {
			return err
		}
		if asJSON {
			return p.document(map[string]string{"schema": "psi.batch.cancelled/v1", "job": job.ID, "out": r.Out})
		}
		p.note("job %s is cancelled; psi batch resume continues it", job.ID)
		return nil
	}
	return c
}
