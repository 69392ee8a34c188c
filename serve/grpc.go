package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/experimental"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
	"google.golang.org/protobuf/proto"

	"github.com/psi-shapley/psi/serve/internal/auth"
	"github.com/psi-shapley/psi/serve/internal/observe"
	"github.com/psi-shapley/psi/serve/internal/oip"
	"github.com/psi-shapley/psi/serve/internal/oip/inference"
)

// service implements the gRPC service of the Open Inference Protocol, with Triton's calls for models and statistics. The
// embedded type answers unsupported calls, such as those of shared memory, with Unimplemented.
type service struct {
	inference.UnimplementedGRPCInferenceServiceServer
	s *Server
}

// grpcPermission returns the permission that a method needs. Methods that are not listed need Admin.
func grpcPermission(method string) auth.Permission {
	switch method[strings.LastIndex(method, "/")+1:] {
	case "ServerLive", "ServerReady":
		return auth.Health
	case "ServerMetadata":
		return auth.Public
	case "ModelReady", "ModelMetadata", "ModelConfig", "ModelStatistics", "ModelInfer", "ModelStreamInfer":
		return auth.Infer
	}
	return auth.Admin
}

// newGRPC makes the gRPC server of a listener.
func (s *Server) newGRPC(loopback bool) *grpc.Server {
	secured := insecure.NewCredentials()
	if s.tls != nil {
		secured = credentials.NewTLS(s.tls)
	}
	trusted := max(s.config.MaxHeld/4, s.config.MaxBody+s.config.MaxBody/8+unprovenBytes)
	g := grpc.NewServer(
		grpc.Creds(watched{secured, func(c, raw net.Conn) *connection {
			return newConnection(c, raw, s.memory, trusted, s.config.Timeout)
		}}),
		grpc.ReadBufferSize(0), // a connection has its own
		grpc.MaxRecvMsgSize(int(s.config.MaxBody)),
		grpc.MaxConcurrentStreams(256),
		grpc.MaxHeaderListSize(maxHeader),
		grpc.ConnectionTimeout(10*time.Second),
		grpc.InTapHandle(func(ctx context.Context, info *tap.Info) (context.Context, error) {
			return s.arriving(ctx, info, loopback), nil
		}),
		grpc.StatsHandler(callEvents{}),
		grpc.ForceServerCodecV2(rawCodec{}),
		experimental.BufferPool(mem.NopBufferPool{}), // as for rawCodec
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: 5 * time.Minute, Time: 30 * time.Second, Timeout: 10 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
		grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
			return s.call(stream.Context(), "none", func(context.Context, *call) (string, error) { return "", errNoMethod })
		}),
	)
	g.RegisterService(s.serviceDesc(loopback), &service{s: s})
	return g
}

// serviceDesc returns the generated service with handlers that admit calls, receive messages within a budget and count.
func (s *Server) serviceDesc(loopback bool) *grpc.ServiceDesc {
	desc := inference.GRPCInferenceService_ServiceDesc
	desc.Methods, desc.Streams = slices.Clone(desc.Methods), slices.Clone(desc.Streams)
	for i := range desc.Methods {
		method, handle := "/"+desc.ServiceName+"/"+desc.Methods[i].MethodName, desc.Methods[i].Handler
		desc.Methods[i].Handler = func(server any, ctx context.Context, recv func(any) error, _ grpc.UnaryServerInterceptor) (answer any, err error) {
			err = s.call(ctx, method, func(ctx context.Context, k *call) (model string, err error) {
				answer, err = handle(server, ctx, func(request any) error {
					err := k.receive(recv, request, s.config.MaxBody)
					model = modelName(request)
					return err
				}, nil)
				if err == nil {
					err = k.answer(answerBytes(answer))
				}
				return model, err
			})
			return answer, err
		}
	}
	for i := range desc.Streams {
		method, handle := "/"+desc.ServiceName+"/"+desc.Streams[i].StreamName, desc.Streams[i].Handler
		desc.Streams[i].Handler = func(server any, stream grpc.ServerStream) error {
			return s.call(stream.Context(), method, func(ctx context.Context, k *call) (string, error) {
				return "", handle(server, &streamIn{stream, ctx, k, s, func() error {
					_, err := s.admit(ctx, method, loopback)
					return err
				}})
			})
		}
	}
	return &desc
}

