package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/psi-shapley/psi/serve/internal/oip/inference"
)

// tolerance of a prediction: passes of other sizes add in another order.
const tolerance = 1e-4

// wrongError is an answer that is not right.
type wrongError struct{ cause error }

func (w *wrongError) Error() string { return w.cause.Error() }

// sendChecked sends a request, checks the answer and returns which model gave it.
func (c *client) sendChecked(ctx context.Context, r *request) (model int, err error) {
	a, err := c.send(ctx, r)
	if err != nil {
		return 0, err
	}
	if model, err = r.check(a); err != nil {
		return 0, &wrongError{fmt.Errorf("%s, %d rows: %w", r.form, r.rows, err)}
	}
	return model, nil
}

// check sees that an answer is right: its predictions are those of one model, whose place it returns, and its attributions
// sum to them.
func (r *request) check(a *answer) (model int, err error) {
	outputs, err := a.read(r.form)
	if err != nil {
		return 0, err
	}
	given := outputs["prediction"]
	model = slices.IndexFunc(r.right, func(right []float64) bool { return near(given, right) })
	if model < 0 {
		return 0, fmt.Errorf("the predictions %.6g are those of neither model", given[:min(3, len(given))])
	}
	if !r.whole {
		return model, nil
	}
	base, mean := outputs["base"], outputs["attribution_mean"]
	if len(base) != len(given) || len(mean) == 0 || len(mean)%len(given) != 0 {
		return 0, fmt.Errorf("%d predictions have %d bases and %d attributions", len(given), len(base), len(mean))
	}
	players := len(mean) / len(given)
	for i, p := range given {
		sum := base[i]
		for _, m := range mean[i*players : (i+1)*players] {
			sum += m
		}
		if math.Abs(sum-p) > 10*tolerance*(1+math.Abs(p)) {
			return 0, fmt.Errorf("row %d: base and attributions sum to %g, but the prediction is %g", i, sum, p)
		}
	}
	return model, nil
}

func near(a, b []float64) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !(math.Abs(a[i]-b[i]) <= tolerance*(1+math.Abs(b[i]))) {
			return false
		}
	}
	return true
}

// read finds the outputs of an answer by their names.
func (a *answer) read(f form) (map[string][]float64, error) {
	switch f {
	case gRPC:
		return readMessage(a.body)
	case rowsForm:
		return readRows(a.body)
	}
	return a.readTensors()
}

func readMessage(body []byte) (map[string][]float64, error) {
	var m inference.ModelInferResponse
	if err := proto.Unmarshal(body, &m); err != nil {
		return nil, err
	}
	if len(m.RawOutputContents) != len(m.Outputs) {
		return nil, errors.New("the answer has no raw tensors")
	}
	outputs := map[string][]float64{}
	for i, o := range m.Outputs {
		if o.Datatype != "FP32" {
			return nil, fmt.Errorf("the output %s is %s", o.Name, o.Datatype)
		}
		outputs[o.Name] = floats(m.RawOutputContents[i])
	}
	return outputs, nil
}

func floats(b []byte) []float64 {
	list := make([]float64, len(b)/4)
	for i := range list {
		list[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])))
	}
	return list
}

func (a *answer) readTensors() (map[string][]float64, error) {
	var m struct {
		Outputs []struct {
			Name, Datatype string
			Data           []float64
			Parameters     struct {
				Size *int `json:"binary_data_size"`
			}
		}
	}
	head, behind := a.body, []byte(nil)
	if a.head >= 0 {
		head, behind = a.body[:a.head], a.body[a.head:]
	}
	if err := json.Unmarshal(head, &m); err != nil {
		return nil, err
	}
	outputs := map[string][]float64{}
	for _, o := range m.Outputs {
		outputs[o.Name] = o.Data
		if size := o.Parameters.Size; size != nil {
			if *size > len(behind) || o.Datatype != "FP32" {
				return nil, fmt.Errorf("the output %s is %s of %d bytes, of which %d are there", o.Name, o.Datatype, *size, len(behind))
			}
			outputs[o.Name], behind = floats(behind[:*size]), behind[*size:]
		}
	}
	return outputs, nil
}

// readRows reads a document of /explain.
func readRows(body []byte) (map[string][]float64, error) {
	var m struct {
		Rows []struct {
			Outputs []struct {
				Base, Prediction float64
				Attributions     []struct{ Mean float64 }
			}
		}
	}
	if err := json.Unmarshal(body, &m); err != nil {
		return nil, err
	}
	outputs := map[string][]float64{}
	for _, row := range m.Rows {
		for _, o := range row.Outputs {
			outputs["prediction"] = append(outputs["prediction"], o.Prediction)
			outputs["base"] = append(outputs["base"], o.Base)
			for _, a := range o.Attributions {
				outputs["attribution_mean"] = append(outputs["attribution_mean"], a.Mean)
			}
		}
	}
	return outputs, nil
}
