package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/batch"
)

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
			p.note("metrics are no longer served: %v", err)
		}
	}()
	return func() { _ = server.Close() }, nil
}
