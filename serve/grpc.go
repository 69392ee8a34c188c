package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"

	"github.com/psi-shapley/psi/serve/internal/gate"
	"github.com/psi-shapley/psi/serve/internal/oip"
	"github.com/psi-shapley/psi/serve/internal/oip/inference"
	"github.com/psi-shapley/psi/serve/internal/watch"
)

// service is the gRPC service of the Open Inference Protocol, with Triton's calls for models and statistics. Calls it does not
// answer, such as shared memory's, are the embedded ones, which say so.
type service struct {
	inference.UnimplementedGRPCInferenceServiceServer
	s *Server
}

// grpcPermission is what a method needs; one that is not listed needs to administer.
func grpcPermission(method string) gate.Permission {
	switch method[strings.LastIndex(method, "/")+1:] {
	case "ServerLive", "ServerReady", "ServerMetadata":
		return gate.Public
	case "ModelReady", "ModelMetadata", "ModelConfig", "ModelStatistics", "ModelInfer", "ModelStreamInfer":
		return gate.Infer
	}
	return gate.Admin
}

// newGRPC makes the gRPC server of a listener.
func (s *Server) newGRPC(loopback bool) *grpc.Server {
	options := []grpc.ServerOption{
		grpc.MaxRecvMsgSize(int(s.config.MaxBody)),
		grpc.MaxConcurrentStreams(256),
		grpc.MaxHeaderListSize(maxHeader),
		grpc.ConnectionTimeout(10 * time.Second),
		grpc.InTapHandle(func(ctx context.Context, info *tap.Info) (context.Context, error) {
			return s.arriving(ctx, info, loopback)
		}),
		grpc.StatsHandler(&s.calls),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: 5 * time.Minute, Time: 30 * time.Second, Timeout: 10 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
		grpc.ChainUnaryInterceptor(func(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
			var answer any
			err := s.call(ctx, info.FullMethod, modelName(request), func(ctx context.Context) (err error) {
				answer, err = handler(ctx, request)
				return err
			})
			return answer, err
		}),
		grpc.ChainStreamInterceptor(func(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
			return s.call(stream.Context(), info.FullMethod, "", func(ctx context.Context) error {
				return handler(server, &streamIn{stream, ctx, func() error { return s.admit(ctx, info.FullMethod, loopback) }})
			})
		}),
	}
	if s.tls != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(s.tls)))
	}
	g := grpc.NewServer(options...)
	inference.RegisterGRPCInferenceServiceServer(g, &service{s: s})
	return g
}

// streamIn is a stream within the context of its call. Each of its messages is a request, which must be let in.
type streamIn struct {
	grpc.ServerStream
	ctx   context.Context //nolint:containedctx // gRPC hands contexts of streams through them
	admit func() error
}

func (s *streamIn) Context() context.Context { return s.ctx }

func (s *streamIn) RecvMsg(m any) error {
	if err := s.ServerStream.RecvMsg(m); err != nil {
		return err
	}
	return s.admit()
}

// mostCalls are under way at once.
const mostCalls = 1024

// arriving lets a call in before its message is read, so that strangers cannot make the server hold theirs.
func (s *Server) arriving(ctx context.Context, info *tap.Info, loopback bool) (context.Context, error) {
	var err error
	if s.calls.underWay.Load() >= mostCalls {
		err = errMemory
	} else if !strings.HasSuffix(info.FullMethodName, streamMethod) { // whose messages are let in one by one
		err = s.admit(metadata.NewIncomingContext(ctx, info.Header), info.FullMethodName, loopback)
	}
	if err != nil {
		f := failure(err)
		s.note(ctx, f, err, "", info.FullMethodName)
		return ctx, f.grpc()
	}
	return ctx, nil
}

const streamMethod = "/ModelStreamInfer"

// callCounts counts the calls under way and the memory of their messages.
type callCounts struct {
	underWay atomic.Int64
	memory   *memory
}

type callKey struct{}

// TagRPC is of stats.Handler: a call has a place for the bytes it holds.
func (c *callCounts) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context {
	return context.WithValue(ctx, callKey{}, new(atomic.Int64))
}

