package serve

import (
	"net/http"
	"strconv"
	"time"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/serve/internal/observe"
	"github.com/psi-shapley/psi/serve/internal/oip"
	"github.com/psi-shapley/psi/serve/internal/oip/inference"
	"github.com/psi-shapley/psi/serve/internal/registry"
)

// ServerMetadata says what the server is.
type ServerMetadata struct {
	Name       string   `json:"name"`
	Version    string   `json:"version"`
	Extensions []string `json:"extensions"`
}

func serverMetadata() ServerMetadata {
	return ServerMetadata{"psi", psi.Version, []string{"binary_tensor_data", "model_configuration", "model_repository", "statistics"}}
}

// headerLength is the header that divides a body into JSON and binary tensors.
const headerLength = "Inference-Header-Content-Length"

// maxTensors of a request: one for each column, and some to spare.
const maxTensors = 10_000

func (x *exchange) live() error {
	return x.json(map[string]bool{"live": true})
}

func (x *exchange) ready() error {
	if err := x.s.ready(); err != nil {
		return err
	}
	return x.json(map[string]bool{"ready": true})
}

func (x *exchange) serverMetadata() error { return x.json(serverMetadata()) }

func (x *exchange) psiVersion() error {
	return x.answer("text/plain; charset=utf-8", []byte(psi.Version))
}

// version is the version that the path names.
func (x *exchange) version() (*registry.Version, error) {
	return x.s.registry.Lease(x.part("model"), x.part("version"), "")
}

func (x *exchange) modelReady() error {
	v, err := x.version()
	if err != nil {
		return err
	}
	defer v.Release()
	return x.json(ModelReady{v.Name, true})
}

func (x *exchange) modelMetadata() error {
	v, err := x.version()
	if err != nil {
		return err
	}
	defer v.Release()
	body, err := of(v).describe(v, x.s.registry.Versions(v.Name)).MetadataHTTP()
	if err != nil {
		return err
	}
	return x.answer(jsonType, body)
}

func (x *exchange) modelConfig() error {
	v, err := x.version()
	if err != nil {
		return err
	}
	defer v.Release()
	config, err := of(v).signature.Config()
	if err != nil {
		return err
	}
	body, err := messageJSON(config, false)
	if err != nil {
		return err
	}
	return x.answer(jsonType, body)
}

// statistics of versions, of one name or of all.
func (s *Server) statistics(name, version string) (*inference.ModelStatisticsResponse, error) {
	names := []string{name}
	if name == "" {
		names = s.registry.Names()
	}
	all := &inference.ModelStatisticsResponse{}
	for _, name := range names {
		versions := []string{version}
		if version == "" {
			versions = s.registry.Versions(name)
		}
		if len(versions) == 0 {
			return nil, &registry.NotFoundError{Name: name}
		}
		for _, number := range versions {
			v, err := s.registry.Lease(name, number, "")
			if err != nil {
				return nil, err
			}
			all.ModelStats = append(all.ModelStats, of(v).statistics(v))
			v.Release()
		}
	}
	return all, nil
}

func (s *served) statistics(v *registry.Version) *inference.ModelStatistics {
	requests, took := uint64(s.requests.Load()), uint64(s.nanoseconds.Load())
	whole, none := &inference.StatisticDuration{Count: requests, Ns: took}, &inference.StatisticDuration{}
	return &inference.ModelStatistics{
		Name: v.Name, Version: v.Version, InferenceCount: uint64(s.rows.Load()), ExecutionCount: uint64(s.passes.Load()),
		InferenceStats: &inference.InferStatistics{
			Success: whole, ComputeInfer: whole, Fail: none, Queue: none, ComputeInput: none, ComputeOutput: none, CacheHit: none, CacheMiss: none,
		},
	}
}

func (x *exchange) modelStatistics() error {
	all, err := x.s.statistics(x.part("model"), x.part("version"))
	if err != nil {
		return err
	}
	body, err := messageJSON(all, true)
	if err != nil {
		return err
	}
	return x.answer(jsonType, body)
}

