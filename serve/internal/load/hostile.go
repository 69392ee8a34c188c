package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"time"

	"google.golang.org/grpc"
	_ "google.golang.org/grpc/encoding/gzip" // so that messages may be packed
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/psi-shapley/psi/serve/internal/oip/inference"
)

// refusal is what the server said to a hostile message.
type refusal struct {
	Sent    int     `json:"sent_bytes"`
	Code    string  `json:"code"`
	Message string  `json:"message"`
	Seconds float64 `json:"seconds"`
}

// hostile sends one message that no honest client sends.
func hostile(ctx context.Context, s *settings, kinds []string) (any, error) {
	body, err := hostileMessage(kinds[0], int(s.bytes))
	if err != nil {
		return nil, err
	}
	s.connections = 1
	c, err := dial(s)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	start := time.Now()
	var reply []byte
	var options []grpc.CallOption
	if kinds[0] == "bomb" {
		options = append(options, grpc.UseCompressor("gzip"))
	}
	err = c.calls[0].Invoke(ctx, inferMethod, &body, &reply, options...)
	told := status.Convert(err)
	message := told.Message()
	return &refusal{len(body), told.Code().String(), message[:min(len(message), 300)], time.Since(start).Seconds()}, nil
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
	switch kind {
	case "bytes", "bomb": // one tensor of zeros
		b := protowire.AppendTag(nil, 7, protowire.BytesType)
		b = protowire.AppendVarint(b, uint64(n))
		return append(b, make([]byte, n)...), nil
	case "columns":
		m := &inference.ModelInferRequest{ModelName: "adult"}
		for i := range n {
			m.Inputs = append(m.Inputs, &inference.ModelInferRequest_InferInputTensor{Name: "c" + strconv.Itoa(i), Datatype: "FP64", Shape: []int64{1}})
			m.RawInputContents = append(m.RawInputContents, make([]byte, 8))
		}
		return proto.Marshal(m)
	case "utf8":
		m, err := proto.Marshal(number(1))
		return bytes.ReplaceAll(m, []byte("age"), []byte("\xff\xfe\xfd")), err
	case "infinite":
		return proto.Marshal(number(math.Inf(1)))
	case "nan": // not hostile: a missing cell
		return proto.Marshal(number(math.NaN()))
	}
	return nil, fmt.Errorf("%q is none of bytes, bomb, columns, utf8, infinite and nan", kind)
}
