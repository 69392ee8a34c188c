package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/psi-shapley/psi/serve"
)

// serveFlags are what serve is asked for.
type serveFlags struct {
	serve.Config
	backend, logFormat choice
	body, held         bytesFlag
	untilEOF           bool
	json               bool
}

// serving is what serve says once it answers.
type serving struct {
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
		Short: "Answer requests with predictions and their attributions",
		Long: `serve answers over the Open Inference Protocol (HTTP and gRPC), which KServe's and Triton's
clients speak, KServe's first protocol (:predict, :explain), MLflow's /invocations, and plain
JSON or Arrow at /explain and /predict; /openapi.json describes all of it.

A model's name is its file name without .psi; NAME@2.psi is version 2 of NAME. Files that appear
in a directory or bucket are loaded, checked and put into service while requests go on; a
broken file never replaces a good one. --labels FILE gives versions names, splits requests
between them and lets a version see requests without answering.

By default it listens to this machine alone. To serve others, say who may ask: --token-file
(made with psi token), --client-ca or --oidc-issuer.`,
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
	flags.StringVar(&f.HTTP, "http", "127.0.0.1:8080", "`ADDRESS` for HTTP: HOST:PORT, unix:PATH, or nothing for none")
	flags.StringVar(&f.GRPC, "grpc", "127.0.0.1:8081", "`ADDRESS` for gRPC")
	flags.StringVar(&f.Metrics, "metrics", "127.0.0.1:8082", "`ADDRESS` for metrics and profiles")
	flags.StringVar(&f.CertFile, "tls-cert", "", "`FILE` with the server's certificate; read again when it changes")
	flags.StringVar(&f.KeyFile, "tls-key", "", "`FILE` with its key")
	flags.StringVar(&f.ClientCAFile, "client-ca", "", "`FILE` with the CAs of client certificates that may ask")
	flags.StringSliceVar(&f.Admins, "client-admin", nil, "`NAMES` of client certificates that may load models")
	flags.StringVar(&f.TokenFile, "token-file", "", "`FILE` of bearer tokens' hashes, lines that psi token prints; read again when it changes")
	flags.StringVar(&f.Issuer, "oidc-issuer", "", "`URL` of an OpenID Connect issuer whose tokens count")
	flags.StringVar(&f.Audience, "oidc-audience", "", "`NAME` that its tokens must be for")
	flags.BoolVar(&f.Insecure, "insecure", false, "serve other machines without asking who they are")
	flags.Float64Var(&f.Rate, "rate", 0, "requests a second of each caller, at most; 0 is no limit")
	flags.IntVar(&f.MaxCalls, "max-calls", 256, "maximum number of requests and streams of one caller under way at once")
	flags.IntVar(&f.MaxRows, "max-rows", 1000, "maximum number of rows of a request")
	f.body = 64 << 20
	flags.Var(&f.body, "max-body", "maximum size of a request's body, unpacked")
	f.held = 512 << 20
	flags.Var(&f.held, "max-held", "maximum memory of all requests under way: bodies, what is unpacked and decoded of them, and answers")
	flags.DurationVar(&f.Timeout, "timeout", 0, "time of a request, at most (default 30s)")
	flags.DurationVar(&f.Drain, "drain", 0, "time that requests have to end in when the server is told to (default 25s)")
	flags.StringVar(&f.Rules, "labels", "", "YAML `FILE` of versions' labels, splits and shadows; read again when it changes")
	flags.BoolVar(&f.UI, "ui", false, "show the live page at /ui: change a cell and see what it does")
	flags.StringVar(&f.OTLP, "otlp", "", "`URL` of an OpenTelemetry collector (OTLP over gRPC) for traces")
	flags.StringVar(&f.LogDir, "log-dir", "", "`DIRECTORY` for a log of explanations, in Parquet")
	flags.Float64Var(&f.LogShare, "log-sample", .01, "share of the requests that are in it")
	flags.BoolVar(&f.LogValues, "log-values", false, "with the cells of the callers' rows")
	f.logFormat = choose("text", "json")
	flags.Var(&f.logFormat, "log-format", "how the server's own log is written, on standard error")
	flags.BoolVar(&f.untilEOF, "until-eof", false, "stop when standard input ends: for a program that starts its own server, which is to end with it")
	addBackend(flags, &f.backend)
	addJSON(flags, &f.json)
	c.RunE = func(cmd *cobra.Command, args []string) error { return p.serve(cmd.Context(), args, &f) }
	return c
}

func (p *program) serve(ctx context.Context, models []string, f *serveFlags) error {
	f.Models, f.Backend, f.MaxBody, f.MaxHeld = models, f.backend.word, int64(f.body), int64(f.held)
	var err error
	if f.Log, err = serve.NewLogger(p.stderr, f.logFormat.word); err != nil {
		return err
	}
	if f.untilEOF {
		ctx = p.untilEOF(ctx)
	}
	var s *serve.Server
	f.Started = func() error {
		ready := serving{Schema: "psi.serving/v1", Models: s.Models()}
		ready.HTTP, ready.GRPC, ready.Metrics = s.Addresses()
		if f.json {
			return p.document(ready)
		}
		p.note("%s", ready.words(f.UI, f.CertFile != ""))
		return nil
	}
	if s, err = serve.New(ctx, f.Config); err != nil {
		return err
	}
	restore := limitMemory(s, f.MaxHeld)
	defer restore()
	return s.Run(ctx)
}

// untilEOF is a context that ends when standard input does. However the process at its other end dies, the system closes it.
func (p *program) untilEOF(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		_, _ = io.Copy(io.Discard, p.stdin) // whatever ends it, it has ended
	}()
	return ctx
}

// words tell a person where to look.
func (s *serving) words(page, secure bool) string {
	scheme := "http://"
	if secure {
		scheme = "https://"
	}
	lines := []string{"serving " + strings.Join(s.Models, ", ")}
	if len(s.Models) == 0 {
		lines[0] = "no model answers yet: files that appear or become readable will be served"
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

// String is the number with the largest unit that divides it.
func (b *bytesFlag) String() string {
	n := int64(*b)
	for _, unit := range byteUnits() {
		if n >= unit.bytes && n%unit.bytes == 0 {
			return strconv.FormatInt(n/unit.bytes, 10) + unit.name
		}
	}
	return strconv.FormatInt(n, 10)
}

// Type is what help shows in the place of a value.
func (b *bytesFlag) Type() string { return "BYTES" }

// Set takes a whole number, with or without a unit.
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
		Short: "Draw a bearer token for a caller of psi serve",
		Long: `token draws a random token and prints two lines: the token, which is for the caller and kept
nowhere, and its hash, a line for the file that psi serve --token-file reads.`,
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
		p.note("the token, for the caller:")
		if _, err := fmt.Fprintln(p.stdout, secret); err != nil {
			return err
		}
		p.note("the line, for the token file:")
		_, err = fmt.Fprintln(p.stdout, line)
		return err
	}
	return c
}
