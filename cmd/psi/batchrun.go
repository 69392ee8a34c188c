package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/batch"
	"github.com/psi-shapley/psi/internal/prose"
)

func (p *program) batchRunCommand() *cobra.Command {
	var f jobFlags
	var workers int
	var backend choice
	c := &cobra.Command{
		Use:   "run MODEL IN OUT",
		Short: "Explain tables with all cores of this machine",
		Long: `run explains all rows of the tables at IN and writes parts to OUT. It starts its own queue and
workers; each worker is a process with one thread. Ctrl-C, a crash or a power cut loses only
the units in progress: run the same command again, or psi batch resume OUT.

IN is a file, a directory, a quoted pattern, or a URL of one of these (s3://, gs://,
azblob://). OUT is a directory, or the URL of a bucket and a prefix. They must not overlap: no
table of IN may be in OUT, and IN must not match any part in OUT.`,
		Example: `  psi batch run model.psi 'tables/*.parquet' explained/
  psi batch run model.psi s3://tables/2026/ s3://explained/2026/ --workers 16`,
		Args: arguments(modelArgument, inArgument, outArgument),
	}
	f.add(c.Flags())
	addWorkers(c, &workers, &backend)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if err := inOut(args); err != nil {
			return err
		}
		if err := p.plan(cmd.Context(), args, &f); err != nil {
			return err
		}
		return p.runLocally(cmd.Context(), &batch.Runner{Out: args[2]}, workers, backend, f.json)
	}
	return c
}

func addWorkers(c *cobra.Command, workers *int, backend *choice) {
	c.Flags().IntVar(workers, "workers", runtime.NumCPU(), "number of worker processes on this machine")
	c.Flags().Lookup("workers").DefValue = "one for each processor" // so that help is the same everywhere
	addBackend(c.Flags(), backend)
}

