package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// outcome of a request, in words that are counted.
type outcome string

const (
	answered  outcome = "ok"
	refused   outcome = "refused"   // 429 or RESOURCE_EXHAUSTED: the server has too much to do
	cancelled outcome = "cancelled" // by the caller
	late      outcome = "late"      // the caller's time was up
	wrong     outcome = "wrong"     // an answer that is not right
)

// answer of the server, as it came.
type answer struct {
	body []byte
	head int // bytes of JSON before binary tensors; -1 if there are none
}

// client sends requests over a number of connections.
type client struct {
	web   *http.Client
	base  string
	token string // of HTTP requests, "Bearer …"; "" sends none
	calls []*grpc.ClientConn
	turn  atomic.Uint64
}

const (
	headerLength = "Inference-Header-Content-Length"
	service      = "/inference.GRPCInferenceService/"
	maxAnswer    = 64 << 20
	maxCalls     = 16 // connections of gRPC, which carry many requests each
)

func dial(s *settings) (*client, error) {
	c := &client{base: "http://" + s.http, token: s.authorization(), web: &http.Client{Transport: &http.Transport{
		MaxConnsPerHost: s.connections, MaxIdleConnsPerHost: s.connections, DisableCompression: true,
		IdleConnTimeout: 5 * time.Second, // those of a burst are not kept
	}}}
	for range min(s.connections, maxCalls) {
		if s.grpc == "" {
			break
		}
		call, err := grpc.NewClient(s.grpc, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithPerRPCCredentials(bearer(c.token)),
			grpc.WithDefaultCallOptions(grpc.ForceCodec(bytesCodec{}), grpc.MaxCallRecvMsgSize(maxAnswer), grpc.MaxCallSendMsgSize(1<<31-1)))
		if err != nil {
			return nil, errors.Join(err, c.Close())
		}
		c.calls = append(c.calls, call)
	}
	return c, nil
}

func (c *client) Close() error {
	c.web.CloseIdleConnections()
	var err error
	for _, call := range c.calls {
		err = errors.Join(err, call.Close())
	}
	return err
}

// bytesCodec sends and receives messages that are written already.
type bytesCodec struct{}

func (bytesCodec) Name() string                       { return "proto" }
func (bytesCodec) Marshal(v any) ([]byte, error)      { return *v.(*[]byte), nil }
func (bytesCodec) Unmarshal(data []byte, v any) error { *v.(*[]byte) = bytes.Clone(data); return nil }

// bearer sends a token with each call; the empty one sends nothing.
type bearer string

func (b bearer) RequireTransportSecurity() bool { return false }

func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	if b == "" {
		return nil, nil
	}
	return map[string]string{"authorization": string(b)}, nil
}

// statusError is an answer of HTTP that is not 200.
type statusError struct {
	code int
	body string
}

func (s *statusError) Error() string { return fmt.Sprintf("HTTP %d: %.300s", s.code, s.body) }

func (c *client) send(ctx context.Context, r *request) (*answer, error) {
	if r.form == gRPC {
		a := &answer{head: -1}
		call := c.calls[c.turn.Add(1)%uint64(len(c.calls))]
		return a, call.Invoke(ctx, service+"ModelInfer", &r.body, &a.body)
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+r.path, bytes.NewReader(r.body))
	if err != nil {
		return nil, err
	}
	q.Header.Set("Content-Type", "application/json")
	if c.token != "" {
		q.Header.Set("Authorization", c.token)
	}
	if r.form == binaryForm {
		q.Header.Set("Content-Type", "application/octet-stream")
		q.Header.Set(headerLength, strconv.Itoa(r.head))
	}
	got, err := c.web.Do(q)
	if err != nil {
		return nil, err
	}
	defer got.Body.Close()
	a := &answer{head: -1}
	if a.body, err = io.ReadAll(io.LimitReader(got.Body, maxAnswer)); err != nil {
		return nil, err
	}
	if got.StatusCode != http.StatusOK {
		return nil, &statusError{got.StatusCode, string(a.body)}
	}
	if text := got.Header.Get(headerLength); text != "" {
		a.head, err = strconv.Atoi(text)
	}
	return a, err
}

