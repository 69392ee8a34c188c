package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/grpc"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/serve/internal/auth"
	"github.com/psi-shapley/psi/serve/internal/observe"
	"github.com/psi-shapley/psi/serve/internal/registry"
)

// errDraining is the answer of a server that is about to end.
var errDraining = errors.New("the server is not ready: it is starting or about to end")

// maxHeader is how many bytes the header of a request may have.
const maxHeader = 16 << 10

// Server answers requests. It is made by New and works while Run does.
type Server struct {
	config   Config
	guard    *auth.Guard
	tls      *tls.Config
	registry *registry.Registry
	memory   *memory

	metrics      *observe.Metrics
	drift        *observe.Drift
	explanations *observe.ExplanationLog // nil if there is none
	traces       tracing
	shadowCounts *shadowCounts

	unrouted   *observe.Route
	grpcRoutes sync.Map // method to *observe.Route

	underWay   atomic.Int64   // calls of gRPC that were let in
	refusals   rate.Sometimes // that are logged
	shadows    chan struct{}
	background sync.WaitGroup
	isOpen     atomic.Bool // from the start of Run until it drains

	http, grpc, admin net.Listener
}

// New opens the addresses. What it opened is closed by Run, or by itself if it fails.
func New(ctx context.Context, c Config) (_ *Server, err error) {
	c.fill()
	if err := c.check(); err != nil {
		return nil, err
	}
	s := &Server{config: c, metrics: observe.NewMetrics(), drift: observe.NewDrift(time.Now), shadowCounts: newShadowCounts(), shadows: make(chan struct{}, maxShadows)}
	s.memory = newMemory(c.MaxHeld, s.metrics)
	s.refusals.Interval = time.Second
	s.metrics.Register(s.drift, s.shadowCounts.rows, s.shadowCounts.distance)
	s.unrouted = s.metrics.Route("http", "none")
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close(context.WithoutCancel(ctx)))
		}
	}()
	if s.guard, err = auth.New(ctx, c.auth(s.report)); err != nil {
		return nil, err
	}
	if err := auth.CheckAddresses(present(c.HTTP, c.GRPC, c.Metrics), s.guard.Secured(), c.Insecure); err != nil {
		return nil, err
	}
	if c.CertFile == "" && !allLoopback(c.HTTP, c.GRPC, c.Metrics) {
		c.Log.Warn("other machines can ask and nothing is encrypted: whoever is on the way can read rows and tokens; give a certificate, or let a proxy do so")
	}
	if c.CertFile != "" {
		if s.tls, err = auth.TLS(c.CertFile, c.KeyFile, c.ClientCAFile, s.report); err != nil {
			return nil, err
		}
	}
	if err := s.openWatchers(ctx); err != nil {
		return nil, err
	}
	s.registry, err = registry.New(registry.Options{
		Locations: c.Models, Rules: c.Rules, Backend: c.Backend, Every: c.Look,
		Limits: registry.Limits{Rows: c.MaxWaiting, Wait: c.MaxWait}, Observer: observer{s},
	})
	if err != nil {
		return nil, err
	}
	for _, at := range []struct {
		address  string
		listener *net.Listener
	}{{c.HTTP, &s.http}, {c.GRPC, &s.grpc}, {c.Metrics, &s.admin}} {
		if at.address == "" {
			continue
		}
		if *at.listener, err = listen(ctx, at.address, c.MaxConnections); err != nil {
			return nil, fmt.Errorf("cannot listen at %s: %w", at.address, err)
		}
	}
	return s, nil
}

func allLoopback(addresses ...string) bool {
	return !slices.ContainsFunc(present(addresses...), func(a string) bool { return !auth.Loopback(a) })
}

func present(list ...string) []string {
	var some []string
	for _, s := range list {
		if s != "" {
			some = append(some, s)
		}
	}
	return some
}

// openWatchers opens the explanation log and the traces.
func (s *Server) openWatchers(ctx context.Context) (err error) {
	traces, err := observe.OpenTraces(ctx, observe.TraceOptions{Endpoint: s.config.OTLP, Version: psi.Version, Report: s.report})
	if err != nil {
		return err
	}
	s.traces = tracing{traces}
	if s.config.LogDir != "" {
		s.explanations, err = observe.OpenExplanationLog(observe.LogOptions{Dir: s.config.LogDir, Share: s.config.LogShare, Values: s.config.LogValues, Report: s.report})
		if err != nil {
			return err
		}
		s.metrics.Register(s.explanations)
	}
	return nil
}

// report logs what fails in the background.
func (s *Server) report(err error) {
	s.config.Log.Error("something fails in the background", "error", err)
}

// Addresses are where the server listens; "" where it does not.
func (s *Server) Addresses() (web, calls, metrics string) {
	return name(s.http), name(s.grpc), name(s.admin)
}

func name(l net.Listener) string {
	if l == nil {
		return ""
	}
	return l.Addr().String()
}

// Models are the names of those that answer.
func (s *Server) Models() []string { return s.registry.Names() }

// Versions lists the model versions that answer, as NAME@VERSION.
func (s *Server) Versions() []string {
	var all []string
	for _, status := range s.registry.Index() {
		if status.State == registry.Ready {
			all = append(all, status.Name+"@"+status.Version)
		}
	}
	return all
}

// Held returns the bytes that requests hold at the moment; Config.MaxHeld is their limit.
func (s *Server) Held() int64 { return s.memory.inUse() }

// ready tells why the server is not ready for requests, or nil if it is.
func (s *Server) ready() error {
	if !s.isOpen.Load() {
		return errDraining
	}
	if err := s.registry.Ready(); err != nil {
		return &notReadyError{err}
	}
	return nil
}

