package serve

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/serve/internal/oip/inference"
	"github.com/psi-shapley/psi/table"
)

// truth is what the model says of rows when it is asked directly.
func truth(t *testing.T, m *psi.Model, rows *table.Table, unknown ...string) *explain.Explanation {
	t.Helper()
	e, err := m.Explain(t.Context(), rows.Source(), psi.ExplainOptions{Z: 2, Unknown: unknown})
	check(t, err)
	return e
}

// All ways of asking get what the model says.
func TestAnswersAreTheModels(t *testing.T) {
	r := start(t, nil)
	rows := people(70, 2)
	e := truth(t, r.model, rows)
	labels := make([]any, e.Rows)
	for i, p := range e.Probability {
		labels[i] = "no"
		if p >= .5 {
			labels[i] = "yes"
		}
	}
	predicted := func(what string, answer map[string]any) {
		t.Helper()
		if sprint(answer["predictions"]) != sprint(labels) {
			t.Errorf("%s: %v, want %v", what, answer["predictions"], labels)
		}
	}
	probable := func(what string, answer map[string]any) {
		t.Helper()
		predicted(what, answer)
		near(t, what, numbers(t, answer["probabilities"]), e.Probability)
	}
	attributed := func(what string, list any) {
		t.Helper()
		var means, lowers []float64
		for _, row := range list.([]any) {
			output := row.(map[string]any)["outputs"].([]any)[0].(map[string]any)
			for _, a := range output["attributions"].([]any) {
				means = append(means, a.(map[string]any)["mean"].(float64))
				lowers = append(lowers, a.(map[string]any)["lower"].(float64))
			}
		}
		near(t, what, means, e.Mean)
		var want []float64
		for i, mean := range e.Mean {
			want = append(want, mean-eightBags*e.ModelStd[i])
		}
		near(t, what+", lower", lowers, want)
	}
	for name, form := range map[string]any{"objects": objects(rows), "lists": lists(rows)} {
		attributed("/explain of "+name, r.asked(t, "/explain", map[string]any{"rows": form, "z": 2})["rows"])
		probable("/predict of "+name, r.asked(t, "/predict?model=shop", map[string]any{"rows": form}))
		probable(":predict of "+name, r.asked(t, "/v1/models/shop:predict", map[string]any{"instances": form}))
		explained := r.asked(t, "/v1/models/shop%3Aexplain", map[string]any{"instances": form, "parameters": map[string]any{"z": 2}})
		attributed(":explain of "+name, explained["explanations"])
		predicted(":explain of "+name, explained)
		probable("/invocations of instances as "+name, r.asked(t, "/invocations", map[string]any{"instances": form}))
		probable("/invocations of inputs as "+name, r.asked(t, "/invocations", map[string]any{"inputs": form}))
	}
	probable("/invocations of records", r.asked(t, "/invocations", map[string]any{"dataframe_records": objects(rows)}))
	probable("/invocations of a split", r.asked(t, "/invocations", map[string]any{"dataframe_split": map[string]any{"columns": []string{"age", "town", "member", "day"}, "data": lists(rows)}}))
	byColumn := map[string][]any{}
	for _, row := range objects(rows) {
		for name, v := range row {
			byColumn[name] = append(byColumn[name], v)
		}
	}
	probable("/invocations by column", r.asked(t, "/invocations", map[string]any{"inputs": byColumn}))
	var csv bytes.Buffer
	write(t, &csv, table.CSV, rows)
	status, answer, _ := r.sent(t, http.MethodPost, "/invocations", csv.Bytes(), "Content-Type", "text/csv")
	var object map[string]any
	check(t, json.Unmarshal(answer, &object))
	if status != http.StatusOK {
		t.Fatalf("%s", answer)
	}
	probable("/invocations of CSV", object)
}

// write writes a table.
func write(t *testing.T, w *bytes.Buffer, format table.Format, rows *table.Table) {
	t.Helper()
	sink, err := table.NewSink(w, format)
	check(t, err)
	check(t, sink.Write(t.Context(), rows))
	check(t, sink.Close())
}