// HandleRPC is of stats.Handler.
func (c *callCounts) HandleRPC(ctx context.Context, event stats.RPCStats) {
	held, _ := ctx.Value(callKey{}).(*atomic.Int64)
	switch e := event.(type) {
	case *stats.Begin:
		c.underWay.Add(1)
	case *stats.InPayload: // of a stream, the last message counts
		c.memory.add(int64(e.Length) - held.Swap(int64(e.Length)))
	case *stats.End:
		c.underWay.Add(-1)
		c.memory.add(-held.Load())
	}
}

// TagConn is of stats.Handler.
func (c *callCounts) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn is of stats.Handler.
func (c *callCounts) HandleConn(context.Context, stats.ConnStats) {}

// modelName is the model that a request names; "" if none.
func modelName(request any) string {
	switch r := request.(type) {
	case interface{ GetModelName() string }:
		return r.GetModelName()
	case interface{ GetName() string }:
		return r.GetName()
	}
	return ""
}

// call lets a call in, and turns what it ends in into a status.
func (s *Server) call(ctx context.Context, method, model string, do func(context.Context) error) (err error) {
	start := time.Now()
	counts := s.grpcRoute(method)
	counts.Started()
	in, _ := metadata.FromIncomingContext(ctx)
	id := requestID(first(in, "x-request-id"))
	_ = grpc.SetHeader(ctx, metadata.Pairs("x-request-id", id)) // fails only once headers were sent
	err = s.answered(ctx, method, id, do)
	code := codes.OK
	if err != nil {
		f := failure(err)
		if already, is := status.FromError(err); is && f.internal() {
			code = already.Code() // of gRPC's own, such as a call that is not there
		} else {
			s.note(ctx, f, err, id, method)
			code = f.code
			if f.after > 0 {
				_ = grpc.SetTrailer(ctx, metadata.Pairs("retry-after", strconv.Itoa(int(f.after.Seconds())+1)))
			}
			err = f.grpc()
		}
	}
	counts.Ended(model, code.String(), time.Since(start))
	return err
}

// answered does a call in its time.
func (s *Server) answered(ctx context.Context, method, id string, do func(context.Context) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	if s.memory.full() {
		return errMemory
	}
	if !strings.HasSuffix(method, streamMethod) { // whose requests have each their own
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.config.Timeout)
		defer cancel()
	}
	ctx, end := s.traces.call(context.WithValue(ctx, requestKey{}, id), method, id)
	defer func() { end(err) }()
	return do(ctx)
}

// admit asks the gate whether a call may be made.
func (s *Server) admit(ctx context.Context, method string, loopback bool) error {
	in, _ := metadata.FromIncomingContext(ctx)
	if len(in.Get("authorization")) > 1 {
		return gate.ErrUnauthenticated // which of them counts would be a guess
	}
	shown := gate.Credentials{Authorization: first(in, "authorization"), Loopback: loopback}
	if from, ok := peer.FromContext(ctx); ok {
		if _, local := from.Addr.(*net.UnixAddr); !local {
			shown.Remote = from.Addr.String()
		}
		if info, ok := from.AuthInfo.(credentials.TLSInfo); ok {
			shown.TLS = &info.State
		}
	}
	_, err := s.gate.Admit(ctx, shown, grpcPermission(method))
	return err
}

// requestKey is where a context has the id of its request.
type requestKey struct{}

func first(in metadata.MD, key string) string {
	if values := in.Get(key); len(values) > 0 {
		return values[0]
	}
	return ""
}

func (g *service) ServerLive(context.Context, *inference.ServerLiveRequest) (*inference.ServerLiveResponse, error) {
	return &inference.ServerLiveResponse{Live: true}, nil
}

func (g *service) ServerReady(context.Context, *inference.ServerReadyRequest) (*inference.ServerReadyResponse, error) {
	return &inference.ServerReadyResponse{Ready: g.s.ready() == nil}, nil
}

func (g *service) ServerMetadata(context.Context, *inference.ServerMetadataRequest) (*inference.ServerMetadataResponse, error) {
	m := serverMetadata()
	return &inference.ServerMetadataResponse{Name: m.Name, Version: m.Version, Extensions: m.Extensions}, nil
}

