package serve

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/serve/internal/auth"
	"github.com/psi-shapley/psi/serve/internal/observe"
)

// Config says what is served, where and to whom. New fills in what is 0.
type Config struct {
	Models  []string      // model files, directories of them and URLs of buckets
	Rules   string        // file of labels, splits and shadows of versions; "" if there is none
	Backend psi.Backend   // that models run on; "" is Auto
	Look    time.Duration // between looks for new models; 0 means 2 s

	HTTP, GRPC, Metrics string // addresses: HOST:PORT or unix:PATH; "" is none

	CertFile, KeyFile, ClientCAFile string // of TLS
	TokenFile                       string
	Issuer, Audience                string   // of OpenID Connect
	Admins                          []string // certificates that may load models and see into the process
	Insecure                        bool     // serve others than this machine without asking who they are
	Rate                            float64  // requests a second of each caller; 0 is no limit

	MaxCalls       int           // requests of one caller that are under way at once; 0 means 256
	MaxRows        int           // of a request; 0 means 1,000
	MaxBody        int64         // bytes of a request, unpacked; 0 means 64 MiB
	MaxHeld        int64         // bytes that all requests hold at once; 0 means 512 MiB
	MaxConnections int           // to a port; 0 means 4,096
	MaxWaiting     int           // rows that wait for a model; 0 means 16,384
	MaxWait        time.Duration // that a request is let in for; 0 means 2 s
	Timeout        time.Duration // of a request; 0 means 30 s
	Drain          time.Duration // that requests have to end in when the server does; 0 means 25 s

	streamIdle time.Duration // that a stream may wait for its next message; 0 means 5 min

	UI bool // the live page

	LogDir    string  // of the explanation log; "" is none
	LogShare  float64 // of the requests that are logged; 0 means 0.01
	LogValues bool    // with the cells of callers' tables

	Started func() error // called when the first look for models has ended; an error ends the server; nil is none

	OTLP string       // URL that traces are sent to; "" is none
	Log  *slog.Logger // nil is none
}

// NewLogger writes log lines in the form of text or json, without cells of callers' tables.
func NewLogger(w io.Writer, format string) (*slog.Logger, error) {
	return observe.NewLogger(w, format, slog.LevelInfo)
}

// fill puts the defaults in place of what is 0.
func (c *Config) fill() {
	or(&c.Look, 2*time.Second)
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
	if c.Started == nil {
		c.Started = func() error { return nil }
	}
}

func or[T comparable](value *T, usual T) {
	var none T
	if *value == none {
		*value = usual
	}
}

// check refuses what contradicts itself.
func (c *Config) check() error {
	switch {
	case len(c.Models) == 0:
		return errors.New("no model: give a model file, a directory of them or the URL of a bucket")
	case c.HTTP == "" && c.GRPC == "":
		return errors.New("nothing to listen at: give an address for HTTP or gRPC")
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
		"time to wait": int64(c.MaxWait), "time of a request": int64(c.Timeout), "time to drain": int64(c.Drain), "time between looks for models": int64(c.Look),
	} {
		if n < 0 {
			return fmt.Errorf("the limit of %s is below 0", name)
		}
	}
	return nil
}

// auth is who may come in.
func (c *Config) auth(report func(error)) auth.Config {
	return auth.Config{
		TokenFile: c.TokenFile, ClientCertificates: c.ClientCAFile != "", Admins: c.Admins,
		Issuer: c.Issuer, Audience: c.Audience, Rate: c.Rate, Calls: c.MaxCalls, Report: report,
	}
}
