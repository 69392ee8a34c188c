// Package serve answers requests with predictions and their Shapley attributions, over HTTP and gRPC.
//
// A [Server] either listens itself, at the addresses of its [Config], or is mounted in a program's own [net/http.Server] by
// [Server.Handler]. It watches files, directories and buckets for models and swaps new versions in without interrupting
// requests. Callers speak the Open Inference Protocol (HTTP and gRPC), KServe's V1 protocol, MLflow's /invocations, or plain
// JSON and Arrow at /explain and /predict; /openapi.json describes all HTTP routes.
//
// docs/architecture.md lists the functions that a request passes through.
package serve

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/serve/internal/auth"
	"github.com/psi-shapley/psi/serve/internal/observe"
)

// Config configures a server. Only Models is required; New replaces other zero values by the defaults that are given here.
type Config struct {
	// Models are the locations of models: model files, directories and URLs of buckets. The name of a model is its file name
	// without .psi; NAME@2.psi is version 2 of NAME.
	Models       []string
	Rules        string        // YAML file of version labels, traffic splits and shadow versions; "" means none
	Backend      psi.Backend   // backend of the models; "" means psi.Auto
	PollInterval time.Duration // interval of the search for new model files; 0 means 2 s

	// HTTP, GRPC and Metrics are the addresses to listen on: HOST:PORT or unix:PATH. An empty address turns that listener off.
	// Without HTTP and GRPC, the program must mount [Server.Handler].
	HTTP, GRPC, Metrics string

	// CertFile and KeyFile turn on TLS for all listeners. ClientCAFile makes client certificates of its CAs an authentication.
	CertFile, KeyFile, ClientCAFile string
	TokenFile                       string   // hashes of bearer tokens, as lines of NewToken
	Issuer, Audience                string   // OpenID Connect: URL of the issuer, and the audience that its tokens must have
	Admins                          []string // names of client certificates that may load models and read profiles
	Insecure                        bool     // serve other machines without authentication
	Rate                            float64  // maximum requests per second of each caller; 0 means no limit

	MaxCalls       int           // maximum concurrent requests of one caller; 0 means 256
	MaxRows        int           // maximum rows of a request; 0 means 1,000
	MaxBody        int64         // maximum bytes of a request after decompression; 0 means 64 MiB
	MaxHeld        int64         // maximum bytes that all requests in progress hold; 0 means 512 MiB
	MaxConnections int           // maximum connections of a listener; 0 means 4,096
	MaxWaiting     int           // maximum rows that wait for one model; 0 means 16,384
	MaxWait        time.Duration // maximum time that a request may wait for its model; 0 means 2 s
	Timeout        time.Duration // maximum time of a request; 0 means 30 s
	Drain          time.Duration // graceful shutdown timeout; 0 means 25 s

	streamIdle time.Duration // maximum time between two messages of a stream; 0 means 5 min

	// LimitMemory sets the soft memory limit and the garbage collection target of the whole process while Run runs: to the
	// memory of the models, MaxHeld and 32 MiB. The environment variables GOGC and GOMEMLIMIT take precedence.
	LimitMemory bool

	UI bool // serve an interactive page at /ui

	LogDir    string  // directory of the explanation log, in Parquet; "" turns it off
	LogShare  float64 // share of requests in the explanation log, in (0, 1]; 0 means 0.01
	LogValues bool    // include the cells of callers' tables in the explanation log

	// Started is called once, when the first search for models has ended. If it returns an error, Run stops and returns that.
	Started func() error

	OTLP string       // URL of an OpenTelemetry collector for traces, OTLP over gRPC; "" turns traces off
	Log  *slog.Logger // server log, which gets no cells of callers' tables; nil turns it off
}

// fill replaces zero values by defaults.
func (c *Config) fill() {
	or(&c.PollInterval, 2*time.Second)
	or(&c.MaxCalls, 256)
	or(&c.MaxRows, 1000)
	or(&c.MaxBody, 64<<20)
	or(&c.MaxHeld, 512<<20)
	or(&c.MaxConnections, 4096)
	or(&c.MaxWaiting, 16_384)
	or(&c.MaxWait, 2*time.Second)
	or(&c.Timeout, 30*time.Second)
	or(&c.Drain, 25*time.Second)
	or(&c.streamIdle, 5*time.Minute)
	or(&c.LogShare, .01)
	if c.Backend == "" {
		c.Backend = psi.Auto
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	c.Log = slog.New(observe.NewHandler(c.Log.Handler()))
	if c.Started == nil {
		c.Started = func() error { return nil }
	}
}

func or[T comparable](value *T, byDefault T) {
	var none T
	if *value == none {
		*value = byDefault
	}
}

// check refuses options that contradict each other.
func (c *Config) check() error {
	switch {
	case len(c.Models) == 0:
		return errors.New("no model: give a model file, a directory of them or the URL of a bucket")
	case (c.CertFile == "") != (c.KeyFile == ""):
		return errors.New("TLS needs a certificate and its key: give both files")
	case c.ClientCAFile != "" && c.CertFile == "":
		return errors.New("client certificates need TLS: give the server's certificate and key too")
	case c.LogShare < 0 || c.LogShare > 1:
		return fmt.Errorf("a share of %g of the requests is to be logged: it must lie between 0 and 1", c.LogShare)
	}
	for name, n := range map[string]int64{
		"requests of a caller": int64(c.MaxCalls), "rows of a request": int64(c.MaxRows), "bytes of a request": c.MaxBody, "bytes of all requests": c.MaxHeld,
		"connections": int64(c.MaxConnections), "rows that wait": int64(c.MaxWaiting),
		"time to wait": int64(c.MaxWait), "time of a request": int64(c.Timeout), "time to drain": int64(c.Drain), "time between looks for models": int64(c.PollInterval),
	} {
		if n < 0 {
			return fmt.Errorf("the limit of %s is below 0", name)
		}
	}
	return nil
}

// auth returns the options of authentication.
func (c *Config) auth(report func(error)) auth.Config {
	return auth.Config{
		TokenFile: c.TokenFile, ClientCertificates: c.ClientCAFile != "", Admins: c.Admins,
		Issuer: c.Issuer, Audience: c.Audience, Rate: c.Rate, Calls: c.MaxCalls, Report: report,
	}
}

// NewToken creates a random bearer token for a caller with the given permissions, a comma-separated list of infer, admin
// and metrics. The secret is for the caller: nothing stores it. The line holds its hash and is for Config.TokenFile.
func NewToken(name, allowed string) (secret, line string, err error) {
	permission, err := auth.ParsePermission(allowed)
	if err != nil {
		return "", "", err
	}
	return auth.NewToken(name, permission)
}
