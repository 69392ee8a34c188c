package serve

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/psi-shapley/psi/serve/internal/oip/inference"
)

// withTokens makes a server ask for tokens, and returns those of some callers who may infer.
func withTokens(t *testing.T, c *Config, names ...string) []string {
	t.Helper()
	var lines, tokens []string
	for _, name := range names {
		secret, line, err := NewToken(name, "infer")
		check(t, err)
		lines, tokens = append(lines, line), append(tokens, "Bearer "+secret)
	}
	c.TokenFile = filepath.Join(t.TempDir(), "tokens")
	check(t, os.WriteFile(c.TokenFile, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	return tokens
}

// small is a request of one row.
func small() *inference.ModelInferRequest {
	inputs, raw := tensors(people(1, 1))
	return &inference.ModelInferRequest{ModelName: "shop", Inputs: inputs, RawInputContents: raw}
}

// by is the context of a caller.
func by(ctx context.Context, token string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "authorization", token)
}

// heap is the memory that is in use.
func heap() int64 {
	runtime.GC()
	runtime.GC() // for what pools have let go
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Messages that never end are counted as they arrive. When the memory is full, the connection that holds the most is closed;
// a caller who sends little is always answered.
func TestUnfinishedMessages(t *testing.T) {
	var tokens []string
	r := start(t, func(c *Config) {
		c.MaxBody, c.MaxHeld = 4<<20, 32<<20
		tokens = withTokens(t, c, "ann", "mallory")
	})
	before := heap()
	var attack []*rawCalls
	for range 8 {
		c := r.raw(t)
		attack = append(attack, c)
		for range 2 {
			stream, err := c.open("ModelInfer", "authorization", tokens[1])
			check(t, err)
			if c.claim(stream, 4<<20, 3<<20, 16<<10) != nil {
				break
			}
			if _, err := r.calls.ModelInfer(by(t.Context(), tokens[0]), small()); err != nil {
				t.Fatalf("a small request while others hold much: %v", err)
			}
		}
	}
	closed := 0
	for _, c := range attack {
		if c.closed() {
			closed++
		}
	}
	grown := heap() - before
	t.Logf("%d of %d connections closed, %d MiB held", closed, len(attack), grown>>20)
	if closed == 0 || closed == len(attack) {
		t.Errorf("%d of %d connections were closed", closed, len(attack))
	}
	if grown > 40<<20 {
		t.Errorf("%d bytes are held, though %d may be", grown, 32<<20)
	}
	for _, c := range attack {
		check(t, c.Close())
	}
	eventually(t, "the memory is given back", func() bool { return r.memory.inUse() == 0 })
}

// One byte a frame costs the server a hundred: frames are counted too.
func TestTinyFrames(t *testing.T) {
	var tokens []string
	r := start(t, func(c *Config) {
		c.MaxBody, c.MaxHeld = 4<<20, 16<<20
		tokens = withTokens(t, c, "mallory")
	})
	before := heap()
	c := r.raw(t)
	for range 8 {
		stream, err := c.open("ModelInfer", "authorization", tokens[0])
		check(t, err)
		if c.claim(stream, 1<<20, 30<<10, 1) != nil {
			break
		}
	}
	if grown := heap() - before; grown > 20<<20 {
		t.Errorf("%d bytes are held", grown)
	}
	eventually(t, "the connection is closed", c.closed)
}

// Streams of strangers are refused before they send anything, and keep nobody out.
func TestStreamsOfStrangers(t *testing.T) {
	var tokens []string
	r := start(t, func(c *Config) { tokens = withTokens(t, c, "ann") })
	for range 5 {
		c := r.raw(t)
		for range 50 {
			if _, err := c.open("ModelStreamInfer"); err != nil {
				break
			}
		}
		stream, err := c.open("ModelStreamInfer")
		if end := c.end(t, stream); err == nil && end.status != "16" && end.status != "closed" {
			t.Errorf("a stranger's stream ends with %+v", end)
		}
		if _, err := r.calls.ServerLive(t.Context(), &inference.ServerLiveRequest{}); err != nil {
			t.Errorf("health: %v", err)
		}
		if _, err := r.calls.ModelInfer(by(t.Context(), tokens[0]), small()); err != nil {
			t.Errorf("a caller: %v", err)
		}
	}
	stream, err := r.calls.ModelStreamInfer(t.Context())
	check(t, err)
	if _, err := stream.Recv(); status.Code(err) != codes.Unauthenticated {
		t.Errorf("a stream without a token and without a message: %v", err)
	}
}

// A caller has so many calls under way, whatever they are; others, and health, are answered meanwhile.
func TestCallsOfOneCaller(t *testing.T) {
	var tokens []string
	r := start(t, func(c *Config) {
		c.MaxCalls = 4
		tokens = withTokens(t, c, "ann", "mallory")
	})
	c := r.raw(t)
	for range 4 {
		_, err := c.open("ModelStreamInfer", "authorization", tokens[1])
		check(t, err)
	}
	fifth, err := c.open("ModelInfer", "authorization", tokens[1])
	check(t, err)
	if end := c.end(t, fifth); end.status != "8" {
		t.Errorf("one call too many ends with %+v", end)
	}
	if code, _, _ := r.sent(t, "POST", "/explain", []byte(`{}`), "Authorization", tokens[1]); code != 429 {
		t.Errorf("a request beside them: %d, want 429", code)
	}
	if _, err := r.calls.ModelInfer(by(t.Context(), tokens[0]), small()); err != nil {
		t.Errorf("another caller: %v", err)
	}
	if _, err := r.calls.ServerReady(t.Context(), &inference.ServerReadyRequest{}); err != nil {
		t.Errorf("health: %v", err)
	}
	check(t, c.Close())
	eventually(t, "the calls are over", func() bool {
		_, err := r.calls.ModelInfer(by(t.Context(), tokens[1]), small())
		return err == nil
	})
}

// A message must arrive in time, and a stream may not wait for ever.
func TestTimesOfCalls(t *testing.T) {
	r := start(t, func(c *Config) { c.Timeout, c.streamIdle = 300*time.Millisecond, 600*time.Millisecond })
	c := r.raw(t)
	for method, send := range map[string]int{"ModelInfer": 100, "ModelStreamInfer": 100, "ModelReady": 0} {
		stream, err := c.open(method)
		check(t, err)
		if send > 0 {
			check(t, c.claim(stream, 1000, send, 1000))
		}
		if end := c.end(t, stream); end.status != "4" {
			t.Errorf("%s: %+v, want DeadlineExceeded", method, end)
		}
	}
	idle, err := r.calls.ModelStreamInfer(t.Context())
	check(t, err)
	for range 3 { // each message has its own time
		check(t, idle.Send(small()))
		_, err = idle.Recv()
		check(t, err)
		time.Sleep(300 * time.Millisecond)
	}
	if _, err := idle.Recv(); status.Code(err) != codes.DeadlineExceeded || !strings.Contains(err.Error(), "600ms") {
		t.Errorf("an idle stream: %v", err)
	}
	check(t, c.Close())
	eventually(t, "the memory is given back", func() bool { return r.memory.inUse() == 0 })
}

// Calls that are refused leave nothing behind, even if their deadline is far.
func TestRefusedCallsHoldNothing(t *testing.T) {
	var tokens []string
	r := start(t, func(c *Config) { tokens = withTokens(t, c, "ann") })
	c := r.raw(t)
	stream, err := c.open("ModelReady", "authorization", tokens[0]) // so that it is read as fast as it may
	check(t, err)
	check(t, c.data(stream, make([]byte, 5), 5, true))
	c.end(t, stream)
	refuse := func(n int) {
		for range n {
			stream, err := c.open("ModelReady", "grpc-timeout", "9999H")
			check(t, err)
			if stream%64 == 1 {
				c.end(t, stream)
			}
		}
	}
	refuse(100)
	before := heap()
	const calls = 10_000
	refuse(calls)
	c.mu.Lock()
	c.ends, c.windows = map[uint32]streamEnd{}, map[uint32]int64{}
	c.mu.Unlock()
	if each := (heap() - before) / calls; each > 50 {
		t.Errorf("a refused call leaves %d bytes", each)
	}
}

// packedMessage is a message of gRPC that is packed, with its prefix.
func packedMessage(t *testing.T, message []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	check(t, err)
	_, err = w.Write(message)
	check(t, err)
	check(t, w.Close())
	return append(binary.BigEndian.AppendUint32([]byte{1}, uint32(b.Len())), b.Bytes()...)
}

// A small message that unpacks or decodes to a huge one takes its memory from the budget first.
func TestMessageBombs(t *testing.T) {
	r := start(t, func(c *Config) { c.MaxBody, c.MaxHeld = 64<<20, 16<<20 })
	tensor := func(contents *inference.InferTensorContents) *inference.ModelInferRequest {
		return &inference.ModelInferRequest{ModelName: "shop", Inputs: []*inference.ModelInferRequest_InferInputTensor{{Name: "age", Datatype: "BYTES", Shape: []int64{1}, Contents: contents}}}
	}
	for what, m := range map[string]*inference.ModelInferRequest{
		"empty texts":   tensor(&inference.InferTensorContents{BytesContents: make([][]byte, 1<<20)}),
		"small numbers": tensor(&inference.InferTensorContents{Int64Contents: make([]int64, 4<<20)}),
		"empty tensors": {ModelName: "shop", Inputs: slices.Repeat([]*inference.ModelInferRequest_InferInputTensor{{}}, 1<<19)},
	} {
		_, err := r.calls.ModelInfer(t.Context(), m)
		if status.Code(err) != codes.ResourceExhausted {
			t.Errorf("%s: %v", what, err)
		}
	}
	c := r.raw(t)
	stream, err := c.open("ModelInfer", "grpc-encoding", "gzip")
	check(t, err)
	bomb := packedMessage(t, make([]byte, 48<<20))
	before := allocated()
	check(t, c.data(stream, bomb, 16<<10, true))
	if end := c.end(t, stream); end.status != "8" {
		t.Errorf("a packed bomb of %d bytes: %+v", len(bomb), end)
	}
	if grown := allocated() - before; grown > 40<<20 {
		t.Errorf("%d bytes were allocated for it", grown)
	}
	check(t, c.Close())
	eventually(t, "the memory is given back", func() bool { return r.memory.inUse() == 0 })
	for _, encoding := range []string{"gzip", "deflate"} {
		if _, err := r.calls.ModelInfer(t.Context(), small(), grpc.UseCompressor(encoding)); err != nil {
			t.Errorf("%s: %v", encoding, err)
		}
	}
	_, err = r.calls.ModelInfer(t.Context(), small())
	check(t, err)
}

// Answers that nobody reads are counted until they are sent, and not for ever.
func TestUnreadAnswers(t *testing.T) {
	r := start(t, func(c *Config) { c.Timeout = time.Second })
	c := r.raw(t, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
	stream, err := c.open("ServerMetadata")
	check(t, err)
	check(t, c.data(stream, make([]byte, 5), 5, true))
	eventually(t, "the answer is counted", func() bool { return r.memory.inUse() > callBytes })
	eventually(t, "the connection is closed", c.closed)
	eventually(t, "the memory is given back", func() bool { return r.memory.inUse() == 0 })
}

// A stranger holds few connections: when more come, those that were there for a while make room, and of very many the
// oldest. One that had a request admitted stays.
func TestConnectionsOfStrangers(t *testing.T) {
	var tokens []string
	r := start(t, func(c *Config) { tokens = withTokens(t, c, "ann") })
	proven := r.raw(t)
	stream, err := proven.open("ModelReady", "authorization", tokens[0])
	check(t, err)
	check(t, proven.data(stream, make([]byte, 5), 5, true))
	if end := proven.end(t, stream); end.status != "0" {
		t.Fatalf("%+v", end)
	}
	var strangers []*rawCalls
	came := time.Now()
	for range maxUnproven + 36 {
		strangers = append(strangers, r.raw(t))
	}
	time.Sleep(200 * time.Millisecond)
	if strangers[0].closed() && time.Since(came) < unprovenGrace { // a slow machine may need as long to open them
		t.Error("callers who come at once have no time to prove themselves")
	}
	time.Sleep(unprovenGrace)
	last := r.raw(t)
	eventually(t, "the oldest are closed", func() bool { return strangers[0].closed() && strangers[36].closed() })
	if strangers[len(strangers)-1].closed() || last.closed() || proven.closed() {
		t.Error("the newest, or one that was admitted, is closed")
	}
	address, _, _ := r.Addresses()
	var many []net.Conn
	for range maxNew + 1 {
		c, err := net.Dial("tcp", address)
		check(t, err)
		t.Cleanup(func() { _ = c.Close() })
		many = append(many, c)
	}
	check(t, many[0].SetReadDeadline(time.Now().Add(5*time.Second)))
	if _, err := many[0].Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the oldest of very many is not closed")
	}
}