func answerBytes(answer any) int64 {
	m, is := answer.(proto.Message)
	if !is {
		return 0
	}
	return int64(proto.Size(m))
}

// streamIn is a stream in the context of its call. Each of its messages is a request, which must be admitted.
type streamIn struct {
	grpc.ServerStream
	ctx   context.Context //nolint:containedctx // gRPC hands contexts of streams through them
	k     *call
	s     *Server
	admit func() error
}

func (s *streamIn) Context() context.Context { return s.ctx }

// idleError ends an idle stream.
type idleError struct{ after time.Duration }

func (e *idleError) Error() string {
	return "the stream has sent no message for " + e.after.String() + ": open a stream when there is something to ask"
}

// RecvMsg waits for the next message. It must begin before the idle timeout, and be complete within the timeout of a
// request.
func (s *streamIn) RecvMsg(m any) error {
	s.k.budget.reset() // the previous request is answered
	idle := time.NewTimer(s.s.config.streamIdle)
	defer idle.Stop()
	for s.k.waits() {
		select {
		case <-s.k.wakeup:
		case <-s.ctx.Done():
			return s.ctx.Err()
		case <-idle.C:
			return &idleError{s.s.config.streamIdle}
		}
	}
	late := time.AfterFunc(s.s.config.Timeout, s.k.late)
	defer late.Stop()
	if err := s.k.receive(s.ServerStream.RecvMsg, m, s.s.config.MaxBody); err != nil {
		return err
	}
	return s.admit()
}

// SendMsg reserves the memory of an answer until it is sent.
func (s *streamIn) SendMsg(m any) error {
	if err := s.k.answer(answerBytes(m)); err != nil {
		return err
	}
	return s.ServerStream.SendMsg(m)
}

// maxCalls is the maximum number of concurrent calls of all callers, beside public ones.
const maxCalls = 1024

const streamMethod = "/ModelStreamInfer"

var errNoMethod = status.Error(codes.Unimplemented, "unknown method: see the Open Inference Protocol for those that there are")

// arriving counts a call when its header has come, and decides about it before any of its message is read. The handler tells
// a refused call. gRPC never ends the context of a call that is refused here, and holds it until the deadline that the
// client chose (not reported yet: refuse calls with a grpc-timeout of an hour in a tap.ServerInHandle, and look at the
// heap).
func (s *Server) arriving(ctx context.Context, info *tap.Info, loopback bool) context.Context {
	k := &call{budget: s.memory.budget(s.requestBytes()), wakeup: make(chan struct{}, 1)}
	ctx = context.WithValue(ctx, callKey{}, k)
	if strings.HasSuffix(info.FullMethodName, streamMethod) {
		ctx = k.untilLate(ctx)
	} else {
		ctx, k.cancel = context.WithTimeout(ctx, s.config.Timeout)
	}
	c := connectionOf(ctx)
	if k.refused = c.begin(k, headerBytes(info.Header)); k.refused != nil {
		c.drop()
	} else {
		k.refused = s.enter(ctx, k, info.FullMethodName, loopback)
	}
	k.unbegun = context.AfterFunc(ctx, k.end)
	return ctx
}

// connectionOf returns the connection of a call.
func connectionOf(ctx context.Context) *connection {
	from, _ := peer.FromContext(ctx)
	return from.AuthInfo.(opened).connection
}

// headerBytes returns the memory of the header of a call.
func headerBytes(header metadata.MD) int64 {
	n := 0
	for name, values := range header {
		for _, value := range values {
			n += len(name) + len(value) + fieldBytes
		}
	}
	return int64(n)
}

// enter counts an admitted call. Public calls are not counted.
func (s *Server) enter(ctx context.Context, k *call, method string, loopback bool) error {
	caller, err := s.admit(ctx, method, loopback)
	if err != nil || grpcPermission(method)&(auth.Public|auth.Health) != 0 {
		return err
	}
	leave, err := s.guard.Enter(caller, remoteOf(ctx))
	if err != nil {
		return err
	}
	k.leave = append(k.leave, leave, func() { s.underWay.Add(-1) })
	if s.underWay.Add(1) > maxCalls {
		return &auth.TooManyError{RetryAfter: time.Second}
	}
	k.connection.prove()
	return nil
}