// runLocally works on a planned job with this machine alone.
func (p *program) runLocally(ctx context.Context, r *batch.Runner, workers int, backend choice, asJSON bool) error {
	if workers < 1 {
		return &usageError{fmt.Sprintf("--workers is %d", workers), "give a whole number from 1 up"}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	show := &batchWatch{program: p, start: time.Now()}
	status, err := r.Run(ctx, batch.Local{
		Workers: workers, Progress: show.progress, Log: show.log,
		Command: func(ctx context.Context, queueURL string) *exec.Cmd {
			c := exec.CommandContext(ctx, self, "batch", "worker", "--until-eof", "--quiet", "--drain", "10s", "--backend", backend.word)
			c.Env = append(os.Environ(), queueVariable+"="+queueURL)
			return c
		},
	})
	show.clear()
	if errors.Is(err, context.Canceled) && status != nil {
		return &plainError{r.Out, fmt.Sprintf("stopped after %d of %s; finished units are kept", status.Done+status.Failed, prose.Count(status.Units, "unit")), "continue with psi batch resume " + r.Out}
	}
	if err != nil {
		return err
	}
	return p.printStatus(ctx, r, status, asJSON)
}

// batchWatch shows how far a job is.
type batchWatch struct {
	program *program
	start   time.Time
	first   int // units that were done when it began
	began   bool
	line    progressLine
}

func (w *batchWatch) progress(s *batch.Status) {
	if !w.began {
		w.first, w.began = s.Done, true
	}
	if s.Done+s.Failed == s.Units {
		w.line.draw(w.program, 1, "writing the summary")
		return
	}
	text := fmt.Sprintf("%d of %s", s.Done+s.Failed, prose.Count(s.Units, "unit"))
	if s.Failed > 0 {
		text += fmt.Sprintf(", %d failed", s.Failed)
	}
	share, took := float64(s.Done-w.first)/float64(s.Units), time.Since(w.start)
	if share > 0 {
		if s.Rows > 0 {
			text += fmt.Sprintf(", %s rows/s", prose.Thousands(int(float64(s.Rows)*share/took.Seconds())))
		}
		left := time.Duration(float64(took) * float64(s.Units-s.Done-s.Failed) / float64(s.Units) / share)
		text += ", about " + formatDuration(max(time.Second, left.Round(time.Second))) + " left"
	}
	w.line.draw(w.program, float64(s.Done+s.Failed)/float64(s.Units), text)
}

// log passes on a worker's words.
func (w *batchWatch) log(line string) { w.program.logf("%s", prose.Printable(line)) }

func (w *batchWatch) clear() { w.program.wipe() }

// workerFlags are what a worker is asked for.
type workerFlags struct {
	queueFlags
	backend, logFormat choice
	metrics            string
	drain              time.Duration
	untilEOF, quiet    bool
	untilEmpty         bool
	json               bool
}

func (p *program) batchWorkerCommand() *cobra.Command {
	var f workerFlags
	c := &cobra.Command{
		Use:   "worker",
		Short: "Run units from a queue until stopped",
		Long: `worker explains units of any job in the queue, one at a time, with one thread: start one
worker per core. You can stop or kill it at any time. When stopped, it finishes its unit
within --drain or returns it to the queue. When killed, its unit goes to another worker after
half a minute.`,
		Example: `  psi batch worker --queue nats://queue:4222
  psi batch worker --queue tls://queue:4222 --queue-creds worker.creds --metrics 0.0.0.0:8082`,
		Args: arguments(),
	}
	flags := c.Flags()
	f.queueFlags.add(flags)
	flags.StringVar(&f.metrics, "metrics", "", "`ADDRESS` for Prometheus metrics (/metrics) and health (/healthz); empty turns them off")
	flags.DurationVar(&f.drain, "drain", 25*time.Second, "shutdown timeout: how long the current unit may still run")
	flags.BoolVar(&f.untilEOF, "until-eof", false, "stop when standard input ends; for programs that start workers as child processes")
	flags.BoolVar(&f.untilEmpty, "until-empty", false, "stop when the queue is empty and no worker has a unit; for workers started for one job")
	flags.BoolVar(&f.quiet, "quiet", false, "log warnings and errors only")
	f.logFormat = choose("text", "json")
	flags.Var(&f.logFormat, "log-format", "format of the log on standard error")
	addBackend(flags, &f.backend)
	addJSON(flags, &f.json)
	c.RunE = func(cmd *cobra.Command, _ []string) error { return p.batchWorker(cmd.Context(), &f) }
	return c
}

func (p *program) batchWorker(ctx context.Context, f *workerFlags) error {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // a worker is one core: others have workers of their own
	at, err := f.needed(p, "psi batch worker")
	if err != nil {
		return err
	}
	options := &slog.HandlerOptions{Level: slog.LevelInfo}
	if f.quiet {
		options.Level = slog.LevelWarn
		options.ReplaceAttr = func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey || a.Key == slog.LevelKey {
				return slog.Attr{} // whoever watches sees when
			}
			return a
		}
	}
	var handler slog.Handler = slog.NewTextHandler(flagWriter{p.stderr}, options)
	if f.logFormat.word == "json" {
		handler = slog.NewJSONHandler(flagWriter{p.stderr}, options)
	}
	w := &batch.Worker{Queue: at, Backend: psi.Backend(f.backend.word), Drain: f.drain, Log: slog.New(handler), UntilEmpty: f.untilEmpty}
	w.Queue.Log = func(line string) { w.Log.Warn(line) }
	if f.untilEOF {
		ctx = p.untilEOF(ctx)
	}
	if f.metrics != "" {
		stop, err := p.serveMetrics(ctx, f.metrics, w.Metrics())
		if err != nil {
			return err
		}
		defer stop()
	}
	if err := w.Run(ctx); err != nil {
		return err
	}
	if f.json {
		return p.document(map[string]string{"schema": "psi.batch.worker/v1", "state": "stopped"})
	}
	return nil
}

// serveMetrics answers scrapes while a worker works.
func (p *program) serveMetrics(ctx context.Context, address string, metrics http.Handler) (stop func(), err error) {
	routes := http.NewServeMux()
	routes.Handle("GET /metrics", metrics)
	routes.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, &plainError{"--metrics " + address, err.Error(), "choose another address"}
	}
	server := &http.Server{Handler: routes, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second, MaxHeaderBytes: 1 << 14}
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			p.logf("metrics are no longer served: %v", err)
		}
	}()
	return func() { _ = server.Close() }, nil
}
