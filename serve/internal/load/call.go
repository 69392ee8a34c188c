package main

import (
	"context"
	"encoding/binary"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

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
