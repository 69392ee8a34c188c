package oip

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/psi-shapley/psi/serve/internal/oip/inference"
	"github.com/psi-shapley/psi/table"
	"gonum.org/v1/gonum/stat/distuv"
	"google.golang.org/protobuf/proto"
)

// two is a model of two classes' scores and two players.
func two() *Signature {
	return &Signature{
		Name: `a "model"`, Version: "3", Versions: []string{"2", "3"},
		Columns: []Column{{Name: "x", Kind: table.Number}, {Name: "when", Kind: table.Time}},
		Players: []string{"x", "when"}, Outputs: []string{"no", "yes"}, Classes: true,
		Parameters: map[string]string{"head": "exact"},
	}
}

func someResults() *Results {
	return &Results{
		Rows:       2,
		Prediction: []float64{0.5, -0.25, 1.5, math.NaN()}, PredictionStd: []float64{1, 2, 3, 4},
		Probability: []float64{0.25, 0.75, 0.5, 0.5}, Base: []float64{-1, 1, -1, 1},
		Mean: []float64{1, -2, 0.5, 0, 3, 0, -0.5, 0}, Std: []float64{0.5, 1, 0.25, 2, 1, 0, 0.5, 0},
		Observed: []bool{true, true, true, false},
	}
}

func TestResponseInJSON(t *testing.T) {
	r := &Request{ID: "q\u20281", Z: 2, Outputs: []Wanted{{Name: "prediction"}, {Name: "attribution_lower"}}}
	body, length, err := r.AppendHTTP([]byte("before"), two(), someResults())
	if err != nil || length != -1 {
		t.Fatal(length, err)
	}
	want := `before{"model_name":"a \"model\"","model_version":"3","id":"q\u20281","outputs":[` +
		`{"name":"prediction","datatype":"FP32","shape":[2,2],"data":[0.5,-0.25,1.5,null]},` +
		`{"name":"attribution_lower","datatype":"FP32","shape":[2,2,2],"data":[0,-4,0,-4,1,0,-1.5,0]}]}`
	if string(body) != want {
		t.Errorf("got  %s\nwant %s", body, want)
	}
}

func TestResponseInBinary(t *testing.T) {
	r := &Request{Z: 2, Outputs: []Wanted{{"base", true}, {"probability", false}, {"prediction", true}}}
	body, length, err := r.AppendHTTP([]byte("before"), two(), someResults())
	if err != nil {
		t.Fatal(err)
	}
	head := `{"model_name":"a \"model\"","model_version":"3","outputs":[` +
		`{"name":"base","datatype":"FP32","shape":[2,2],"parameters":{"binary_data_size":16}},` +
		`{"name":"probability","datatype":"FP32","shape":[2,2],"data":[0.25,0.75,0.5,0.5]},` +
		`{"name":"prediction","datatype":"FP32","shape":[2,2],"parameters":{"binary_data_size":16}}]}`
	want := "before" + head +
		"\x00\x00\x80\xbf\x00\x00\x80\x3f\x00\x00\x80\xbf\x00\x00\x80\x3f" + // −1, 1, −1, 1
		"\x00\x00\x00\x3f\x00\x00\x80\xbe\x00\x00\xc0\x3f\x00\x00\xc0\x7f" // 0.5, −0.25, 1.5, NaN
	if length != len(head) || string(body) != want {
		t.Errorf("%d bytes of JSON\ngot  %q\nwant %q", length, body, want)
	}
}