// modelName returns the model that a request names; "" if none.
func modelName(request any) string {
	switch r := request.(type) {
	case interface{ GetModelName() string }:
		return r.GetModelName()
	case interface{ GetName() string }:
		return r.GetName()
	}
	return ""
}

// call runs an admitted call and turns its error into a status.
func (s *Server) call(ctx context.Context, method string, do func(context.Context, *call) (model string, err error)) error {
	start := time.Now()
	counts := s.grpcRoute(method)
	counts.Started()
	in, _ := metadata.FromIncomingContext(ctx)
	id := requestID(first(in, "x-request-id"))
	_ = grpc.SetHeader(ctx, metadata.Pairs("x-request-id", id)) // fails only once headers were sent
	model, err := s.answered(ctx, method, id, do)
	code := codes.OK
	if err != nil {
		f := failure(err)
		if already, is := status.FromError(err); is && f.internal() {
			code = already.Code() // an error of gRPC itself, such as an unknown method
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

// answered runs a call within its timeout.
func (s *Server) answered(ctx context.Context, method, id string, do func(context.Context, *call) (string, error)) (model string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	k := callOf(ctx)
	if k.refused != nil {
		return "", k.refused
	}
	ctx, end := s.traces.call(context.WithValue(ctx, requestKey{}, id), method, id)
	defer func() { end(err) }()
	return do(ctx, k)
}

// admit asks the guard whether a call is permitted.
func (s *Server) admit(ctx context.Context, method string, loopback bool) (auth.Caller, error) {
	in, _ := metadata.FromIncomingContext(ctx)
	if len(in.Get("authorization")) > 1 {
		return auth.Caller{}, auth.ErrUnauthenticated // which of several counts would be a guess
	}
	shown := auth.Credentials{Authorization: first(in, "authorization"), Loopback: loopback, Remote: remoteOf(ctx)}
	if from, ok := peer.FromContext(ctx); ok {
		if info, ok := from.AuthInfo.(opened).AuthInfo.(credentials.TLSInfo); ok {
			shown.TLS = &info.State
		}
	}
	return s.guard.Admit(ctx, shown, grpcPermission(method))
}

// remoteOf returns the remote address of a call; "" for a Unix socket.
func remoteOf(ctx context.Context) string {
	from, ok := peer.FromContext(ctx)
	if !ok {
		return ""
	}
	if _, local := from.Addr.(*net.UnixAddr); local {
		return ""
	}
	return from.Addr.String()
}

// requestKey is the context key of the request id.
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
	v, err := g.s.registry.Lease(r.Name, r.Version, "")
	if err != nil {
		return &inference.ModelReadyResponse{}, nil //nolint:nilerr // a model that is not there is not ready, which is an answer
	}
	v.Release()
	return &inference.ModelReadyResponse{Ready: true}, nil
}

func (g *service) ModelMetadata(_ context.Context, r *inference.ModelMetadataRequest) (*inference.ModelMetadataResponse, error) {
	v, err := g.s.registry.Lease(r.Name, r.Version, "")
	if err != nil {
		return nil, err
	}
	defer v.Release()
	return of(v).describe(v, g.s.registry.Versions(v.Name)).MetadataGRPC()
}

func (g *service) ModelConfig(_ context.Context, r *inference.ModelConfigRequest) (*inference.ModelConfigResponse, error) {
	v, err := g.s.registry.Lease(r.Name, r.Version, "")
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
	for _, s := range g.s.registry.Index() {
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
	return &inference.RepositoryModelUnloadResponse{}, g.s.registry.Unload(r.ModelName)
}

func (g *service) ModelInfer(ctx context.Context, r *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
	start := time.Now()
	id, _ := ctx.Value(requestKey{}).(string)
	b := callOf(ctx).budget
	request, err := oip.FromGRPC(r, maxTensors)
	if err != nil {
		return nil, err
	}
	v, res, err := g.s.inferred(ctx, start, request, r.ModelName, r.ModelVersion, id, b)
	if err != nil {
		return nil, err
	}
	defer v.Release()
	defer of(v).took(observe.Postprocess, time.Now())
	if err := b.Reserve(request.GRPCBytes(of(v).signature, res.Rows)); err != nil {
		return nil, err
	}
	return request.GRPC(of(v).signature, res)
}

// ModelStreamInfer answers the requests of a stream in their order. An error answers one request and does not end the
// stream.
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
