package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/psi-shapley/psi/batch"
	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/internal/prose"
)

func (p *program) batchCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "batch",
		Short: "Explain tables of any size, on any number of machines",
		Long: `batch explains all rows of many files, on disk or in a bucket, usually Parquet. It
splits the work into units of a few seconds. Workers take units from a queue, and each writes
one part of the result. If a process or a machine fails, units without a part are run again,
so nothing is lost.

On one machine, psi batch run does everything. For many machines, psi batch submit puts a job
into a queue (NATS with JetStream), and any number of workers process it.

OUT receives the parts in Parquet, _summary.json with the totals and failures, and _SUCCESS if
nothing failed.`,
		Example: `  psi batch run model.psi 'tables/*.parquet' explained/
  psi batch submit --queue nats://queue:4222 model.psi s3://tables/2026/ s3://explained/2026/
  psi batch worker --queue nats://queue:4222
  psi batch status explained/ --watch
  psi batch resume explained/`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return &usageError{fmt.Sprintf("psi batch has no command %q", args[0]), "use run, submit, worker, status, resume or cancel"}
		},
	}
	asJSON := false
	c.Flags().BoolVar(&asJSON, "json", false, "")
	_ = c.Flags().MarkHidden("json") // it is only there so that a mistyped command is told as JSON too
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		if asJSON {
			return &usageError{"psi batch needs a command", "use run, submit, worker, status, resume or cancel"}
		}
		return cmd.Help()
	}
	c.AddCommand(p.batchRunCommand(), p.batchSubmitCommand(), p.batchWorkerCommand(), p.batchStatusCommand(), p.batchResumeCommand(), p.batchCancelCommand())
	return c
}

// jobFlags say how rows are explained.
type jobFlags struct {
	mode, layout choice
	game         choice
	reference    string
	z            float64
	top          int
	interactions bool
	force        bool
	json         bool
}

func (f *jobFlags) add(flags *pflag.FlagSet) {
	f.mode, f.layout, f.game = choose("fast", "refined", "exact"), choose("wide", "long"), optional(gameNames()...)
	flags.Var(&f.mode, "mode", "how attributions are computed")
	flags.Var(&f.layout, "layout", "layout of the parts: one line per row, or one per row and column")
	flags.Float64Var(&f.z, "z", 1.96, "intervals are mean ∓ z standard deviations")
	flags.IntVar(&f.top, "top", 3, "p_top is the probability that an attribution is among this many largest")
	flags.BoolVar(&f.interactions, "interactions", false, "also compute pairwise interactions, one column A__x__B per pair")
	flags.Var(&f.game, "game", "what happens to absent columns (default the model's own game)")
	flags.StringVar(&f.reference, "reference", "", "`TABLE` of reference rows for the games baseline (one row) and interventional (at most 1,000); OUT receives a copy")
	flags.BoolVar(&f.force, "force", false, "write to an OUT that holds files of another program; IN and OUT must still not overlap")
	addJSON(flags, &f.json)
}

// options checks what can be checked without the model.
func (f *jobFlags) options() (batch.Options, error) {
	o := batch.Options{Mode: explain.Mode(f.mode.word), Z: f.z, Top: f.top, Long: f.layout.word == "long", Interactions: f.interactions, Game: explain.Game(f.game.word)}
	switch {
	case !(f.z > 0) || math.IsInf(f.z, 0):
		return o, &usageError{fmt.Sprintf("--z is %g", f.z), "give a positive number, such as 1.96 for intervals of 95 %"}
	case f.top < 1:
		return o, &usageError{fmt.Sprintf("--top is %d", f.top), "give a whole number from 1 up"}
	case o.Long && o.Interactions:
		return o, &usageError{"--interactions does not work with the long layout", "use --layout wide"}
	}
	return o, nil
}

// queueVariable is the environment variable of a queue's URL. Unlike an argument it is not shown to all users of a machine,
// and a URL may hold a secret.
const queueVariable = "PSI_QUEUE"