// All outputs of a message, against numbers worked out here.
func TestResponseMessage(t *testing.T) {
	r := &Request{ID: "7", Z: 3}
	for _, name := range outputNames {
		r.Outputs = append(r.Outputs, Wanted{Name: name})
	}
	sig, res := two(), someResults()
	m, err := r.GRPC(sig, res)
	if err != nil {
		t.Fatal(err)
	}
	if m.GetModelName() != sig.Name || m.GetModelVersion() != "3" || m.GetId() != "7" {
		t.Errorf("%v", m)
	}
	want := map[string][]float64{
		"prediction": res.Prediction, "prediction_std": res.PredictionStd, "probability": res.Probability, "base": res.Base,
		"attribution_mean": res.Mean, "attribution_std": res.Std,
		"attribution_lower": {-0.5, -5, -0.25, -6, 0, 0, -2, 0}, "attribution_upper": {2.5, 1, 1.25, 6, 6, 0, 1, 0},
	}
	want["attribution_model_std"] = slices.Repeat([]float64{math.NaN()}, 8) // it is not known
	phi := distuv.UnitNormal.CDF
	want["p_positive"] = []float64{phi(2), phi(-2), phi(2), 0.5, phi(3), math.NaN(), phi(-1), math.NaN()}
	for i, name := range outputNames {
		out := m.GetOutputs()[i]
		shape := []int64{2, 2}
		if len(want[name]) == 8 {
			shape = []int64{2, 2, 2}
		}
		if out.GetName() != name || out.GetDatatype() != "FP32" || !slices.Equal(out.GetShape(), shape) {
			t.Errorf("%v", out)
		}
		raw := m.GetRawOutputContents()[i]
		if len(raw) != 4*len(want[name]) {
			t.Fatalf("%s has %d bytes", name, len(raw))
		}
		for k, v := range want[name] {
			bits := uint32(raw[4*k]) | uint32(raw[4*k+1])<<8 | uint32(raw[4*k+2])<<16 | uint32(raw[4*k+3])<<24
			got := float64(math.Float32frombits(bits))
			if math.IsNaN(v) != math.IsNaN(got) || math.Abs(got-v) > 1e-7*math.Max(1, math.Abs(v)) {
				t.Errorf("%s[%d] = %v, want %v", name, k, got, v)
			}
		}
	}
}

func TestDepth(t *testing.T) {
	regression := two()
	regression.Classes = false
	for _, c := range []struct {
		sig     *Signature
		outputs string
		want    Depth
		err     string
	}{
		{two(), "prediction base", Values, ""},
		{two(), "base prediction_std", Spread, ""},
		{two(), "probability", Spread, ""},
		{two(), "prediction attribution_mean", Attributions, ""},
		{two(), "p_positive base", Doubt, ""},
		{two(), "attribution_std", Attributions, ""},
		{two(), "", Spread, ""},
		{regression, "", Spread, ""},
		{regression, "probability", 0, "predicts numbers"},
		{two(), "predictions", 0, "prediction, prediction_std, probability, base, attribution_mean"},
		{regression, "y", 0, "prediction, prediction_std, base, attribution_mean"},
	} {
		r := &Request{}
		for name := range strings.FieldsSeq(c.outputs) {
			r.Outputs = append(r.Outputs, Wanted{Name: name})
		}
		got, err := r.Depth(c.sig)
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) || err == nil && got != c.want {
			t.Errorf("%q: depth %d, %v; want %d, %q", c.outputs, got, err, c.want, c.err)
		}
	}
}

