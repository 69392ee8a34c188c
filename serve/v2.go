package serve

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/serve/internal/observe"
	"github.com/psi-shapley/psi/serve/internal/oip"
	"github.com/psi-shapley/psi/serve/internal/oip/inference"
	"github.com/psi-shapley/psi/serve/internal/registry"
	"github.com/psi-shapley/psi/serve/internal/wire"
)

func serverMetadata() wire.ServerMetadata {
	return wire.ServerMetadata{Name: "psi", Version: psi.Version(), Extensions: []string{"binary_tensor_data", "model_configuration", "model_repository", "statistics"}}
}

// headerLength is the header that states how many bytes of a body are JSON, before binary tensors.
const headerLength = "Inference-Header-Content-Length"

// maxTensors is the maximum number of inputs of a request: one for each column, and some to spare.
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
	return x.answer("text/plain; charset=utf-8", []byte(psi.Version()))
}

// version leases the version that the path names.
func (x *exchange) version() (*registry.Version, error) {
	return x.s.registry.Lease(x.part("model"), x.part("version"), "")
}

func (x *exchange) modelReady() error {
	v, err := x.version()
	if err != nil {
		return err
	}
	defer v.Release()
	return x.json(wire.ModelReady{Name: v.Name, Ready: true})
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

// statistics returns the statistics of the versions of one model, or of all if name is "".
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
			return &requestError{"the header " + headerLength + " is no number", "send the number of bytes of JSON"}
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

// parsedBytes returns the memory of a parsed request beside its body, of which the first length bytes are JSON: copies of
// names and texts, and the tensors.
func parsedBytes(body []byte, length int) int64 {
	const tensors = 8 // bytes of tensors for each byte of JSON
	if length < 0 || length > len(body) {
		length = len(body)
	}
	return int64(length) + tensors*int64(min(length, 1<<20))
}

func (x *exchange) repositoryRequest() (*wire.RepositoryRequest, error) {
	var r wire.RepositoryRequest
	body, err := x.body()
	if err == nil && len(body) > 0 {
		err = object(body, &r, false, x.budget.Reserve)
	}
	return &r, err
}

func (x *exchange) repositoryIndex() error {
	request, err := x.repositoryRequest()
	if err != nil {
		return err
	}
	list := x.s.registry.Index()
	index := make(wire.RepositoryIndex, 0, len(list))
	for _, s := range list {
		if !request.Ready || s.State == registry.Ready {
			index = append(index, wire.RepositoryModel{Name: s.Name, Version: s.Version, State: s.State, Reason: unavailable(s)})
		}
	}
	return x.json(index)
}

// unavailable returns why a version is not in service. The path of the file and the error are for the log.
func unavailable(s registry.Status) string {
	if s.State == registry.Ready {
		return ""
	}
	return "the model file cannot be used: the server's log says why"
}

// errOverride refuses a load request that contains a configuration or files.
var errOverride = &requestError{"the request brings parameters, but models are loaded from files as they are", "put the model file where the server looks for models, and send no parameters"}

func (x *exchange) load() error {
	if request, err := x.repositoryRequest(); err != nil {
		return err
	} else if len(request.Parameters) > 0 {
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

// Short names of methods.
const (
	get  = http.MethodGet
	post = http.MethodPost
)

// messageJSON encodes a message as Triton does over HTTP: with its field names, and with numbers as numbers, where
// protobuf's JSON has strings for those of 64 bits. all includes fields that are 0 or empty.
func messageJSON(m protoreflect.ProtoMessage, all bool) ([]byte, error) {
	return json.Marshal(fieldsOf(m.ProtoReflect(), all))
}

func fieldsOf(m protoreflect.Message, all bool) map[string]any {
	fields := map[string]any{}
	list := m.Descriptor().Fields()
	for i := range list.Len() {
		f := list.Get(i)
		if !m.Has(f) && (!all || f.HasPresence()) {
			continue
		}
		value := m.Get(f)
		switch {
		case f.IsMap():
			entries := map[string]any{}
			value.Map().Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
				entries[k.String()] = single(f.MapValue(), v, all)
				return true
			})
			fields[f.TextName()] = entries
		case f.IsList():
			elements := make([]any, value.List().Len())
			for j := range elements {
				elements[j] = single(f, value.List().Get(j), all)
			}
			fields[f.TextName()] = elements
		default:
			fields[f.TextName()] = single(f, value, all)
		}
	}
	return fields
}

func single(f protoreflect.FieldDescriptor, v protoreflect.Value, all bool) any {
	switch f.Kind() {
	case protoreflect.MessageKind:
		return fieldsOf(v.Message(), all)
	case protoreflect.EnumKind:
		if name := f.Enum().Values().ByNumber(v.Enum()); name != nil {
			return string(name.Name())
		}
		return int32(v.Enum())
	default:
		return v.Interface()
	}
}
