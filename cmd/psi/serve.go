package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/serve"
)

// serveFlags holds the flags of serve.
type serveFlags struct {
	serve.Config
	backend, logFormat choice
	maxBody, maxHeld   bytesFlag
	untilEOF           bool
	json               bool
}

// serveDocument is the document that serve prints once it accepts requests.
type serveDocument struct {
	Schema  string   `json:"schema"`
	HTTP    string   `json:"http"`
	GRPC    string   `json:"grpc"`
	Metrics string   `json:"metrics"`
	Models  []string `json:"models"`
}

func (p *program) serveCommand() *cobra.Command {
	var f serveFlags
	c := &cobra.Command{
		Use:   "serve MODEL|DIR|URL…",
		Short: "Serve predictions and attributions over HTTP and gRPC",
		Long: `serve answers requests over the Open Inference Protocol (HTTP and gRPC), which clients of
KServe and Triton use. It also speaks KServe's V1 protocol (:predict, :explain), MLflow's
/invocations, and plain JSON or Arrow at /explain and /predict. /openapi.json describes all
endpoints.

A model's name is its file name without .psi; NAME@2.psi is version 2 of NAME. serve watches
directories and buckets: it loads and checks new files and puts them into service without
interrupting requests. An invalid file never replaces a valid one. --labels FILE names
versions, splits traffic between them, and lets a shadow version receive requests without
answering.

By default serve accepts connections from this machine only. To serve others, choose an
authentication: --token-file (see psi token), --client-ca or --oidc-issuer.`,
		Example: `  psi serve model.psi
  psi serve models/ --ui
  psi serve models/ --http 0.0.0.0:8080 --tls-cert cert.pem --tls-key key.pem --token-file tokens`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return &usageError{cmd.CommandPath() + " needs a model", "for example psi serve model.psi"}
			}
			return nil
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.HTTP, "http", "127.0.0.1:8080", "`ADDRESS` for HTTP: HOST:PORT or unix:PATH; empty turns HTTP off")
	flags.StringVar(&f.GRPC, "grpc", "127.0.0.1:8081", "`ADDRESS` for gRPC")
	flags.StringVar(&f.Metrics, "metrics", "127.0.0.1:8082", "`ADDRESS` for metrics and profiles")
	flags.StringVar(&f.CertFile, "tls-cert", "", "`FILE` with the server's certificate; reloaded when it changes")
	flags.StringVar(&f.KeyFile, "tls-key", "", "`FILE` with the key of the certificate")
	flags.StringVar(&f.ClientCAFile, "client-ca", "", "`FILE` with the CAs of accepted client certificates")
	flags.StringSliceVar(&f.Admins, "client-admin", nil, "`NAMES` of client certificates that may load models")
	flags.StringVar(&f.TokenFile, "token-file", "", "`FILE` with hashes of bearer tokens, as psi token prints them; reloaded when it changes")
	flags.StringVar(&f.Issuer, "oidc-issuer", "", "`URL` of an OpenID Connect issuer whose tokens are accepted")
	flags.StringVar(&f.Audience, "oidc-audience", "", "required audience `NAME` of its tokens")
	flags.BoolVar(&f.Insecure, "insecure", false, "serve other machines without authentication")
	flags.Float64Var(&f.Rate, "rate", 0, "maximum requests per second of each caller; 0 means no limit")
	flags.IntVar(&f.MaxCalls, "max-calls", 256, "maximum number of concurrent requests and streams of one caller")
	flags.IntVar(&f.MaxRows, "max-rows", 1000, "maximum number of rows in a request")
	f.maxBody = 64 << 20
	flags.Var(&f.maxBody, "max-body", "maximum size of a request body after decompression")
	f.maxHeld = 512 << 20
	flags.Var(&f.maxHeld, "max-held", "maximum memory of all requests in progress: bodies, decompressed and decoded, and answers")
	flags.DurationVar(&f.Timeout, "timeout", 0, "maximum time of a request (default 30s)")
	flags.DurationVar(&f.Drain, "drain", 0, "graceful shutdown timeout (default 25s)")
	flags.StringVar(&f.Rules, "labels", "", "YAML `FILE` of version labels, traffic splits and shadow versions; reloaded when it changes")
	flags.BoolVar(&f.UI, "ui", false, "serve an interactive page at /ui: change a cell and see the effect")
	flags.StringVar(&f.OTLP, "otlp", "", "`URL` of an OpenTelemetry collector (OTLP over gRPC) for traces")
	flags.StringVar(&f.LogDir, "log-dir", "", "`DIRECTORY` for the explanation log, in Parquet")
	flags.Float64Var(&f.LogShare, "log-sample", .01, "share of requests in the explanation log")
	flags.BoolVar(&f.LogValues, "log-values", false, "include the input values in the explanation log")
	f.logFormat = choose("text", "json")
	flags.Var(&f.logFormat, "log-format", "format of the server log on standard error")
	flags.BoolVar(&f.untilEOF, "until-eof", false, "stop when standard input ends; for programs that start the server as a child process")
	addBackend(flags, &f.backend)
	addJSON(flags, &f.json)
	c.RunE = func(cmd *cobra.Command, args []string) error { return p.serve(cmd.Context(), args, &f) }
	return c
}