func (g *service) ModelReady(_ context.Context, r *inference.ModelReadyRequest) (*inference.ModelReadyResponse, error) {
	v, err := g.s.fleet.Lease(r.Name, r.Version, "")
	if err != nil {
		return &inference.ModelReadyResponse{}, nil //nolint:nilerr // a model that is not there is not ready, which is an answer
	}
	v.Release()
	return &inference.ModelReadyResponse{Ready: true}, nil
}

func (g *service) ModelMetadata(_ context.Context, r *inference.ModelMetadataRequest) (*inference.ModelMetadataResponse, error) {
	v, err := g.s.fleet.Lease(r.Name, r.Version, "")
	if err != nil {
		return nil, err
	}
	defer v.Release()
	return of(v).describe(v, g.s.fleet.Versions(v.Name)).MetadataGRPC()
}

func (g *service) ModelConfig(_ context.Context, r *inference.ModelConfigRequest) (*inference.ModelConfigResponse, error) {
	v, err := g.s.fleet.Lease(r.Name, r.Version, "")
	if err != nil {
		return nil, err
	}
	defer v.Release()
	config, err := of(v).signature.Config()
	return &inference.ModelConfigResponse{Config: config}, err
}

func (g *service) ModelStatistics(_ context.Context, r *inference.ModelStatisticsRequest) (*inference.ModelStatisticsResponse, error) {
	return g.s.statistics(r.Name, r.Version)
}

func (g *service) RepositoryIndex(_ context.Context, r *inference.RepositoryIndexRequest) (*inference.RepositoryIndexResponse, error) {
	index := &inference.RepositoryIndexResponse{}
	for _, s := range g.s.fleet.Index() {
		if !r.Ready || s.State == "READY" {
			index.Models = append(index.Models, &inference.RepositoryIndexResponse_ModelIndex{Name: s.Name, Version: s.Version, State: s.State, Reason: unavailable(s)})
		}
	}
	return index, nil
}

func (g *service) RepositoryModelLoad(ctx context.Context, r *inference.RepositoryModelLoadRequest) (*inference.RepositoryModelLoadResponse, error) {
	if len(r.Parameters) > 0 {
		return nil, errOverride
	}
	return &inference.RepositoryModelLoadResponse{}, g.s.load(ctx, r.ModelName)
}

func (g *service) RepositoryModelUnload(_ context.Context, r *inference.RepositoryModelUnloadRequest) (*inference.RepositoryModelUnloadResponse, error) {
	return &inference.RepositoryModelUnloadResponse{}, g.s.fleet.Unload(r.ModelName)
}

func (g *service) ModelInfer(ctx context.Context, r *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
	start := time.Now()
	id, _ := ctx.Value(requestKey{}).(string)
	request, err := oip.FromGRPC(r, mostTensors)
	if err != nil {
		return nil, err
	}
	v, res, err := g.s.inferred(ctx, start, request, r.ModelName, r.ModelVersion, id)
	if err != nil {
		return nil, err
	}
	defer v.Release()
	defer of(v).took(watch.Postprocess, time.Now())
	return request.GRPC(of(v).signature, res)
}

// ModelStreamInfer answers requests of a stream in their order; a failure is the answer to one request, not the end.
func (g *service) ModelStreamInfer(stream inference.GRPCInferenceService_ModelStreamInferServer) error {
	for {
		r, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		answer := &inference.ModelStreamInferResponse{}
		ctx, cancel := context.WithTimeout(stream.Context(), g.s.config.Timeout)
		answer.InferResponse, err = g.ModelInfer(ctx, r)
		cancel()
		if err != nil {
			f := failure(err)
			g.s.note(stream.Context(), f, err, r.Id, "ModelStreamInfer")
			answer = &inference.ModelStreamInferResponse{ErrorMessage: f.Error, InferResponse: &inference.ModelInferResponse{Id: r.Id, ModelName: r.ModelName}}
		}
		if err := stream.Send(answer); err != nil {
			return err
		}
	}
}