func TestOutputsThatNobodyNamed(t *testing.T) {
	regression := two()
	regression.Classes = false
	for sig, want := range map[*Signature][]string{two(): {"prediction", "prediction_std", "probability"}, regression: {"prediction", "prediction_std"}} {
		m, err := (&Request{}).GRPC(sig, someResults())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, out := range m.GetOutputs() {
			got = append(got, out.GetName())
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Results without what was asked for are the server's mistake, and are not written as if they were there.
func TestResultsThatLackAnOutput(t *testing.T) {
	r := &Request{Outputs: []Wanted{{Name: "attribution_mean"}}}
	for what, lack := range map[string]func(res *Results){
		"without means":           func(res *Results) { res.Mean = nil },
		"with too few deviations": func(res *Results) { res.Std = res.Std[1:] },
	} {
		res := someResults()
		lack(res)
		if _, err := r.GRPC(two(), res); err == nil {
			t.Errorf("a message was made of results %s", what)
		}
		if _, _, err := r.AppendHTTP(nil, two(), res); err == nil {
			t.Errorf("a body was made of results %s", what)
		}
	}
}

// Deviations that are not known, as those of imported trees, are NaN, and so is all that follows from them.
func TestUnknownDeviations(t *testing.T) {
	unknown := []string{"prediction_std", "attribution_std", "attribution_model_std", "attribution_lower", "attribution_upper", "p_positive"}
	r := &Request{Z: 2, Outputs: []Wanted{{Name: "attribution_mean"}}}
	for _, name := range unknown {
		r.Outputs = append(r.Outputs, Wanted{Name: name})
	}
	res := someResults()
	res.PredictionStd, res.Std, res.ModelStd, res.Game = nil, nil, nil, "path-dependent"
	m, err := r.GRPC(two(), res)
	if err != nil {
		t.Fatal(err)
	}
	for i, out := range m.GetOutputs() {
		n := 4
		for _, size := range out.GetShape() {
			n *= int(size)
		}
		raw := m.GetRawOutputContents()[i]
		if len(raw) != n {
			t.Fatalf("%s has %d bytes for the shape %v", out.GetName(), len(raw), out.GetShape())
		}
		for at := 0; at < n; at += 4 {
			v := math.Float32frombits(binary.LittleEndian.Uint32(raw[at:]))
			if nan := v != v; nan != slices.Contains(unknown, out.GetName()) {
				t.Errorf("%s has %v", out.GetName(), v)
			}
		}
	}
	if got := m.GetParameters()["game"].GetStringParam(); got != "path-dependent" {
		t.Errorf("the message has the game %q", got)
	}
	body, _, err := r.AppendHTTP(nil, two(), res)
	if err != nil || !bytes.Contains(body, []byte(`"parameters":{"game":"path-dependent"},"outputs":[`)) || !bytes.Contains(body, []byte(`"name":"prediction_std","datatype":"FP32","shape":[2,2],"data":[null,null,null,null]`)) {
		t.Errorf("%v: %s", err, body)
	}
}

func TestMetadata(t *testing.T) {
	text, err := two().MetadataHTTP()
	if err != nil {
		t.Fatal(err)
	}
	want := `{"name":"a \"model\"","versions":["2","3"],"platform":"psi","inputs":[{"name":"x","datatype":"FP64","shape":[-1]},` +
		`{"name":"when","datatype":"INT64","shape":[-1]}],"outputs":[{"name":"prediction","datatype":"FP32","shape":[-1,2]},`
	if !bytes.HasPrefix(text, []byte(want)) {
		t.Errorf("%s", text)
	}
	var document struct {
		Outputs    []struct{ Name string }
		Parameters struct {
			Players, Outputs []string
			Head             string
			Rows, Observed   struct{ Shape []int }
			Columns          []struct {
				Name, Kind string
				Datatypes  []string
			}
		}
	}
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	p := document.Parameters
	if len(document.Outputs) != 10 || !slices.Equal(p.Players, []string{"x", "when"}) || !slices.Equal(p.Outputs, []string{"no", "yes"}) || p.Head != "exact" ||
		!slices.Equal(p.Rows.Shape, []int{-1, 2}) || !slices.Equal(p.Observed.Shape, []int{-1, 2}) || p.Columns[1].Kind != "time" {
		t.Errorf("%s", text)
	}

	m, err := two().MetadataGRPC()
	if err != nil {
		t.Fatal(err)
	}
	if got := m.GetProperties(); got["players"] != `["x","when"]` || got["outputs"] != `["no","yes"]` || got["head"] != "exact" {
		t.Errorf("%v", got)
	}
	if len(m.GetOutputs()) != 10 || !slices.Equal(m.GetOutputs()[9].GetShape(), []int64{-1, 2, 2}) || m.GetInputs()[1].GetDatatype() != "INT64" {
		t.Errorf("%v", m)
	}

	config, err := adult().Config()
	if err != nil {
		t.Fatal(err)
	}
	if config.GetInput()[1].GetDataType() != inference.DataType_TYPE_STRING || config.GetOutput()[0].GetDataType() != inference.DataType_TYPE_FP32 ||
		config.GetParameters()["players"].GetStringValue() != `["age","job","hours","member","city"]` {
		t.Errorf("%v", config)
	}
	if _, err := proto.Marshal(config); err != nil {
		t.Error(err)
	}
}

// Every datatype that metadata names for a kind is taken.
func TestMetadataTellsTheTruth(t *testing.T) {
	for _, kind := range []table.Kind{table.Number, table.Category, table.Boolean, table.Time} {
		for _, name := range datatypesOf(kind) {
			datatype, ok := datatypeOf(name)
			if !ok {
				t.Fatal(name)
			}
			tensor := Tensor{Name: "x", Datatype: datatype, Shape: []int64{1}, elements: 1, raw: make([]byte, datatype.size())}
			if datatype == Bytes {
				tensor.raw = []byte("\x0a\x00\x00\x002001-02-03")
				if kind == table.Number || kind == table.Boolean {
					tensor.raw = []byte("\x01\x00\x00\x001")
				}
			}
			r := &Request{Inputs: []Tensor{tensor}}
			if _, err := r.Table(&Signature{Columns: []Column{{Name: "x", Kind: kind}}}, 1, nil); err != nil {
				t.Errorf("%s for a %s: %v", name, kind, err)
			}
		}
	}
}