// queueFlags say where the queue is.
type queueFlags struct {
	at batch.Queue
}

func (f *queueFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.at.URL, "queue", "", "`URL` of the queue, nats://HOST:PORT; separate several with commas (default the environment variable "+queueVariable+")")
	flags.StringVar(&f.at.Credentials, "queue-creds", "", "`FILE` with NATS credentials")
	flags.StringVar(&f.at.CA, "queue-ca", "", "`FILE` with the CA of the queue's certificates")
	flags.StringVar(&f.at.Certificate, "queue-cert", "", "`FILE` with the client certificate for the queue")
	flags.StringVar(&f.at.Key, "queue-key", "", "`FILE` with the key of the certificate")
}

// queue returns the queue of the flags or the environment. Its URL is "" if neither names one.
func (f *queueFlags) queue(p *program, name string) batch.Queue {
	at := f.at
	if at.URL == "" {
		at.URL = os.Getenv(queueVariable)
	}
	at.Name, at.Log = name, func(line string) { p.logf("%s", prose.Printable(line)) }
	return at
}

func (f *queueFlags) needed(p *program, name string) (batch.Queue, error) {
	at := f.queue(p, name)
	if at.URL == "" {
		return at, &usageError{name + " needs a queue", "add --queue nats://HOST:4222, or set " + queueVariable}
	}
	return at, nil
}

// plan splits the job into units.
func (p *program) plan(ctx context.Context, args []string, f *jobFlags) error {
	options, err := f.options()
	if err != nil {
		return err
	}
	request := batch.Request{Model: args[0], In: args[1], Options: options, Reference: f.reference, Force: f.force}
	last := time.Now()
	request.Progress = func(files, units int) {
		if time.Since(last) > plainPause {
			last = time.Now()
			p.logf("planning: %s, %s so far", prose.Count(files, "file"), prose.Count(units, "unit"))
		}
	}
	job, old, err := (&batch.Runner{Out: args[2]}).Plan(ctx, request)
	if errors.Is(err, batch.ErrOverlap) {
		return &plainError{args[2], fmt.Sprintf("IN and OUT overlap: %v (%s)", batch.ErrOverlap, args[1]), "choose an OUT outside IN that contains no file of IN"}
	}
	if errors.Is(err, batch.ErrForeign) {
		return &plainError{"", err.Error(), "choose another OUT, or add --force"}
	}
	if errors.Is(err, batch.ErrOtherBatch) {
		return &plainError{args[2], batch.ErrOtherBatch.Error(), "choose another OUT, or continue the job that is there: psi batch resume " + args[2]}
	}
	if err != nil {
		return err
	}
	rows := ""
	if job.Rows > 0 {
		rows = ", " + prose.Count(int(job.Rows), "row")
	}
	p.logf("job %s: %s%s, %s", job.ID, prose.Count(job.Files, "file"), rows, prose.Count(job.Units, "unit"))
	if old {
		p.logf("%s already holds this job: units with a part are not run again", args[2])
	}
	return nil
}

const (
	inArgument  = "IN"
	outArgument = "OUT"
)

// inOut refuses arguments that cannot be right.
func inOut(args []string) error {
	if args[2] == standardOutput || strings.HasSuffix(strings.ToLower(args[2]), ".parquet") {
		return &usageError{fmt.Sprintf("OUT is %q, but a batch writes many files", args[2]), "name a directory, or the URL of a bucket and a prefix"}
	}
	return nil
}

// submitDocument is the JSON document of a submitted job.
type submitDocument struct {
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
		return p.document(submitDocument{"psi.batch.submitted/v1", job.ID, out, job.Units, put})
	}
	p.logf("%s of %s in the queue", prose.Thousands(put), prose.Count(job.Units, "unit"))
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
		p.logf("job %s is cancelled; psi batch resume continues it", job.ID)
		return nil
	}
	return c
}
