package serve

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/pprof"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/report"
	"github.com/psi-shapley/psi/serve/internal/auth"
	"github.com/psi-shapley/psi/serve/internal/ui"
	"github.com/psi-shapley/psi/serve/internal/wire"
)

// routes returns the routes of the HTTP listener with their permissions and descriptions.
func (s *Server) routes() []*route {
	var all []*route
	openAPI := fixedAnswer(jsonType, func() ([]byte, error) { return json.Marshal(document(all, s.guard.Secured())) })
	all = []*route{
		{get, "/", auth.Health, (*exchange).alive, operation{summary: "Is the server alive? As clients of V1 ask", answer: wire.V1Alive{}}, nil},
		{get, "/ping", auth.Health, (*exchange).live, operation{summary: "Is the server alive? As clients of MLflow ask", answer: map[string]bool{}}, nil},
		{get, "/version", auth.Public, (*exchange).psiVersion, operation{summary: "The server's version, as clients of MLflow ask", gives: []string{"text/plain"}}, nil},
		{get, "/v2/health/live", auth.Health, (*exchange).live, operation{summary: "Is the server alive?", answer: map[string]bool{}}, nil},
		{get, "/v2/health/ready", auth.Health, (*exchange).ready, operation{summary: "Is the server ready for requests?", answer: map[string]bool{}, fails: []int{503}}, nil},
		{get, "/v2", auth.Public, (*exchange).serverMetadata, operation{summary: "What the server is", answer: wire.ServerMetadata{}}, nil},
		{get, "/openapi.json", auth.Public, openAPI, operation{summary: "This document", answer: map[string]any{}}, nil},

		{get, "/v1/models", auth.Infer, (*exchange).v1List, operation{summary: "The models", answer: wire.V1Models{}}, nil},
		{get, "/v1/models/{model}", auth.Infer, (*exchange).v1Ready, operation{summary: "Does the model answer?", answer: wire.V1Model{}, fails: []int{404}}, nil},
		{post, "/v1/models/{model}:predict", auth.Infer, (*exchange).v1Predict, operation{summary: "Predict rows", body: wire.Instances{}, answer: wire.Prediction{}, fails: inferFails()}, nil},
		{post, "/v1/models/{model}:explain", auth.Infer, (*exchange).v1Explain, operation{summary: "Predict and explain rows", body: wire.Instances{}, answer: wire.V1Explanation{}, fails: inferFails()}, nil},

		{post, "/explain", auth.Infer, (*exchange).explainRows, operation{summary: "Explain rows: a psi.explanation/v1 document, or a table in Arrow", body: wire.Query{}, answer: wire.Explanation{}, takes: []string{arrowType}, gives: []string{arrowType}, query: plainQuery(), fails: inferFails()}, nil},
		{post, "/predict", auth.Infer, (*exchange).predictRows, operation{summary: "Predict rows, in JSON or Arrow", body: wire.Query{}, answer: wire.Prediction{}, takes: []string{arrowType}, gives: []string{arrowType}, query: plainQuery(), fails: inferFails()}, nil},
		{post, "/invocations", auth.Infer, (*exchange).invocations, operation{summary: "Predict rows, as MLflow's servers do", body: wire.Invocation{}, answer: wire.Prediction{}, takes: []string{arrowType, csvType}, query: []string{"model", "version"}, fails: inferFails()}, nil},

		{post, "/v2/repository/index", auth.Admin, (*exchange).repositoryIndex, operation{summary: "All versions of all models", body: wire.RepositoryRequest{}, mayLackBody: true, answer: wire.RepositoryIndex{}, fails: []int{400, 413}}, nil},
		{post, "/v2/repository/models/{model}/load", auth.Admin, (*exchange).load, operation{summary: "Look for new versions of a model now", body: wire.RepositoryRequest{}, mayLackBody: true, answer: struct{}{}, fails: []int{400, 404, 413}}, nil},
		{post, "/v2/repository/models/{model}/unload", auth.Admin, (*exchange).unload, operation{summary: "Let a model answer no more", body: wire.RepositoryRequest{}, mayLackBody: true, answer: struct{}{}, fails: []int{400, 404, 413}}, nil},
	}
	for _, version := range []string{"", "/versions/{version}"} {
		model := "/v2/models/{model}" + version
		all = append(all,
			&route{get, model, auth.Infer, (*exchange).modelMetadata, operation{summary: "What the model takes and gives", answer: wire.ModelMetadata{}, fails: []int{404}}, nil},
			&route{get, model + "/ready", auth.Infer, (*exchange).modelReady, operation{summary: "Does the model answer?", answer: wire.ModelReady{}, fails: []int{404}}, nil},
			&route{get, model + "/config", auth.Infer, (*exchange).modelConfig, operation{summary: "The model's description as Triton has it", answer: map[string]any{}, fails: []int{404}}, nil},
			&route{get, model + "/stats", auth.Infer, (*exchange).modelStatistics, operation{summary: "What the model has done", answer: wire.ModelStatistics{}, fails: []int{404}}, nil},
			&route{post, model + "/infer", auth.Infer, (*exchange).infer, operation{summary: "Predict and explain rows: the Open Inference Protocol, with its binary tensor extension", body: wire.InferRequest{}, answer: wire.InferResponse{}, takes: []string{tensorType}, gives: []string{tensorType}, fails: inferFails()}, nil},
		)
	}
	all = append(all, &route{get, "/v2/models/stats", auth.Infer, (*exchange).modelStatistics, operation{summary: "What all models have done", answer: wire.ModelStatistics{}}, nil})
	if s.config.UI {
		all = append(all,
			&route{get, "/ui", auth.Public, page(), operation{summary: "The live page", gives: []string{"text/html"}}, nil},
			&route{get, "/ui/models", auth.Infer, (*exchange).pageModels, operation{summary: "What the live page knows of the models", answer: ui.Models{}}, nil})
	}
	return all
}