func (x *exchange) infer() error {
	start := time.Now()
	length := -1
	if text := x.r.Header.Get(headerLength); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return &wrong{"the header " + headerLength + " is no number", "send the number of bytes of JSON"}
		}
		length = n
	}
	body, err := x.body()
	if err != nil {
		return err
	}
	if err := x.budget.Reserve(parsedBytes(body, length)); err != nil {
		return err
	}
	request, err := oip.ParseHTTP(body, length, maxTensors)
	if err != nil {
		return err
	}
	v, res, err := x.s.inferred(x.r.Context(), start, request, x.part("model"), x.part("version"), x.id, x.budget)
	if err != nil {
		return err
	}
	defer v.Release()
	defer of(v).took(observe.Postprocess, time.Now())
	if err := x.budget.Reserve(request.HTTPBytes(of(v).signature, res.Rows)); err != nil {
		return err
	}
	answer, jsonLength, err := request.AppendHTTP(nil, of(v).signature, res)
	if err != nil {
		return err
	}
	contentType := jsonType
	if jsonLength >= 0 {
		x.w.Header().Set(headerLength, strconv.Itoa(jsonLength))
		contentType = tensorType
	}
	return x.answer(contentType, answer)
}

// parsedBytes is what a parsed request holds beside its body, of which the first so many bytes are JSON: copies of its
// names and texts, and its tensors, of which there are few enough.
func parsedBytes(body []byte, length int) int64 {
	const tensors = 8 // times the JSON that they are written in
	if length < 0 || length > len(body) {
		length = len(body)
	}
	return int64(length) + tensors*int64(min(length, 1<<20))
}

// RepositoryIndex lists versions.
type RepositoryIndex []RepositoryModel

// RepositoryModel is a version that is there.
type RepositoryModel struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	State   string `json:"state" enum:"READY,UNAVAILABLE"`
	Reason  string `json:"reason" doc:"why it cannot answer"`
}

// RepositoryRequest is the body of the repository's calls, which may be empty.
type RepositoryRequest struct {
	_ struct{} `json:"-" additionalProperties:"true"`

	Ready      bool       `json:"ready,omitempty" nullable:"true" doc:"of an index: list what is ready alone"`
	Parameters Parameters `json:"parameters,omitempty" doc:"of a load: none, for models come from files"`
}

func (x *exchange) repositoryRequest() (*RepositoryRequest, error) {
	var r RepositoryRequest
	body, err := x.body()
	if err == nil && len(body) > 0 {
		err = object(body, &r, false, x.budget.Reserve)
	}
	return &r, err
}

func (x *exchange) repositoryIndex() error {
	asked, err := x.repositoryRequest()
	if err != nil {
		return err
	}
	list := x.s.registry.Index()
	index := make(RepositoryIndex, 0, len(list))
	for _, s := range list {
		if !asked.Ready || s.State == registry.Ready {
			index = append(index, RepositoryModel{s.Name, s.Version, s.State, unavailable(s)})
		}
	}
	return x.json(index)
}

// unavailable tells no more than that a file cannot be used: its path and what is wrong with it are for the log.
func unavailable(s registry.Status) string {
	if s.State == registry.Ready {
		return ""
	}
	return "the model file cannot be used: the server's log says why"
}

// errOverride refuses a load that brings a configuration or files with it.
var errOverride = &wrong{"the request brings parameters, but models are loaded from files as they are", "put the model file where the server looks for models, and send no parameters"}

func (x *exchange) load() error {
	if asked, err := x.repositoryRequest(); err != nil {
		return err
	} else if len(asked.Parameters) > 0 {
		return errOverride
	}
	if err := x.s.load(x.r.Context(), x.part("model")); err != nil {
		return err
	}
	return x.json(struct{}{})
}

func (x *exchange) unload() error {
	if _, err := x.repositoryRequest(); err != nil {
		return err
	}
	if err := x.s.registry.Unload(x.part("model")); err != nil {
		return err
	}
	return x.json(struct{}{})
}

// methods for short.
const (
	get  = http.MethodGet
	post = http.MethodPost
)
