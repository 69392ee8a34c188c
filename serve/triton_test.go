package serve

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/psi-shapley/psi/serve/internal/oip/inference"
)

// What is written must be what protobuf's own reader reads, and have numbers where that one's writer has texts.
func TestMessageJSON(t *testing.T) {
	config := &inference.ModelConfig{
		Name: "m", Input: []*inference.ModelInput{{Name: "a", DataType: inference.DataType_TYPE_FP64, Dims: []int64{-1, 3}}},
		Parameters: map[string]*inference.ModelParameter{"players": {StringValue: `["a"]`}},
	}
	stats := &inference.ModelStatisticsResponse{ModelStats: []*inference.ModelStatistics{{
		Name: "m", Version: "1", InferenceCount: 1 << 60, InferenceStats: &inference.InferStatistics{Success: &inference.StatisticDuration{Count: 2, Ns: 3}},
	}}}
	for _, c := range []struct {
		message, empty proto.Message
		all            bool
		has            []string
	}{
		{config, &inference.ModelConfig{}, false, []string{`"dims":[-1,3]`, `"data_type":"TYPE_FP64"`}},
		{stats, &inference.ModelStatisticsResponse{}, true, []string{`"inference_count":1152921504606846976`, `"execution_count":0`, `"ns":3`}},
	} {
		text, err := messageJSON(c.message, c.all)
		if err != nil {
			t.Fatal(err)
		}
		if err := protojson.Unmarshal(text, c.empty); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if !proto.Equal(c.empty, c.message) {
			t.Errorf("%s is read as %v, want %v", text, c.empty, c.message)
		}
		for _, part := range c.has {
			if !strings.Contains(string(text), part) {
				t.Errorf("%s lacks %s", text, part)
			}
		}
	}
}