// adminRoutes returns the routes of the metrics listener.
func (s *Server) adminRoutes() []*route {
	all := []*route{ //nolint:prealloc // a list that is written out
		{get, "/healthz", auth.Health, (*exchange).live, operation{}, nil},
		{get, "/metrics", auth.Metrics, handled(s.metrics.Handler().ServeHTTP), operation{}, nil},
	}
	for path, do := range map[string]http.HandlerFunc{
		"/debug/pprof": pprof.Index, "/debug/pprof/cmdline": pprof.Cmdline, "/debug/pprof/profile": pprof.Profile,
		"/debug/pprof/symbol": pprof.Symbol, "/debug/pprof/trace": pprof.Trace, "/debug/pprof/{profile}": profile,
	} {
		all = append(all, &route{get, path, auth.Admin, handled(do), operation{}, nil})
	}
	return all
}

// profile answers with one of Go's profiles, such as heap or goroutine.
func profile(w http.ResponseWriter, r *http.Request) {
	pprof.Handler(r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]).ServeHTTP(w, r)
}

// handled adapts an http.HandlerFunc.
func handled(do http.HandlerFunc) func(x *exchange) error {
	return func(x *exchange) error {
		x.status = http.StatusOK
		do(x.w, x.r)
		return nil
	}
}

// page answers with the interactive page.
func page() func(x *exchange) error {
	send := fixedAnswer("text/html; charset=utf-8", func() ([]byte, error) {
		var page bytes.Buffer
		err := report.WriteLive(&page)
		return page.Bytes(), err
	})
	return func(x *exchange) error {
		// The page itself contains the rest of its policy, with the digests of its script and style.
		x.w.Header().Set("Content-Security-Policy", "frame-ancestors 'none'")
		return send(x)
	}
}

func (x *exchange) pageModels() error {
	all := ui.Models{Models: []ui.Model{}}
	for _, name := range x.s.registry.Names() {
		versions, defaultVersion := x.s.registry.Versions(name), ""
		for _, version := range append([]string{""}, versions...) { // the default version comes first
			if version != "" && version == defaultVersion {
				continue
			}
			v, err := x.s.registry.Lease(name, version, "")
			if err != nil {
				continue // unloaded meanwhile
			}
			if version == "" {
				defaultVersion = v.Version
			}
			m := of(v).page
			m.Versions = versions
			all.Models = append(all.Models, m)
			v.Release()
		}
	}
	return x.json(all)
}

// fixed is a constant answer in all its encodings, which costs next to nothing to send.
type fixed struct {
	contentType string
	forms       map[string][]byte // by content encoding; "" is the answer itself
}

