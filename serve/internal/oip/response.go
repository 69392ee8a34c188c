package oip

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/serve/internal/oip/inference"
)

// Depth is how much the model must compute for a request.
type Depth uint8

// The depths, each of which includes those before it.
const (
	Values       Depth = iota // predictions and bases
	Spread                    // their standard deviations, and probabilities
	Attributions              // means and standard deviations of the players' contributions
	Doubt                     // doubt of the attributions, and intervals by it
)

// output describes an output that a request may name.
type output uint8

const (
	prediction output = iota
	predictionStd
	probability
	base
	attributionMean
	attributionStd
	attributionModelStd
	attributionLower
	attributionUpper
	pPositive
)

var outputNames = [...]string{
	prediction:          "prediction",
	predictionStd:       "prediction_std",
	probability:         "probability",
	base:                "base",
	attributionMean:     "attribution_mean",
	attributionStd:      "attribution_std",
	attributionModelStd: "attribution_model_std",
	attributionLower:    "attribution_lower",
	attributionUpper:    "attribution_upper",
	pPositive:           "p_positive",
}

const maxOutputs = len(outputNames)

func (o output) depth() Depth {
	switch {
	case o >= attributionModelStd:
		return Doubt
	case o >= attributionMean:
		return Attributions
	case o == predictionStd || o == probability:
		return Spread
	default:
		return Values
	}
}

// chosen is an output to write, and its form.
type chosen struct {
	output
	binary bool
}

// choose returns the outputs to write. If the request names none, these are prediction, prediction_std and, for classes,
// probability.
func (r *Request) choose(sig *Signature, into []chosen) ([]chosen, error) {
	if len(r.Outputs) == 0 {
		into = append(into, chosen{prediction, r.BinaryOutputs}, chosen{predictionStd, r.BinaryOutputs})
		if sig.Classes {
			into = append(into, chosen{probability, r.BinaryOutputs})
		}
		return into, nil
	}
	for _, w := range r.Outputs {
		o, found := output(0), false
		for int(o) < len(outputNames) {
			if found = outputNames[o] == w.Name; found {
				break
			}
			o++
		}
		switch {
		case !found:
			return nil, invalid("ask for some of "+strings.Join(sig.outputNames(), ", "), "the model has no output %s", quoted(w.Name))
		case o == probability && !sig.Classes:
			return nil, invalid("ask for \"prediction\"", "the model predicts numbers, not classes, so it has no output \"probability\"")
		}
		into = append(into, chosen{o, w.Binary})
	}
	return into, nil
}

func (s *Signature) outputNames() []string {
	outputs := s.outputs()
	names := make([]string, len(outputs))
	for i, t := range outputs {
		names[i] = t.Name
	}
	return names
}

// Depth returns how much must be computed to answer the request. It returns an *Error if the model lacks an output that the
// request names.
func (r *Request) Depth(sig *Signature) (Depth, error) {
	var room [maxOutputs]chosen
	wanted, err := r.choose(sig, room[:0])
	depth := Values
	for _, w := range wanted {
		depth = max(depth, w.depth())
	}
	return depth, err
}

// shape returns the shape of an output.
func (s *Signature) shape(o output, rows int64) []int64 {
	if o < attributionMean {
		return []int64{rows, int64(len(s.Outputs))}
	}
	return []int64{rows, int64(len(s.Outputs)), int64(len(s.Players))}
}

// Results hold the answers of a model for the rows of a request. Arrays are flat, with the last axis fastest. Arrays that
// the Depth of the request does not need may be nil.
type Results struct {
	Rows int
	Game string // whose Shapley values the attributions are; "" if there are none

	Prediction, Probability, Base []float64 // [rows, outputs]
	PredictionStd                 []float64 // [rows, outputs]; nil if it is not known
	Mean                          []float64 // [rows, outputs, players]
	Std                           []float64 // [rows, outputs, players]; nil if spread is not known
	ModelStd                      []float64 // [rows, outputs, players]; nil if doubt is not known
	Bags                          int       // number of networks behind ModelStd
	Observed                      []bool    // [rows, players]; nil if all are
}