func (p *program) serve(ctx context.Context, models []string, f *serveFlags) error {
	f.Models, f.Backend, f.MaxBody, f.MaxHeld = models, psi.Backend(f.backend.word), int64(f.maxBody), int64(f.maxHeld)
	f.Log, f.LimitMemory = slog.New(slog.NewTextHandler(flagWriter{p.stderr}, nil)), true
	if f.logFormat.word == "json" {
		f.Log = slog.New(slog.NewJSONHandler(flagWriter{p.stderr}, nil))
	}
	if f.untilEOF {
		ctx = p.untilEOF(ctx)
	}
	var s *serve.Server
	f.Started = func() error {
		ready := serveDocument{Schema: "psi.serving/v1", Models: s.Models()}
		ready.HTTP, ready.GRPC, ready.Metrics = s.Addresses()
		if f.json {
			return p.document(ready)
		}
		p.logf("%s", ready.words(f.UI, f.CertFile != ""))
		return nil
	}
	var err error
	if s, err = serve.New(ctx, f.Config); err != nil {
		return err
	}
	return s.Run(ctx)
}

// untilEOF returns a context that ends when standard input does. The system closes standard input however the process
// at its other end dies.
func (p *program) untilEOF(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		_, _ = io.Copy(io.Discard, p.stdin) // any error means that it has ended
	}()
	return ctx
}

// words tells people where to open the page.
func (s *serveDocument) words(page, secure bool) string {
	scheme := "http://"
	if secure {
		scheme = "https://"
	}
	lines := []string{"serving " + strings.Join(s.Models, ", ")}
	if len(s.Models) == 0 {
		lines[0] = "no model is loaded yet: psi will serve files as they appear or become readable"
	}
	if s.HTTP != "" {
		lines = append(lines, "HTTP     "+scheme+s.HTTP+"  described at /openapi.json")
	}
	if s.GRPC != "" {
		lines = append(lines, "gRPC     "+s.GRPC)
	}
	if s.Metrics != "" {
		lines = append(lines, "metrics  "+scheme+s.Metrics+"/metrics")
	}
	if page && s.HTTP != "" {
		lines = append(lines, "look     "+scheme+s.HTTP+"/ui")
	}
	return strings.Join(append(lines, "stop with Ctrl-C"), "\n")
}

// bytesFlag is a number of bytes, such as 64MiB.
type bytesFlag int64

// String formats the number with the largest unit that divides it.
func (b *bytesFlag) String() string {
	n := int64(*b)
	for _, unit := range byteUnits() {
		if n >= unit.bytes && n%unit.bytes == 0 {
			return strconv.FormatInt(n/unit.bytes, 10) + unit.name
		}
	}
	return strconv.FormatInt(n, 10)
}

// Type returns the placeholder in the help text.
func (b *bytesFlag) Type() string { return "BYTES" }

// Set accepts an integer, with or without a unit.
func (b *bytesFlag) Set(text string) error {
	size := int64(1)
	for _, unit := range byteUnits() {
		if number, is := strings.CutSuffix(text, unit.name); is {
			text, size = number, unit.bytes
			break
		}
	}
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || n < 1 || n > (1<<40)/size {
		return errors.New("give a number of bytes such as 64MiB")
	}
	*b = bytesFlag(n * size)
	return nil
}

type byteUnit struct {
	name  string
	bytes int64
}

func byteUnits() []byteUnit {
	return []byteUnit{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}
}

func (p *program) tokenCommand() *cobra.Command {
	var allow string
	var asJSON bool
	c := &cobra.Command{
		Use:   "token NAME",
		Short: "Create a bearer token for a caller of psi serve",
		Long: `token creates a random token and prints two lines. The first is the token, for the caller; psi
does not store it. The second is its hash, a line for the file of psi serve --token-file.`,
		Example: `  psi token reporting
  psi token operations --allow infer,admin,metrics`,
		Args: arguments("NAME"),
	}
	c.Flags().StringVar(&allow, "allow", "infer", "what the caller may do: `infer,admin,metrics`")
	addJSON(c.Flags(), &asJSON)
	c.RunE = func(_ *cobra.Command, args []string) error {
		secret, line, err := serve.NewToken(args[0], allow)
		if err != nil {
			return &usageError{err.Error(), "for example psi token reporting --allow infer"}
		}
		if asJSON {
			return p.document(map[string]string{"schema": "psi.token/v1", "token": secret, "line": line})
		}
		p.logf("the token, for the caller:")
		if _, err := fmt.Fprintln(p.stdout, secret); err != nil {
			return err
		}
		p.logf("the line, for the token file:")
		_, err = fmt.Fprintln(p.stdout, line)
		return err
	}
	return c
}
