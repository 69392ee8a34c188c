package serve

import (
	"net/http"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/serve/internal/auth"
	"github.com/psi-shapley/psi/serve/internal/wire"
)

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

func plainQuery() []string { return []string{"model", "version", "output", "against", "layout"} }

var pathPart = regexp.MustCompile(`\{(\w+)\}`)

// document returns the OpenAPI document of routes.
func document(routes []*route, secured bool) *huma.OpenAPI {
	schemas := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
	d := &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info:    &huma.Info{Title: "psi", Version: psi.Version, Description: "Predictions with the Shapley attribution of every column, as mean and standard deviation."},
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
