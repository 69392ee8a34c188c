package serve

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/psi-shapley/psi/serve/internal/auth"
	"github.com/psi-shapley/psi/serve/internal/observe"
)

// Media types.
const (
	jsonType   = "application/json"
	arrowType  = "application/vnd.apache.arrow.stream"
	csvType    = "text/csv"
	tensorType = "application/octet-stream" // JSON and binary tensors behind it
)

var errNoRoute = errors.New("there is nothing at this path: /openapi.json lists what is")

// methodError is the error of a path that does not support the method.
type methodError struct{ allowed []string }

func (m *methodError) Error() string { return "this path is asked by " + strings.Join(m.allowed, ", ") }

// route is a route of the HTTP server.
type route struct {
	method, path string // as in the OpenAPI document: {model} is a variable, which a verb may follow, as in {model}:predict
	permission   auth.Permission
	do           func(x *exchange) error
	operation    operation // for the OpenAPI document

	counts *observe.Route
}

// exchange is a request in progress, with its answer.
type exchange struct {
	s      *Server
	route  *route
	w      http.ResponseWriter
	r      *http.Request
	id     string
	caller auth.Caller
	values map[string]string // variables of the path
	model  string            // that the caller asked for; "" if none
	budget *budget
	status int    // sent so far; 0 if none
	leave  func() // ends the count of the request
}

// part returns a variable of the path, such as {model}.
func (x *exchange) part(name string) string { return x.values[name] }

// mux finds the route of a request. Unlike http.ServeMux it supports verbs after a colon, and returns errors that are
// answered as JSON.
type mux struct {
	patterns *http.ServeMux
	routes   map[string]map[string]*route // by pattern, then by method, with the verb: "POST:predict"
}

func newMux(routes []*route) *mux {
	m := &mux{patterns: http.NewServeMux(), routes: map[string]map[string]*route{}}
	for _, r := range routes {
		pattern, verb := r.path, ""
		if at := strings.LastIndex(pattern, "}:"); at >= 0 {
			pattern, verb = pattern[:at+1], pattern[at+1:]
		}
		if pattern == "/" {
			pattern = "/{$}" // only this path, and not all unmatched ones
		}
		if m.routes[pattern] == nil {
			m.routes[pattern] = map[string]*route{}
			m.patterns.HandleFunc(pattern, func(http.ResponseWriter, *http.Request) {})
		}
		m.routes[pattern][r.method+verb] = r
	}
	return m
}

// find returns the route of a request and the variables of its path.
func (m *mux) find(r *http.Request) (*route, map[string]string, error) {
	path := r.URL.EscapedPath()
	if path != "/" {
		path = strings.TrimSuffix(path, "/")
	}
	_, pattern := m.patterns.Handler(&http.Request{Method: http.MethodGet, URL: &url.URL{Path: r.URL.Path, RawPath: r.URL.RawPath}})
	values, err := parts(pattern, path)
	methods := m.routes[pattern]
	if methods == nil || err != nil {
		return nil, nil, errNoRoute
	}
	verb := ""
	if name, after, has := cutLast(values["model"], ":"); has && strings.Count(pattern, "/") == 3 {
		if _, is := methods[http.MethodPost+":"+after]; is {
			values["model"], verb = name, ":"+after
		}
	}
	if found := methods[r.Method+verb]; found != nil {
		return found, values, nil
	}
	if found := methods[http.MethodGet+verb]; found != nil && r.Method == http.MethodHead {
		return found, values, nil
	}
	var allowed []string
	for method := range maps.Keys(methods) {
		if name, of, _ := strings.Cut(method, ":"); verb == "" && of == "" || ":"+of == verb {
			allowed = append(allowed, name)
		}
	}
	if allowed == nil {
		return nil, nil, errNoRoute
	}
	slices.Sort(allowed)
	return nil, nil, &methodError{allowed}
}

func cutLast(s, separator string) (before, after string, found bool) {
	if i := strings.LastIndex(s, separator); i >= 0 {
		return s[:i], s[i+len(separator):], true
	}
	return s, "", false
}

// parts returns the variables of a pattern in a path.
func parts(pattern, path string) (map[string]string, error) {
	values := map[string]string{}
	names, texts := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(names) != len(texts) {
		return nil, errNoRoute
	}
	for i, name := range names {
		if !strings.HasPrefix(name, "{") {
			continue
		}
		text, err := url.PathUnescape(texts[i])
		if err != nil {
			return nil, errNoRoute
		}
		values[strings.Trim(name, "{}")] = text
	}
	return values, nil
}

// listenerHandler handles the requests of one listener.
type listenerHandler struct {
	s        *Server
	mux      *mux
	loopback bool
}