// check returns an error if the results lack an output. That is a fault of the server, not of the request.
func (res *Results) check(sig *Signature, o output) error {
	length := func(want int, array []float64) error {
		if len(array) != want {
			return fmt.Errorf("results of %d rows have %d numbers for %s, not %d", res.Rows, len(array), outputNames[o], want)
		}
		return nil
	}
	known := func(want int, array []float64) error {
		if array == nil {
			return nil
		}
		return length(want, array)
	}
	cells, players := res.Rows*len(sig.Outputs), len(sig.Players)
	switch o {
	case prediction:
		return length(cells, res.Prediction)
	case predictionStd:
		return known(cells, res.PredictionStd)
	case probability:
		return length(cells, res.Probability)
	case base:
		return length(cells, res.Base)
	default:
		if o == pPositive && res.Observed != nil && len(res.Observed) != res.Rows*players {
			return fmt.Errorf("results of %d rows have %d observed marks, not %d", res.Rows, len(res.Observed), res.Rows*players)
		}
		if err := length(cells*players, res.Mean); err != nil {
			return err
		}
		return known(cells*players, res.Std)
	}
}

// numbers returns an output of the results as it is sent. Numbers that are not known are NaN.
func (res *Results) numbers(o output, sig *Signature, z float64, into []float32) []float32 {
	switch o {
	case prediction:
		return narrow(into, res.Prediction)
	case predictionStd:
		return narrowOrNaN(into, res.PredictionStd, len(res.Prediction))
	case probability:
		return narrow(into, res.Probability)
	case base:
		return narrow(into, res.Base)
	case attributionMean:
		return narrow(into, res.Mean)
	case attributionStd:
		return narrowOrNaN(into, res.Std, len(res.Mean))
	case attributionModelStd:
		return narrowOrNaN(into, res.ModelStd, len(res.Mean))
	case attributionLower, attributionUpper:
		e := res.explained(z)
		deviations, reach := e.Deviations(), e.Reach()
		if deviations == nil {
			return narrowOrNaN(into, nil, len(res.Mean))
		}
		if o == attributionLower {
			reach = -reach
		}
		for i, s := range deviations {
			into = append(into, float32(res.Mean[i]+reach*s))
		}
	case pPositive:
		players, outputs := len(sig.Players), len(sig.Outputs)
		for i, p := range res.explained(z).Positives() {
			if len(res.Observed) > 0 && !res.Observed[i/(players*outputs)*players+i%players] {
				p = math.NaN()
			}
			into = append(into, float32(p))
		}
	}
	return into
}

// explained builds the part of an explanation that intervals need.
func (res *Results) explained(z float64) *explain.Explanation {
	return &explain.Explanation{Z: z, Mean: res.Mean, Std: res.Std, ModelStd: res.ModelStd, Bags: res.Bags}
}

// narrowOrNaN returns n times NaN if the numbers are not known.
func narrowOrNaN(into []float32, from []float64, n int) []float32 {
	if from == nil {
		return append(into, slices.Repeat([]float32{float32(math.NaN())}, n)...)
	}
	return narrow(into, from)
}

func narrow(into []float32, from []float64) []float32 {
	for _, v := range from {
		into = append(into, float32(v))
	}
	return into
}

func appendRaw(raw []byte, values []float32) []byte {
	start := len(raw)
	raw = slices.Grow(raw, 4*len(values))[:start+4*len(values)]
	for i, v := range values {
		binary.LittleEndian.PutUint32(raw[start+4*i:], math.Float32bits(v))
	}
	return raw
}

// appendData writes numbers as JSON. NaN and infinities become null.
func appendData(text []byte, values []float32) []byte {
	text = append(text, '[')
	for i, v := range values {
		if i > 0 {
			text = append(text, ',')
		}
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			text = append(text, "null"...)
		} else {
			text = strconv.AppendFloat(text, float64(v), 'g', -1, 32)
		}
	}
	return append(text, ']')
}

// plan chooses and checks the outputs, and counts the numbers of all outputs and of the largest.
func (r *Request) plan(sig *Signature, res *Results, room []chosen) (wanted []chosen, all, largest int, err error) {
	wanted, err = r.choose(sig, room)
	if err != nil {
		return nil, 0, 0, err
	}
	for _, w := range wanted {
		if err := res.check(sig, w.output); err != nil {
			return nil, 0, 0, err
		}
		size := res.Rows * len(sig.Outputs)
		if w.output >= attributionMean {
			size *= len(sig.Players)
		}
		all, largest = all+size, max(largest, size)
	}
	return wanted, all, largest, nil
}

// answered counts the numbers in an answer: in JSON, in binary data, and in the largest output.
func (r *Request) answered(sig *Signature, rows int) (text, raw, largest int64) {
	var room [maxOutputs]chosen
	wanted, _ := r.choose(sig, room[:0]) // an output that is not there is AppendHTTP's error
	for _, w := range wanted {
		n := int64(rows) * int64(len(sig.Outputs))
		if w.output >= attributionMean {
			n *= int64(len(sig.Players))
		}
		if largest = max(largest, n); w.binary {
			raw += n
		} else {
			text += n
		}
	}
	return text, raw, largest
}

