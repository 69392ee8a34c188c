package serve

import (
	"encoding/json"
	"net/http"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/serve/internal/auth"
)

// operation is what the OpenAPI document says of a route, beside what the route itself does.
type operation struct {
	summary string
	body    any // a value of the type that is JSON; nil if there is none
	answer  any
	query   []string
	fails   []int // statuses, beside those that any route may have

	mayLackBody  bool
	takes, gives []string // further media types of the body and the answer
}

// inferFails are the statuses of a route that asks a model.
func inferFails() []int { return []int{400, 404, 413, 429, 504} }

func plainQuery() []string { return []string{"model", "version", "output", "against", "layout"} }

// InferRequest is a request of the Open Inference Protocol.
type InferRequest struct {
	_ struct{} `json:"-" additionalProperties:"true"`

	ID         string        `json:"id,omitempty"`
	Parameters Parameters    `json:"parameters,omitempty" doc:"z, unknown, binary_data_output"`
	Inputs     []InferInput  `json:"inputs" nullable:"false" minItems:"1"`
	Outputs    []InferOutput `json:"outputs,omitempty" doc:"prediction, prediction_std, probability, base, attribution_mean, attribution_std, attribution_model_std, attribution_lower, attribution_upper, p_positive"`
}

// InferInput is a tensor of a request.
type InferInput struct {
	_ struct{} `json:"-" additionalProperties:"true"`

	Name       string     `json:"name"`
	Shape      []int64    `json:"shape" nullable:"false"`
	Datatype   string     `json:"datatype" enum:"BOOL,UINT8,UINT16,UINT32,UINT64,INT8,INT16,INT32,INT64,FP16,FP32,FP64,BYTES"`
	Parameters Parameters `json:"parameters,omitempty"`
	Data       []any      `json:"data,omitempty"`
}

// InferOutput is an output that is wanted.
type InferOutput struct {
	_ struct{} `json:"-" additionalProperties:"true"`

	Name       string     `json:"name"`
	Parameters Parameters `json:"parameters,omitempty"`
}

// Parameters say more of a request or a tensor.
type Parameters map[string]any

// Schema is what the document says of them: null is none.
func (Parameters) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true, Nullable: true}
}

// RowList is rows in JSON, not looked at yet.
type RowList struct{ json.RawMessage }

func (r *RowList) keep(text json.RawMessage) { r.RawMessage = text }

// Schema is what the document says of them.
func (RowList) Schema(huma.Registry) *huma.Schema {
	cell := &huma.Schema{OneOf: []*huma.Schema{{Type: "number"}, {Type: "string"}, {Type: "boolean"}, {Type: "null"}}}
	return &huma.Schema{Type: huma.TypeArray, Items: &huma.Schema{OneOf: []*huma.Schema{
		{Type: huma.TypeObject, AdditionalProperties: cell}, {Type: huma.TypeArray, Items: cell},
	}}}
}

var pathPart = regexp.MustCompile(`\{(\w+)\}`)

// document is the OpenAPI document of routes.
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
	failure := huma.SchemaFromType(schemas, reflect.TypeFor[Failure]())
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
			fails = append(fails, 403) // a browser's request of another origin
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

// forms are the ways that a request or an answer may be written in.
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

// operationID is a name made of the path: postV2ModelsModelInfer.
func operationID(r *route) string {
	var id strings.Builder
	id.WriteString(strings.ToLower(r.method))
	for _, word := range strings.FieldsFunc(r.path, func(c rune) bool { return strings.ContainsRune("/{}:.", c) }) {
		id.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return id.String()
}
