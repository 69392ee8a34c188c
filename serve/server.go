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

// errDraining is the error of a server that is starting or stopping.
var errDraining = errors.New("the server is not ready: it is starting or shutting down")

// maxHeader is the maximum size of the header of a request, in bytes.
const maxHeader = 16 << 10

// Server serves models over HTTP and gRPC. New creates it; it answers requests while Run runs. Its methods are safe for
// concurrent use.
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

	underWay   atomic.Int64   // admitted gRPC calls
	refusals   rate.Sometimes // limits their log lines
	shadows    chan struct{}
	background sync.WaitGroup
	isOpen     atomic.Bool // from the start of Run until it drains
	isMounted  atomic.Bool // Handler was called

	http, grpc, admin net.Listener
}

// New opens the listeners of a server and checks its configuration; Run then loads the models and answers. The context
// bounds New alone: it reads the token file and asks the OpenID Connect issuer for its keys. A server that New returned must
// be Run, which closes what New opened.
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
		c.Log.Warn("connections from other machines are not encrypted: anyone on the network path can read rows and tokens; set a certificate, or use a proxy with TLS")
	}
	if c.CertFile != "" {
		if s.tls, err = auth.TLS(c.CertFile, c.KeyFile, c.ClientCAFile, s.report); err != nil {
			return nil, err
		}
	}
	if err := s.openObservers(ctx); err != nil {
		return nil, err
	}
	s.registry, err = registry.New(registry.Options{
		Locations: c.Models, Rules: c.Rules, Backend: c.Backend, PollInterval: c.PollInterval,
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

// openObservers opens the explanation log and the traces.
func (s *Server) openObservers(ctx context.Context) (err error) {
	traces, err := observe.OpenTraces(ctx, observe.TraceOptions{Endpoint: s.config.OTLP, Version: psi.Version(), Report: s.report})
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

// report logs an error of the background.
func (s *Server) report(err error) {
	s.config.Log.Error("a background task failed", "error", err)
}

// Addresses returns the addresses of the listeners for HTTP (web), gRPC (calls) and metrics, with the ports that the system
// chose for port 0. The address of a listener that is turned off is "".
func (s *Server) Addresses() (web, calls, metrics string) {
	return name(s.http), name(s.grpc), name(s.admin)
}

func name(l net.Listener) string {
	if l == nil {
		return ""
	}
	return l.Addr().String()
}

// Models returns the names of the models that answer, sorted.
func (s *Server) Models() []string { return s.registry.Names() }

// ready returns nil if the server is ready for requests, and the reason otherwise.
func (s *Server) ready() error {
	if !s.isOpen.Load() {
		return errDraining
	}
	if err := s.registry.Ready(); err != nil {
		return &notReadyError{err}
	}
	return nil
}

// notReadyError is the error of a server whose models are not in service yet.
type notReadyError struct{ reason error }

func (e *notReadyError) Error() string        { return "the server is not ready: " + e.reason.Error() }
func (e *notReadyError) Is(target error) bool { return target == errDraining }

// abort closes a connection on which half of an answer was sent.
func (s *Server) abort(x *exchange, err error) {
	s.config.Log.WarnContext(x.r.Context(), "an answer was broken off", "request_id", x.id, "error", failure(err).Error)
	panic(http.ErrAbortHandler)
}

// grpcRoute returns the counters of a method.
func (s *Server) grpcRoute(method string) *observe.Route {
	if r, ok := s.grpcRoutes.Load(method); ok {
		return r.(*observe.Route)
	}
	r, _ := s.grpcRoutes.LoadOrStore(method, s.metrics.Route("grpc", method))
	return r.(*observe.Route)
}

// Handler returns a handler of the HTTP routes, for a program that mounts them in an [http.Server] of its own. Call it before
// Run; before Run starts and after it ends, the handler answers 503.
//
// The handler checks the callers as the listeners do. Without authentication in Config, everybody who reaches it may ask
// for predictions, but nobody may load or unload models. Timeouts of headers and idle connections, TLS and the limit of
// connections are the program's own; client certificates are read from the request. Routes begin at /: use
// [http.StripPrefix] to mount them elsewhere. To stop, shut down the program's server first, then end the context of Run.
func (s *Server) Handler() http.Handler {
	s.isMounted.Store(true)
	d := s.newListenerHandler(s.routes(), false)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.isOpen.Load() {
			failure(errDraining).write(w, errDraining)
			return
		}
		d.ServeHTTP(w, r)
	})
}

func (s *Server) newListenerHandler(routes []*route, loopback bool) *listenerHandler {
	for _, r := range routes {
		r.counts = s.metrics.Route("http", r.path)
	}
	return &listenerHandler{s, newMux(routes), loopback}
}

// httpServer limits the clients of an HTTP listener: headers come soon and are small, and requests end in time.
func (s *Server) httpServer(routes []*route, address string) *http.Server {
	return &http.Server{
		Handler:           s.newListenerHandler(routes, auth.Loopback(address)),
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

// http2Limits bound the unread requests of an HTTP/2 connection.
func http2Limits() *http.HTTP2Config {
	return &http.HTTP2Config{
		MaxConcurrentStreams: 100, MaxReadFrameSize: 16 << 10, MaxReceiveBufferPerConnection: 256 << 10, MaxReceiveBufferPerStream: 256 << 10,
		WriteByteTimeout: 10 * time.Second,
	}
}

// requestBytes is the maximum memory of one request: for its body, and for everything that is made of it.
func (s *Server) requestBytes() int64 { return 4 * s.config.MaxBody }

// Run loads the models and serves until the context ends. Then it waits at most Config.Drain for the requests in progress and
// closes everything that New opened. A server runs once.
//
// Run returns an error if a location of models does not exist or a listener fails. It also does if Config.Models names a
// single file that cannot be loaded for a reason that will not pass. Broken files in a directory or a bucket are logged
// instead.
func (s *Server) Run(ctx context.Context) error {
	if s.http == nil && s.grpc == nil && !s.isMounted.Load() {
		return errors.Join(errors.New("nothing to listen at: give an address for HTTP or gRPC"), s.close(ctx))
	}
	if s.config.LimitMemory {
		restore := s.limitMemory()
		defer restore()
	}
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
	stop() // no more models are loaded
	s.config.Log.Info("shutting down: waiting for requests in progress", "limit", s.config.Drain)
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.config.Drain)
	defer cancel()
	err = errors.Join(err, drain(ending, servers, calls))
	within(ending, s.background.Wait)
	return errors.Join(err, s.close(ending))
}

// within waits for a function, as long as the context lasts.
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

// drain stops servers when their requests have ended, or when the context ends.
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

// close closes what New opened.
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