// fixedAnswer builds an answer at the first request for it.
func fixedAnswer(contentType string, body func() ([]byte, error)) func(x *exchange) error {
	made := sync.OnceValues(func() (*fixed, error) {
		plain, err := body()
		if err != nil {
			return nil, err
		}
		f := &fixed{contentType, map[string][]byte{"": plain}}
		for _, how := range []string{gzipped, deflated} {
			f.forms[how] = packed(how, plain)
		}
		return f, nil
	})
	return func(x *exchange) error {
		f, err := made()
		if err != nil {
			return err
		}
		how := packingFor(x.r.Header.Get("Accept-Encoding"))
		x.w.Header().Set("Vary", "Accept-Encoding")
		return x.send(f.contentType, how, f.forms[how])
	}
}

// operation describes a route in the OpenAPI document.
type operation struct {
	summary string
	body    any // a value of the JSON type; nil if there is none
	answer  any
	query   []string
	fails   []int // statuses, beside those of all routes

	mayLackBody  bool
	takes, gives []string // further media types of body and answer
}

// inferFails returns the statuses of a route that asks a model.
func inferFails() []int { return []int{400, 404, 413, 429, 504} }

func plainQuery() []string {
	return []string{"model", "version", "output", "against", "game", "reference", "layout"}
}

var pathPart = regexp.MustCompile(`\{(\w+)\}`)

// document returns the OpenAPI document of routes.
func document(routes []*route, secured bool) *huma.OpenAPI {
	schemas := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
	d := &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info:    &huma.Info{Title: "psi", Version: psi.Version(), Description: "Predictions with the Shapley attribution of every column, as mean and standard deviation."},
		Components: &huma.Components{
			Schemas:         schemas,
			SecuritySchemes: map[string]*huma.SecurityScheme{"bearer": {Type: "http", Scheme: "bearer"}},
		},
	}
	failure := huma.SchemaFromType(schemas, reflect.TypeFor[wire.Failure]())
	for _, r := range routes {
		o := &huma.Operation{Method: r.method, Path: r.path, OperationID: operationID(r), Summary: r.operation.summary, Responses: map[string]*huma.Response{}}
		for _, part := range pathPart.FindAllStringSubmatch(r.path, -1) {
			o.Parameters = append(o.Parameters, &huma.Param{Name: part[1], In: "path", Required: true, Schema: &huma.Schema{Type: "string"}})
		}
		for _, name := range r.operation.query {
			o.Parameters = append(o.Parameters, &huma.Param{Name: name, In: "query", Schema: &huma.Schema{Type: "string"}})
		}
		if r.operation.body != nil {
			o.RequestBody = &huma.RequestBody{Required: !r.operation.mayLackBody, Content: forms(schemas, r.operation.body, r.operation.takes...)}
		}
		o.Responses["200"] = &huma.Response{Description: "The answer", Content: forms(schemas, r.operation.answer, r.operation.gives...)}
		fails := append([]int{405, 500}, r.operation.fails...)
		if r.permission != auth.Health {
			fails = append(fails, 429)
		}
		if r.permission&(auth.Public|auth.Health) == 0 && secured {
			fails = append(fails, 401, 403)
			o.Security = []map[string][]string{{"bearer": {}}}
		}
		if r.method == post {
			fails = append(fails, 403) // a request of a browser from another origin
		}
		for _, status := range fails {
			o.Responses[strconv.Itoa(status)] = &huma.Response{
				Description: http.StatusText(status), Content: map[string]*huma.MediaType{jsonType: {Schema: failure}},
			}
		}
		d.AddOperation(o)
	}
	return d
}

// forms returns the media types of a body or an answer.
func forms(schemas huma.Registry, value any, others ...string) map[string]*huma.MediaType {
	content := map[string]*huma.MediaType{}
	if value != nil {
		content[jsonType] = &huma.MediaType{Schema: huma.SchemaFromType(schemas, reflect.TypeOf(value))}
	}
	for _, other := range others {
		content[other] = &huma.MediaType{Schema: &huma.Schema{Type: "string", Format: "binary"}}
	}
	return content
}

// operationID makes a name of the path, such as postV2ModelsModelInfer.
func operationID(r *route) string {
	var id strings.Builder
	id.WriteString(strings.ToLower(r.method))
	for _, word := range strings.FieldsFunc(r.path, func(c rune) bool { return strings.ContainsRune("/{}:.", c) }) {
		id.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return id.String()
}