// ServeHTTP answers a request, also if it fails.
func (d *listenerHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	leave, err := d.s.guard.EnterUnadmitted(r.RemoteAddr)
	if err != nil {
		panic(http.ErrAbortHandler) // an answer would wait until the client reads it, as all the others do
	}
	x := &exchange{s: d.s, w: w, r: r, id: requestID(r.Header.Get("X-Request-Id")), budget: d.s.memory.budget(d.s.requestBytes()), leave: leave}
	defer func() {
		x.leave()
		x.budget.Close()
	}()
	start := time.Now()
	auth.SetHeaders(w.Header())
	w.Header().Set("X-Request-Id", x.id)
	found, values, err := d.mux.find(r)
	counts := d.s.unrouted
	if err == nil {
		x.route, x.values, x.model = found, values, values["model"]
		counts = found.counts
	}
	counts.Started()
	if err == nil {
		err = d.s.handle(x, d.loopback)
	}
	if err != nil && x.status == 0 {
		x.fail(err)
	}
	counts.Ended(x.model, strconv.Itoa(x.status), time.Since(start))
}

// fail answers with an error.
func (x *exchange) fail(err error) {
	f := failure(err)
	x.s.note(x.r.Context(), f, err, x.id, x.r.URL.Path)
	x.status = f.status
	f.write(x.w, err)
}

// note counts a failure, and logs it if the caller does not learn its cause.
func (s *Server) note(ctx context.Context, f *failed, err error, id, where string) {
	if f.refusal != "" {
		s.metrics.Refused(f.refusal)
	}
	if f.internal() {
		s.config.Log.ErrorContext(ctx, "a request failed", "request_id", id, "where", where, "error", err)
	} else if f.refusal == observe.Denied {
		s.refusals.Do(func() { // so that strangers cannot fill the disk
			s.config.Log.WarnContext(ctx, "a caller was refused; further refusals within a second are not logged", "request_id", id, "where", where, "reason", auth.Reason(err))
		})
	}
}

// handle admits a request and runs its route.
func (s *Server) handle(x *exchange, loopback bool) (err error) {
	defer func() {
		if p := recover(); p == http.ErrAbortHandler { //nolint:errorlint // net/http compares it so
			panic(p)
		} else if p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	if err := s.guard.CheckOrigin(x.r, loopback); err != nil {
		return err
	}
	if len(x.r.Header.Values("Authorization")) > 1 {
		return auth.ErrUnauthenticated // which of several counts would be a guess
	}
	shown := auth.Credentials{Authorization: x.r.Header.Get("Authorization"), TLS: x.r.TLS, Remote: x.r.RemoteAddr, Loopback: loopback}
	if x.caller, err = s.guard.Admit(x.r.Context(), shown, x.route.permission); err != nil {
		return err
	}
	if x.route.permission&(auth.Public|auth.Health) == 0 {
		if err := x.enter(); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(x.r.Context(), s.config.Timeout)
	defer cancel()
	ctx, end := s.traces.request(ctx, x.r.Header, x.r.Method+" "+x.route.path, x.id)
	defer func() { end(err) }()
	x.r = x.r.WithContext(ctx)
	return x.route.do(x)
}

// enter counts an admitted request for its caller.
func (x *exchange) enter() error {
	leave, err := x.s.guard.Enter(x.caller, x.r.RemoteAddr)
	if err != nil {
		return err
	}
	x.leave()
	x.leave = leave
	prove(x.r.Context())
	return nil
}

// requestID returns the caller's id of a request if it is valid, or a new one.
func requestID(given string) string {
	if given != "" && len(given) <= 128 && strings.IndexFunc(given, func(r rune) bool { return r <= ' ' || r > '~' }) < 0 {
		return given
	}
	return rand.Text()
}

// answer sends a body, compressed if the caller accepts that and it is worthwhile.
func (x *exchange) answer(contentType string, body []byte) error {
	how := ""
	if len(body) > 1024 && contentType != tensorType { // tensors hardly shrink
		x.w.Header().Set("Vary", "Accept-Encoding")
		how = packingFor(x.r.Header.Get("Accept-Encoding"))
		if how != "" && x.budget.Reserve(packingBytes+int64(len(body))) != nil {
			how = "" // there is no memory to compress it
		}
		if how != "" {
			body = packed(how, body)
		}
	}
	return x.send(contentType, how, body)
}

// send sends a body in a content encoding; "" means none.
func (x *exchange) send(contentType, encoding string, body []byte) error {
	x.status = http.StatusOK
	h := x.w.Header()
	h.Set("Content-Type", contentType)
	if encoding != "" {
		h.Set("Content-Encoding", encoding)
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if x.r.Method == http.MethodHead {
		return nil
	}
	_, _ = x.w.Write(body) // the caller may be gone
	return nil
}

// json sends a value as JSON.
func (x *exchange) json(v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return x.answer(jsonType, body)
}