// HTTPBytes returns an upper bound of the memory of AppendHTTP for so many rows. A number in JSON has up to 16 bytes, and a
// growing body may need twice its size.
func (r *Request) HTTPBytes(sig *Signature, rows int) int64 {
	text, raw, largest := r.answered(sig, rows)
	return 3*(16*text+4*raw) + 4*largest
}

// GRPCBytes returns an upper bound of the memory of GRPC for so many rows.
func (r *Request) GRPCBytes(sig *Signature, rows int) int64 {
	text, raw, largest := r.answered(sig, rows)
	return 4 * (text + raw + largest)
}

// AppendHTTP appends the body of the response: JSON, then the outputs that are wanted as binary data. jsonLength is the
// number of bytes of JSON, for the header Inference-Header-Content-Length, or −1 if there is no binary data.
func (r *Request) AppendHTTP(into []byte, sig *Signature, res *Results) (body []byte, jsonLength int, err error) {
	var room [maxOutputs]chosen
	wanted, _, largest, err := r.plan(sig, res, room[:0])
	if err != nil {
		return into, -1, err
	}
	values := make([]float32, 0, largest)
	start, binaries := len(into), false
	into = append(into, `{"model_name":`...)
	into = appendText(into, sig.Name)
	into = append(into, `,"model_version":`...)
	into = appendText(into, sig.Version)
	if r.ID != "" {
		into = append(into, `,"id":`...)
		into = appendText(into, r.ID)
	}
	if res.Game != "" {
		into = append(into, `,"parameters":{"game":`...)
		into = append(appendText(into, res.Game), '}')
	}
	into = append(into, `,"outputs":[`...)
	for i, w := range wanted {
		if i > 0 {
			into = append(into, ',')
		}
		into = append(into, `{"name":"`...)
		into = append(into, outputNames[w.output]...)
		into = append(into, `","datatype":"FP32","shape":[`...)
		size := 1
		for k, n := range sig.shape(w.output, int64(res.Rows)) {
			if k > 0 {
				into = append(into, ',')
			}
			into = strconv.AppendInt(into, n, 10)
			size *= int(n)
		}
		if w.binary {
			binaries = true
			into = append(into, `],"parameters":{"binary_data_size":`...)
			into = strconv.AppendInt(into, int64(4*size), 10)
			into = append(into, `}}`...)
			continue
		}
		into = append(into, `],"data":`...)
		values = res.numbers(w.output, sig, r.Z, values[:0])
		into = append(appendData(into, values), '}')
	}
	into = append(into, `]}`...)
	if !binaries {
		return into, -1, nil
	}
	jsonLength = len(into) - start
	for _, w := range wanted {
		if w.binary {
			values = res.numbers(w.output, sig, r.Z, values[:0])
			into = appendRaw(into, values)
		}
	}
	return into, jsonLength, nil
}

// appendText appends a JSON string.
func appendText(into []byte, text string) []byte {
	quoted, _ := json.Marshal(text) // texts have no error
	return append(into, quoted...)
}

// GRPC returns the response message. All its outputs are raw.
func (r *Request) GRPC(sig *Signature, res *Results) (*inference.ModelInferResponse, error) {
	var room [maxOutputs]chosen
	wanted, all, largest, err := r.plan(sig, res, room[:0])
	if err != nil {
		return nil, err
	}
	m := &inference.ModelInferResponse{
		ModelName: sig.Name, ModelVersion: sig.Version, Id: r.ID,
		Outputs:           make([]*inference.ModelInferResponse_InferOutputTensor, len(wanted)),
		RawOutputContents: make([][]byte, len(wanted)),
	}
	if res.Game != "" {
		m.Parameters = map[string]*inference.InferParameter{"game": {ParameterChoice: &inference.InferParameter_StringParam{StringParam: res.Game}}}
	}
	tensors := make([]inference.ModelInferResponse_InferOutputTensor, len(wanted))
	raw := make([]byte, 0, 4*all)
	values := make([]float32, 0, largest)
	for i, w := range wanted {
		values = res.numbers(w.output, sig, r.Z, values[:0])
		start := len(raw)
		raw = appendRaw(raw, values)
		t := &tensors[i]
		t.Name, t.Datatype, t.Shape = outputNames[w.output], "FP32", sig.shape(w.output, int64(res.Rows))
		m.Outputs[i], m.RawOutputContents[i] = t, raw[start:len(raw):len(raw)]
	}
	return m, nil
}