// Arrow goes in and out in chunks, whose rows are numbered through.
func TestArrowInAndOut(t *testing.T) {
	r := start(t, func(c *Config) { c.MaxRows = 2500 })
	rows := people(2500, 3)
	e := truth(t, r.model, rows)
	var in bytes.Buffer
	write(t, &in, table.Arrow, rows)
	for layout, column := range map[string]string{"wide": "age", "long": "mean"} {
		status, answer, header := r.sent(t, http.MethodPost, "/explain?layout="+layout, in.Bytes(), "Content-Type", arrowType)
		if status != http.StatusOK || header.Get("Content-Type") != arrowType {
			t.Fatalf("%d %s", status, answer)
		}
		source, err := table.OpenReader(bytes.NewReader(answer), table.Arrow, table.Options{})
		check(t, err)
		out, err := table.ReadAll(context.Background(), source)
		check(t, err)
		var want []float64
		for i, mean := range e.Mean {
			if layout == "long" || i%4 == 0 {
				want = append(want, mean)
			}
		}
		near(t, layout, out.Column(column).Numbers, want)
		last := out.Column("row").Numbers
		if last[len(last)-1] != 2499 {
			t.Errorf("%s: the last row is number %v", layout, last[len(last)-1])
		}
	}
	// A stream that is cut off is no whole table: it is refused, or the answer ends without an end.
	response, err := http.Post(r.url+"/explain", arrowType, bytes.NewReader(in.Bytes()[:in.Len()/3]))
	if err != nil {
		return // broken off before it was begun
	}
	defer response.Body.Close()
	if _, err := io.ReadAll(response.Body); err == nil && response.StatusCode == http.StatusOK {
		t.Error("a stream that is cut off is answered as if it were whole")
	}
}

// tensors of rows, as a client of gRPC sends them.
func tensors(rows *table.Table) ([]*inference.ModelInferRequest_InferInputTensor, [][]byte) {
	var inputs []*inference.ModelInferRequest_InferInputTensor
	var raw [][]byte
	n := int64(rows.Rows())
	for _, c := range rows.Columns[:4] {
		in := &inference.ModelInferRequest_InferInputTensor{Name: c.Name, Datatype: "FP64", Shape: []int64{n}}
		var data []byte
		for i := range rows.Rows() {
			switch {
			case c.Kind == table.Category:
				in.Datatype = "BYTES"
				data = append(binary.LittleEndian.AppendUint32(data, uint32(len(c.Text(i)))), c.Text(i)...)
			case !c.Observed[i]:
				data = binary.LittleEndian.AppendUint64(data, math.Float64bits(math.NaN()))
			default:
				data = binary.LittleEndian.AppendUint64(data, math.Float64bits(c.Numbers[i]))
			}
		}
		inputs, raw = append(inputs, in), append(raw, data)
	}
	return inputs, raw
}

// eightBags is how many deviations over 8 bags have as much probability as 2 of a normal distribution: the quantile of Student's t with
// seven degrees of freedom.
const eightBags = 2.428805130403569