// outcomeOf says how a request ended.
func outcomeOf(err error) outcome {
	var bad *statusError
	var untrue *wrongError
	switch code := status.Code(err); {
	case err == nil:
		return answered
	case errors.As(err, &untrue):
		return wrong
	case errors.As(err, &bad) && bad.code == http.StatusTooManyRequests, code == codes.ResourceExhausted:
		return refused
	case errors.Is(err, context.Canceled), code == codes.Canceled:
		return cancelled
	case errors.Is(err, context.DeadlineExceeded), code == codes.DeadlineExceeded:
		return late
	case errors.As(err, &bad):
		return outcome("HTTP " + strconv.Itoa(bad.code))
	case code != codes.Unknown:
		return outcome("gRPC " + code.String())
	}
	return outcome(fmt.Sprintf("broken: %.100v", root(err)))
}

// root is what an error comes from, without the addresses and names that its wrappers add.
func root(err error) error {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err
		}
		err = next
	}
}

// rawCalls makes gRPC calls over plain HTTP/2, so that a call can carry what no gRPC client sends: messages that never end, or
// that claim a size they do not have. Each connection is a transport of its own.
type rawCalls struct {
	address, authorization string
	transports             []*http.Transport
}

func newRawCalls(s *settings) *rawCalls {
	c := &rawCalls{address: s.grpc, authorization: s.authorization()}
	for range s.connections {
		var only http.Protocols
		only.SetUnencryptedHTTP2(true)
		c.transports = append(c.transports, &http.Transport{Protocols: &only, DisableCompression: true, ResponseHeaderTimeout: time.Hour})
	}
	return c
}

func (c *rawCalls) Close() {
	for _, t := range c.transports {
		t.CloseIdleConnections()
	}
}

// send makes the i-th call with a body of gRPC frames and returns how it ended, nil for the status OK.
func (c *rawCalls) send(ctx context.Context, i int, method, encoding string, body io.ReadCloser) error {
	q := (&http.Request{
		Method: http.MethodPost, URL: &url.URL{Scheme: "http", Host: c.address, Path: service + method},
		Header: http.Header{"Content-Type": {"application/grpc"}, "Te": {"trailers"}}, Body: body, ContentLength: -1,
	}).WithContext(ctx)
	if encoding != "" {
		q.Header.Set("Grpc-Encoding", encoding)
	}
	if c.authorization != "" {
		q.Header.Set("Authorization", c.authorization)
	}
	got, err := c.transports[i%len(c.transports)].RoundTrip(q)
	if err != nil {
		return err
	}
	defer got.Body.Close()
	if _, err := io.Copy(io.Discard, io.LimitReader(got.Body, maxAnswer)); err != nil {
		return err
	}
	if got.StatusCode != http.StatusOK {
		return &statusError{got.StatusCode, ""}
	}
	for _, h := range []http.Header{got.Trailer, got.Header} { // an answer without a message has its status in the header
		if code, err := strconv.ParseUint(h.Get("Grpc-Status"), 10, 32); err == nil {
			message, err := url.PathUnescape(h.Get("Grpc-Message"))
			if err != nil {
				message = h.Get("Grpc-Message")
			}
			return status.Error(codes.Code(code), message)
		}
	}
	return status.Error(codes.Unknown, "the answer has no gRPC status")
}

// frame starts a message of gRPC: whether it is compressed, and the length it claims.
func frame(compressed bool, claimed int64) []byte {
	head := make([]byte, 1, 5)
	if compressed {
		head[0] = 1
	}
	return binary.BigEndian.AppendUint32(head, uint32(claimed))
}