// notReadyError is the answer of a server whose models do not answer yet.
type notReadyError struct{ reason error }

func (e *notReadyError) Error() string        { return "the server is not ready: " + e.reason.Error() }
func (e *notReadyError) Is(target error) bool { return target == errDraining }

// abort ends a connection on which half of an answer was sent.
func (s *Server) abort(x *exchange, err error) {
	s.config.Log.WarnContext(x.r.Context(), "an answer was broken off", "request_id", x.id, "error", failure(err).Error)
	panic(http.ErrAbortHandler)
}

// grpcRoute counts calls of a method.
func (s *Server) grpcRoute(method string) *observe.Route {
	if r, ok := s.grpcRoutes.Load(method); ok {
		return r.(*observe.Route)
	}
	r, _ := s.grpcRoutes.LoadOrStore(method, s.metrics.Route("grpc", method))
	return r.(*observe.Route)
}

// httpServer is how all HTTP listeners treat their clients: headers come soon and are small, requests end in time.
func (s *Server) httpServer(routes []*route, address string) *http.Server {
	for _, r := range routes {
		r.counts = s.metrics.Route("http", r.path)
	}
	return &http.Server{
		Handler:           &door{s, newMux(routes), auth.Loopback(address)},
		TLSConfig:         s.tls,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       s.config.Timeout,
		WriteTimeout:      s.config.Timeout + 5*time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    maxHeader,
		ConnContext:       withConnection,
		HTTP2:             http2Limits(),
		ErrorLog:          nil,
	}
}

// http2Limits are what a connection of HTTP/2 may hold of requests that are not read.
func http2Limits() *http.HTTP2Config {
	return &http.HTTP2Config{
		MaxConcurrentStreams: 100, MaxReadFrameSize: 16 << 10, MaxReceiveBufferPerConnection: 256 << 10, MaxReceiveBufferPerStream: 256 << 10,
		WriteByteTimeout: 10 * time.Second,
	}
}

// requestBytes is what one request may hold: its body, and what is made of it on the way to its answer.
func (s *Server) requestBytes() int64 { return 4 * s.config.MaxBody }

// Run serves until the context ends, and then lets what is under way come to its end. It loads the models once it
// listens, and fails if a place of models does not exist, or if a single file that was named cannot be loaded for a reason
// that will not pass.
func (s *Server) Run(ctx context.Context) error {
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()

	failed := make(chan error, 4)
	var servers []*http.Server
	start := func(l net.Listener, server *http.Server) {
		servers = append(servers, server)
		s.background.Go(func() {
			listen := func() error { return server.Serve(l) }
			if s.tls != nil {
				listen = func() error { return server.ServeTLS(l, "", "") }
			}
			if err := listen(); !errors.Is(err, http.ErrServerClosed) {
				failed <- err
			}
		})
	}
	if s.http != nil {
		start(s.http, s.httpServer(s.routes(), s.config.HTTP))
	}
	if s.admin != nil {
		start(s.admin, s.httpServer(s.adminRoutes(), s.config.Metrics))
	}
	var calls *grpc.Server
	if s.grpc != nil {
		calls = s.newGRPC(auth.Loopback(s.config.GRPC))
		s.background.Go(func() {
			if err := calls.Serve(s.grpc); err != nil {
				failed <- err
			}
		})
	}
	s.isOpen.Store(true)
	web, rpc, admin := s.Addresses()
	s.config.Log.Info("listening; loading models", "http", web, "grpc", rpc, "metrics", admin)
	s.background.Go(func() { s.registry.Watch(watching) })
	s.background.Go(func() {
		err := s.registry.First(watching)
		if err == nil {
			err = s.config.Started()
		}
		if err != nil && watching.Err() == nil {
			failed <- err
		}
	})

	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	s.isOpen.Store(false)
	stop() // nothing more is loaded
	s.config.Log.Info("draining: requests under way have time to end", "limit", s.config.Drain)
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.config.Drain)
	defer cancel()
	err = errors.Join(err, drain(ending, servers, calls))
	within(ending, s.background.Wait)
	return errors.Join(err, s.close(ending))
}

// within waits for something to end, as long as the context lasts.
func within(ctx context.Context, wait func()) {
	done := make(chan struct{})
	go func() {
		wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// drain ends servers once their requests have, or when the time is up.
func drain(ctx context.Context, servers []*http.Server, calls *grpc.Server) error {
	var ending sync.WaitGroup
	late := make([]error, len(servers))
	for i, server := range servers {
		ending.Go(func() {
			if err := server.Shutdown(ctx); err != nil {
				late[i] = errors.Join(errors.New("requests were broken off, for their time to end was up"), server.Close())
			}
		})
	}
	if calls != nil {
		ending.Go(func() {
			done := make(chan struct{})
			go func() { calls.GracefulStop(); close(done) }()
			select {
			case <-done:
			case <-ctx.Done():
				calls.Stop()
				<-done
			}
		})
	}
	ending.Wait()
	return errors.Join(late...)
}

// close ends what New opened.
func (s *Server) close(ctx context.Context) error {
	var err error
	for _, l := range []net.Listener{s.http, s.grpc, s.admin} {
		if l != nil {
			if e := l.Close(); !errors.Is(e, net.ErrClosed) {
				err = errors.Join(err, e)
			}
		}
	}
	if s.registry != nil {
		err = errors.Join(err, s.registry.Close(ctx))
	}
	if s.explanations != nil {
		err = errors.Join(err, s.explanations.Close(ctx))
	}
	if s.traces.Traces != nil {
		err = errors.Join(err, s.traces.Close(ctx))
	}
	return err
}