// The Open Inference Protocol: each output by its name, over gRPC and HTTP, at each depth.
func TestOpenInferenceProtocol(t *testing.T) {
	r := start(t, nil)
	rows := people(65, 4)
	e := truth(t, r.model, rows)
	n := len(e.Mean)
	lower, upper, positive := make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range n {
		lower[i], upper[i] = e.Mean[i]-eightBags*e.ModelStd[i], e.Mean[i]+eightBags*e.ModelStd[i]
		if e.Observed[i] { // else it is NaN, which JSON has as null
			positive[i] = distuv.StudentsT{Sigma: 1, Nu: 7}.CDF(e.Mean[i] / e.ModelStd[i])
		}
	}
	want := map[string][]float64{
		"prediction": e.Prediction, "prediction_std": e.PredictionStd, "probability": e.Probability, "base": e.Base,
		"attribution_mean": e.Mean, "attribution_std": e.Std, "attribution_model_std": e.ModelStd, "attribution_lower": lower, "attribution_upper": upper,
		"p_positive": positive,
	}
	inputs, raw := tensors(rows)
	z := map[string]*inference.InferParameter{"z": {ParameterChoice: &inference.InferParameter_DoubleParam{DoubleParam: 2}}}
	for name := range want {
		answer, err := r.calls.ModelInfer(t.Context(), &inference.ModelInferRequest{
			ModelName: "shop", Id: "mine", Inputs: inputs, RawInputContents: raw, Parameters: z,
			Outputs: []*inference.ModelInferRequest_InferRequestedOutputTensor{{Name: name}},
		})
		check(t, err)
		if answer.Id != "mine" || answer.Outputs[0].Name != name {
			t.Fatalf("%v", answer)
		}
		var got []float64
		for data := answer.RawOutputContents[0]; len(data) > 0; data = data[4:] {
			v := float64(math.Float32frombits(binary.LittleEndian.Uint32(data)))
			if math.IsNaN(v) {
				v = 0
			}
			got = append(got, v)
		}
		near(t, "gRPC "+name, got, want[name])
	}
	var list []map[string]any
	for _, in := range inputs {
		var data []any
		for _, row := range objects(rows) {
			data = append(data, row[in.Name])
		}
		datatype := "BYTES"
		if in.Name == "age" {
			datatype = "FP64"
		} else if in.Name == "member" {
			datatype = "BOOL"
		}
		list = append(list, map[string]any{"name": in.Name, "datatype": datatype, "shape": []int{rows.Rows()}, "data": data})
	}
	var outputs []map[string]string
	for name := range want {
		outputs = append(outputs, map[string]string{"name": name})
	}
	answer := r.asked(t, "/v2/models/shop/versions/1/infer", map[string]any{"inputs": list, "outputs": outputs, "parameters": map[string]any{"z": 2}})
	for _, output := range answer["outputs"].([]any) {
		o := output.(map[string]any)
		near(t, "HTTP "+o["name"].(string), numbers(t, o["data"]), want[o["name"].(string)])
	}
}

// A stream's requests are answered one by one; one that is wrong does not end it.
func TestStreamedCalls(t *testing.T) {
	r := start(t, nil)
	stream, err := r.calls.ModelStreamInfer(t.Context())
	check(t, err)
	inputs, raw := tensors(people(3, 5))
	for _, name := range []string{"shop", "none", "shop"} {
		check(t, stream.Send(&inference.ModelInferRequest{ModelName: name, Inputs: inputs, RawInputContents: raw}))
		answer, err := stream.Recv()
		check(t, err)
		if failed := answer.ErrorMessage != ""; failed != (name == "none") {
			t.Errorf("%s: %q", name, answer.ErrorMessage)
		}
	}
	check(t, stream.CloseSend())
}

// The page's question: a cell taken for unknown is what psi explain --unknown says.
func TestUnknownColumns(t *testing.T) {
	r := start(t, func(c *Config) { c.UI = true })
	rows := people(1, 6)
	e := truth(t, r.model, rows, "town")
	answer := r.asked(t, "/explain?model=shop", map[string]any{"rows": objects(rows), "unknown": []string{"town"}})
	output := answer["rows"].([]any)[0].(map[string]any)["outputs"].([]any)[0].(map[string]any)
	near(t, "prediction", numbers(t, output["prediction"]), e.Prediction)
	if town := output["attributions"].([]any)[1].(map[string]any); town["observed"] != false || town["mean"] != 0.0 {
		t.Errorf("%v", town)
	}
	status, page, header := r.sent(t, http.MethodGet, "/ui", nil)
	if status != 200 || !strings.Contains(string(page), `id="live"`) || !strings.Contains(header.Get("Content-Security-Policy"), "frame-ancestors 'none'") {
		t.Errorf("the page: %d %v", status, header)
	}
	status, models, _ := r.sent(t, http.MethodGet, "/ui/models", nil)
	if status != 200 || !strings.Contains(string(models), `"Bath"`) {
		t.Errorf("its models: %d %s", status, models)
	}
}
