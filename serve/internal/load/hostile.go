package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/psi-shapley/psi/serve/internal/oip/inference"
)

// refusal is what the server said to a hostile message, sent once or many times at once.
type refusal struct {
	Sent    int             `json:"sent_bytes"` // by all calls
	Code    string          `json:"code"`       // of the first answer
	Message string          `json:"message"`
	Ends    map[outcome]int `json:"ends"`
	Seconds float64         `json:"seconds"`
}

// hostile sends a message that no honest client sends.
func hostile(ctx context.Context, s *settings, kinds []string) (any, error) {
	body, err := hostileMessage(kinds[0], int(s.bytes))
	if err != nil {
		return nil, err
	}
	encoding := ""
	if kinds[0] == "bomb" {
		encoding = "gzip"
		if body, err = zipped(body); err != nil {
			return nil, err
		}
	}
	body = append(frame(encoding != "", int64(len(body))), body...)
	calls := newRawCalls(s)
	defer calls.Close()
	ctx, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	start := time.Now()
	found := &refusal{Sent: s.calls * len(body), Ends: map[outcome]int{}}
	var mu sync.Mutex
	var under sync.WaitGroup
	for i := range s.calls {
		under.Go(func() {
			err := calls.send(ctx, i, "ModelInfer", encoding, io.NopCloser(bytes.NewReader(body)))
			mu.Lock()
			defer mu.Unlock()
			if found.Code == "" {
				st := status.Convert(err)
				found.Code, found.Message = st.Code().String(), firstBytes(st.Message())
			}
			found.Ends[outcomeOf(err)]++
		})
	}
	under.Wait()
	found.Seconds = time.Since(start).Seconds()
	return found, nil
}

func zipped(message []byte) ([]byte, error) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(message); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func hostileMessage(kind string, n int) ([]byte, error) {
	// One column of adult is sent, the others are unknown.
	number := func(v float64) *inference.ModelInferRequest {
		const others = "workclass,education-num,marital-status,occupation,relationship,race,sex,capital-gain,capital-loss,hours-per-week,native-country"
		return &inference.ModelInferRequest{
			ModelName:        "adult",
			Parameters:       map[string]*inference.InferParameter{"unknown": {ParameterChoice: &inference.InferParameter_StringParam{StringParam: others}}},
			Inputs:           []*inference.ModelInferRequest_InferInputTensor{{Name: "age", Datatype: "FP64", Shape: []int64{1}}},
			RawInputContents: [][]byte{binary.LittleEndian.AppendUint64(nil, math.Float64bits(v))},
		}
	}
	// Numbers of the fields that follow are those of grpc_service.proto.
	switch kind {
	case "bytes", "bomb": // one raw tensor of zeros
		return field(7, make([]byte, n)), nil
	case "columns":
		m := &inference.ModelInferRequest{ModelName: "adult"}
		for i := range n {
			m.Inputs = append(m.Inputs, &inference.ModelInferRequest_InferInputTensor{Name: "c" + strconv.Itoa(i), Datatype: "FP64", Shape: []int64{1}})
			m.RawInputContents = append(m.RawInputContents, make([]byte, 8))
		}
		return proto.Marshal(m)
	case "inputs": // two bytes each, a tensor's description in memory
		return append(field(1, []byte("adult")), bytes.Repeat(field(5, nil), n/2)...), nil
	case "texts": // two bytes each, a slice in memory
		return tensor(bytes.Repeat(field(8, nil), n/2)), nil
	case "varints": // a byte each, eight in memory
		return tensor(field(3, make([]byte, n))), nil
	case "utf8":
		m, err := proto.Marshal(number(1))
		return bytes.ReplaceAll(m, []byte("age"), []byte("\xff\xfe\xfd")), err
	case "infinite":
		return proto.Marshal(number(math.Inf(1)))
	case "nan": // not hostile: a missing cell
		return proto.Marshal(number(math.NaN()))
	}
	return nil, fmt.Errorf("%q is none of bytes, bomb, columns, inputs, texts, varints, utf8, infinite and nan", kind)
}

// tensor is a request of one column with the given contents.
func tensor(contents []byte) []byte {
	input := append(field(1, []byte("age")), field(2, []byte("FP64"))...)
	return append(field(1, []byte("adult")), field(5, append(input, field(5, contents)...))...)
}

// field of a message whose content is bytes.
func field(number protowire.Number, content []byte) []byte {
	b := protowire.AppendTag(nil, number, protowire.BytesType)
	return protowire.AppendBytes(b, content)
}

// held is how a number of calls that never finish their message ended.
type held struct {
	Calls   int             `json:"calls"`
	Sent    int64           `json:"sent_bytes"` // of messages, without the protocol's own
	Ends    map[outcome]int `json:"ends"`       // "held" is a call that the server let stand until the end
	First   string          `json:"first_end"`
	Seconds float64         `json:"seconds"`
}

