package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strconv"
	"sync"
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
				told := status.Convert(err)
				found.Code, found.Message = told.Code().String(), firstBytes(told.Message())
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