// stillHeld is the outcome of a call that the server did not end.
const stillHeld outcome = "held"

// hold starts calls whose messages claim more bytes than they send, and keeps them open.
func hold(ctx context.Context, s *settings, methods []string) (any, error) {
	if s.grpc == "" || s.calls < 1 || s.bytes < 0 {
		return nil, errors.New("hold needs --grpc, and --calls above 0")
	}
	calls := newRawCalls(s)
	defer calls.Close()
	start := time.Now()
	ctx, cancel := context.WithTimeout(ctx, s.length)
	defer cancel()
	found := &held{Calls: s.calls, Ends: map[outcome]int{}}
	var sent atomic.Int64
	var mu sync.Mutex
	var under sync.WaitGroup
	for i := range s.calls {
		under.Go(func() {
			m := &unfinished{left: s.bytes, sent: &sent}
			m.over, m.end = context.WithCancel(ctx)
			if s.claim > 0 {
				m.head = frame(false, s.claim)
			}
			err := calls.send(ctx, i, methods[0], "", m)
			end := outcomeOf(err)
			if ctx.Err() != nil && (end == late || end == cancelled) {
				end, err = stillHeld, nil
			}
			mu.Lock()
			defer mu.Unlock()
			found.Ends[end]++
			if err != nil && found.First == "" {
				found.First = firstBytes(root(err).Error())
			}
		})
	}
	under.Wait()
	found.Sent, found.Seconds = sent.Load(), time.Since(start).Seconds()
	return found, nil
}

// unfinished is the body of a call that sends some bytes and then waits.
type unfinished struct {
	head []byte
	over context.Context //nolint:containedctx // the transport reads and closes without one
	end  func()
	left int64
	sent *atomic.Int64
}

func (u *unfinished) Read(p []byte) (n int, err error) {
	switch {
	case len(u.head) > 0:
		n = copy(p, u.head)
		u.head = u.head[n:]
	case u.left > 0:
		n = int(min(int64(len(p)), u.left))
		copy(p, bytes.Repeat([]byte{'a'}, n))
		u.left -= int64(n)
	default:
		<-u.over.Done()
		return 0, io.ErrUnexpectedEOF
	}
	u.sent.Add(int64(n))
	return n, nil
}

// Close ends the wait: the call is over.
func (u *unfinished) Close() error {
	u.end()
	return nil
}

// firstBytes shortens a message of the server.
func firstBytes(message string) string { return message[:min(len(message), 300)] }

// crawlers are connections that send a byte a second, as callers on bad lines do, and those who mean harm.
type crawlers struct {
	http, grpc string
	mu         sync.Mutex
	ends       map[string]int
}

// notLetIn is the end of a connection that could not be made.
const notLetIn = "not let in"

// crawl opens one such connection after another.
func (c *crawlers) crawl(ctx context.Context, i int) {
	kinds := []struct{ name, address, at, slowly string }{
		{"header", c.http, "POST /explain HTTP/1.1\r\nHost: localhost\r\n", "X-Slow: " + strings.Repeat("a", 1000)},
		{"body", c.http, "POST /explain HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n", strings.Repeat(" ", 5000)},
		{"preface", c.grpc, "", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + strings.Repeat("\x00", 1000)},
	}
	for k := i; ctx.Err() == nil; k++ {
		kind := kinds[k%len(kinds)]
		end := crawlOnce(ctx, kind.address, kind.at, kind.slowly)
		if ctx.Err() != nil {
			return
		}
		c.mu.Lock()
		c.ends[kind.name+": "+end]++
		c.mu.Unlock()
		if end == notLetIn {
			time.Sleep(100 * time.Millisecond) // a server that is gone may come back
		}
	}
}

// crawlOnce sends some bytes at once and others slowly, and says how the server ended that.
func crawlOnce(ctx context.Context, address, at, slowly string) string {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return notLetIn
	}
	defer conn.Close()
	start := time.Now()
	if _, err := conn.Write([]byte(at)); err != nil {
		return "closed at once"
	}
	heard := make([]byte, 4096)
	for i := range len(slowly) {
		if ctx.Err() != nil {
			return "left"
		}
		_, sent := conn.Write([]byte{slowly[i]}) // if the server is gone, it may have said something first
		if err := conn.SetReadDeadline(time.Now().Add(time.Second)); err != nil {
			return after(start)
		}
		n, err := conn.Read(heard)
		if strings.HasPrefix(string(heard[:n]), "HTTP/") && n >= 12 {
			return "HTTP " + string(heard[9:12]) + ", " + after(start)
		}
		var waits net.Error
		if sent != nil || err != nil && !(errors.As(err, &waits) && waits.Timeout()) {
			return after(start)
		}
	}
	return "never ended"
}

// after says when the server closed a connection, to five seconds.
func after(start time.Time) string {
	const step = 5
	return "closed after about " + strconv.Itoa((int(time.Since(start).Seconds())+step/2)/step*step) + " s"
}
