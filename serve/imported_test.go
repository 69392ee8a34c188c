package serve

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/internal/trees/treestest"
	"github.com/psi-shapley/psi/serve/internal/oip/inference"
	"github.com/psi-shapley/psi/table"
)

// imported is a model of XGBoost's, with rows and what that library says of them.
type imported struct {
	treestest.File

	file  []byte // as psi imports it
	model *psi.Model
}

// trees are the imported models that tests serve, by their names there. One was measured on rows.
var trees = sync.OnceValues(func() (map[string]*imported, error) {
	all := map[string]*imported{}
	for served, name := range map[string]string{"number": "number", "measured": "number", "gamma": "gamma", "two": "two classes", "three": "three classes"} {
		file, err := treestest.Find("..", "xgboost", name)
		if err != nil {
			return nil, err
		}
		all[served] = &imported{File: *file}
		if err := all[served].make(served == "measured"); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return all, nil
})

// make imports the trees, with targets that are off by up to 1 if they are to be measured.
func (m *imported) make(measured bool) error {
	read, err := psi.ReadTrees([]byte(m.Model), "")
	if err != nil {
		return err
	}
	o := psi.ImportOptions{Target: "y"}
	if measured {
		rows, y := m.Table(), make([]float64, len(m.Rows))
		for i := range y {
			y[i] = m.Raw[i][0] + math.Sin(float64(i))
		}
		t, err := table.New(append(rows.Columns, table.NumberColumn("y", y, nil))...)
		if err != nil {
			return err
		}
		o.Rows = t.Select(repeated(t.Rows(), 20)).Source()
	}
	if m.model, err = read.Import(context.Background(), o); err != nil {
		return err
	}
	directory, err := os.MkdirTemp("", "psi-serve")
	if err != nil {
		return err
	}
	defer os.RemoveAll(directory)
	path := filepath.Join(directory, "m.psi")
	if err := m.model.Save(path); err != nil {
		return err
	}
	m.file, err = os.ReadFile(path)
	return err
}

// repeated numbers rows several times.
func repeated(rows, times int) []int {
	list := make([]int, rows*times)
	for i := range list {
		list[i] = i % rows
	}
	return list
}

// objects are rows by their columns.
func (m *imported) objects(from, to int) []map[string]any {
	var list []map[string]any
	for _, row := range m.Rows[from:to] {
		o := map[string]any{}
		for j, name := range m.Columns {
			o[name] = row[j]
		}
		list = append(list, o)
	}
	return list
}

// truth is what the model says without a server.
func (m *imported) truth(t *testing.T, o psi.ExplainOptions) *explain.Explanation {
	t.Helper()
	o.Z = 2
	e, err := m.model.Explain(t.Context(), m.Table().Source(), o)
	check(t, err)
	return e
}

// startTrees runs a server of all imported models.
func startTrees(t *testing.T, change func(c *Config)) (*running, map[string]*imported) {
	t.Helper()
	all, err := trees()
	check(t, err)
	r := start(t, func(c *Config) {
		for name, m := range all {
			check(t, os.WriteFile(filepath.Join(c.Models[0], name+".psi"), m.file, 0o600))
		}
		if change != nil {
			change(c)
		}
	})
	return r, all
}

// attributed returns fields of all attributions of explained rows, in their order; null is NaN.
func attributed(t *testing.T, rows any, field string) (list []float64) {
	t.Helper()
	for _, row := range rows.([]any) {
		for _, output := range row.(map[string]any)["outputs"].([]any) {
			for _, a := range output.(map[string]any)["attributions"].([]any) {
				v, is := a.(map[string]any)[field].(float64)
				if !is {
					v = math.NaN()
				}
				list = append(list, v)
			}
		}
	}
	return list
}

func allNaN(list []float64) bool {
	for _, v := range list {
		if !math.IsNaN(v) {
			return false
		}
	}
	return len(list) > 0
}

// Imported trees are served as psi's own networks, on every route. What they do not know is null.
func TestImportedTreesOnJSONRoutes(t *testing.T) {
	r, all := startTrees(t, func(c *Config) { c.UI = true })
	for name, m := range all {
		e := m.truth(t, psi.ExplainOptions{})
		rows := m.objects(0, len(m.Rows))
		for c := range e.Outputs {
			for i := range m.Rows {
				if got, want := e.Prediction[i*len(e.Outputs)+c], m.Raw[i][c]; math.Abs(got-want) > 1e-5*(1+math.Abs(want)) {
					t.Fatalf("%s: psi predicts %v, and XGBoost %v", name, got, want)
				}
			}
		}
		explained := r.asked(t, "/explain", map[string]any{"model": name, "rows": rows, "z": 2})
		v1 := r.asked(t, "/v1/models/"+name+":explain", map[string]any{"instances": rows})
		if explained["game"] != "path-dependent" || v1["game"] != "path-dependent" || explained["head"] != "trees" || explained["interval"] != "none" {
			t.Errorf("%s: %v %v %v %v", name, explained["game"], v1["game"], explained["head"], explained["interval"])
		}
		near(t, name, attributed(t, explained["rows"], "mean"), e.Mean)
		near(t, name, attributed(t, v1["explanations"], "mean"), e.Mean)
		for _, field := range []string{"std", "lower", "upper", "spread_lower", "spread_upper", "p_positive", "p_top", "model_std"} {
			if !allNaN(attributed(t, explained["rows"], field)) || !allNaN(attributed(t, v1["explanations"], field)) {
				t.Errorf("%s: the answer has %s", name, field)
			}
		}
		p, err := m.model.Predict(t.Context(), m.Table().Source())
		check(t, err)
		for path, body := range map[string]map[string]any{
			"/predict":                        {"model": name, "rows": rows},
			"/v1/models/" + name + ":predict": {"instances": rows},
			"/invocations?model=" + name:      {"dataframe_records": rows},
		} {
			answer := r.asked(t, path, body)
			if p.Classes != nil {
				near(t, path, numbers(t, answer["probabilities"]), p.Probability)
				continue
			}
			near(t, path, numbers(t, answer["predictions"]), p.Mean)
			std, has := answer["prediction_std"]
			if has != (name == "measured") {
				t.Errorf("%s of %s has the standard deviations %v", path, name, std)
			}
			if has {
				near(t, path, numbers(t, std), p.Std)
				near(t, path, numbers(t, answer["range_std"]), p.RangeStd)
			}
		}
	}
	status, models, _ := r.sent(t, http.MethodGet, "/ui/models", nil)
	if status != 200 || strings.Count(string(models), `"head":"trees"`) != len(all) {
		t.Errorf("%d %s", status, models)
	}
}

// Requests that share a pass of imported trees get the answers to their own rows.
func TestImportedTreesSharePasses(t *testing.T) {
	r, all := startTrees(t, nil)
	m := all["two"]
	e := m.truth(t, psi.ExplainOptions{})
	var group sync.WaitGroup
	for i := range m.Rows {
		group.Go(func() {
			body, err := json.Marshal(map[string]any{"model": "two", "rows": m.objects(i, i+1)})
			if err != nil {
				t.Error(err)
				return
			}
			got, err := r.explained(body)
			if err != nil {
				t.Error(err)
				return
			}
			for d, mean := range got.Mean {
				if math.Abs(mean-e.Mean[i*len(e.Players)+d]) > 1e-6 {
					t.Errorf("row %d: %v", i, got.Mean)
				}
			}
		})
	}
	group.Wait()
}

// tensorsOf are the model's rows as tensors of HTTP.
func (m *imported) tensorsOf() []map[string]any {
	var list []map[string]any
	for j, name := range m.Columns {
		data, datatype := make([]any, len(m.Rows)), "FP64"
		for i, row := range m.Rows {
			data[i] = row[j]
			if _, text := row[j].(string); text {
				datatype = "BYTES"
			}
		}
		list = append(list, map[string]any{"name": name, "datatype": datatype, "shape": []int{len(m.Rows)}, "data": data})
	}
	return list
}

// The Open Inference Protocol has NaN for what trees do not know, null in JSON, and names the game.
func TestImportedTreesOnOpenInference(t *testing.T) {
	r, all := startTrees(t, nil)
	for name, m := range all {
		e := m.truth(t, psi.ExplainOptions{})
		unknown := make([]float64, len(e.Mean))
		for i := range unknown {
			unknown[i] = math.NaN()
		}
		want := map[string][]float64{
			"prediction": e.Link().Responses(e.Prediction), "base": e.Base, "attribution_mean": e.Mean, "attribution_std": unknown,
			"attribution_model_std": unknown, "attribution_lower": unknown, "attribution_upper": unknown, "p_positive": unknown,
			"prediction_std": unknown[:len(e.Prediction)],
		}
		if e.PredictionStd != nil {
			want["prediction_std"] = e.PredictionStd
		}
		if e.Probability != nil {
			want["probability"] = e.Probability
		}
		var outputs []map[string]any
		var wanted []*inference.ModelInferRequest_InferRequestedOutputTensor
		for output := range want {
			outputs = append(outputs, map[string]any{"name": output})
			wanted = append(wanted, &inference.ModelInferRequest_InferRequestedOutputTensor{Name: output})
		}
		same := func(what string, got, want []float64) {
			t.Helper()
			if len(want) > 0 && math.IsNaN(want[0]) {
				if len(got) != len(want) || !allNaN(got) {
					t.Errorf("%s of %s: %v, want as many NaN as %v", what, name, got, want)
				}
				return
			}
			near(t, what+" of "+name, got, want)
		}
		answer := r.asked(t, "/v2/models/"+name+"/infer", map[string]any{"inputs": m.tensorsOf(), "outputs": outputs})
		if sprint(answer["parameters"]) != "map[game:path-dependent]" {
			t.Errorf("%s: %v", name, answer["parameters"])
		}
		for _, output := range answer["outputs"].([]any) {
			o, got := output.(map[string]any), []float64{}
			for _, v := range o["data"].([]any) {
				x, is := v.(float64)
				if !is {
					x = math.NaN()
				}
				got = append(got, x)
			}
			same("HTTP "+o["name"].(string), got, want[o["name"].(string)])
		}
		plain := r.asked(t, "/v2/models/"+name+"/infer", map[string]any{"inputs": m.tensorsOf()})
		if _, has := plain["parameters"]; has {
			t.Errorf("%s: predictions alone name a game", name)
		}

		request := m.call()
		request.ModelName, request.Outputs = name, wanted
		said, err := r.calls.ModelInfer(t.Context(), request)
		check(t, err)
		if got := said.Parameters["game"].GetStringParam(); got != "path-dependent" {
			t.Errorf("gRPC: the game is %q", got)
		}
		for i, output := range said.Outputs {
			var got []float64
			for data := said.RawOutputContents[i]; len(data) > 0; data = data[4:] {
				got = append(got, float64(math.Float32frombits(binary.LittleEndian.Uint32(data))))
			}
			same("gRPC "+output.Name, got, want[output.Name])
		}

		var metadata struct{ Parameters map[string]any }
		_, body, _ := r.sent(t, http.MethodGet, "/v2/models/"+name, nil)
		check(t, json.Unmarshal(body, &metadata))
		if p := metadata.Parameters; p["game"] != "path-dependent" || sprint(p["games"]) != "[path-dependent baseline interventional]" {
			t.Errorf("%s: %v %v", name, p["game"], p["games"])
		}
	}
}

// call is a call of gRPC with the model's rows.
func (m *imported) call() *inference.ModelInferRequest {
	request := &inference.ModelInferRequest{}
	for _, in := range m.tensorsOf() {
		contents := &inference.InferTensorContents{}
		for _, v := range in["data"].([]any) {
			switch v := v.(type) {
			case string:
				contents.BytesContents = append(contents.BytesContents, []byte(v))
			case float64:
				contents.Fp64Contents = append(contents.Fp64Contents, v)
			default: // missing
				if in["datatype"] == "BYTES" {
					contents.BytesContents = append(contents.BytesContents, nil)
				} else {
					contents.Fp64Contents = append(contents.Fp64Contents, math.NaN())
				}
			}
		}
		request.Inputs = append(request.Inputs, &inference.ModelInferRequest_InferInputTensor{
			Name: in["name"].(string), Datatype: in["datatype"].(string), Shape: []int64{int64(len(m.Rows))}, Contents: contents,
		})
	}
	return request
}

// readArrow reads a table in Arrow.
func readArrow(t *testing.T, body []byte) *table.Table {
	t.Helper()
	source, err := table.OpenReader(bytes.NewReader(body), table.Arrow, table.Options{})
	check(t, err)
	all, err := table.ReadAll(context.Background(), source)
	check(t, err)
	return all
}

// Arrow has empty columns for what trees do not know; its header names the game.
func TestImportedTreesInArrow(t *testing.T) {
	r, all := startTrees(t, nil)
	m := all["number"]
	var in bytes.Buffer
	write(t, &in, table.Arrow, m.Table())
	reference, err := json.Marshal(m.objects(0, 2))
	check(t, err)
	for game, query := range map[psi.Game]string{psi.PathDependentGame: "", psi.InterventionalGame: "&reference=" + url.QueryEscape(string(reference))} {
		o := psi.ExplainOptions{}
		if game == psi.InterventionalGame {
			o.Game, o.Reference = game, m.Table().Select([]int{0, 1})
		}
		e := m.truth(t, o)
		for _, layout := range []string{"wide", "long"} {
			status, answer, header := r.sent(t, http.MethodPost, "/explain?model=number&layout="+layout+query, in.Bytes(), "Content-Type", arrowType)
			if status != http.StatusOK || header.Get("Psi-Game") != string(game) {
				t.Fatalf("%d %q %s", status, header.Get("Psi-Game"), answer)
			}
			out := readArrow(t, answer)
			std, mean := "a__std", out.Column("a")
			if layout == "long" {
				std, mean = "std", out.Column("mean")
			}
			if out.Column(std).Observed[0] {
				t.Errorf("%s: the answer has a std", layout)
			}
			near(t, layout, mean.Numbers[:1], e.Mean[:1])
		}
	}
	status, answer, header := r.sent(t, http.MethodPost, "/predict?model=number", in.Bytes(), "Content-Type", arrowType)
	if status != http.StatusOK || header.Get("Psi-Game") != "" {
		t.Fatalf("%d %s", status, answer)
	}
	if out := readArrow(t, answer); out.Column("prediction") == nil || out.Column("prediction_std") != nil {
		t.Errorf("columns of a prediction: %v", out.Columns)
	}
}

// Drift, shadow and the explanation log take imported trees. Drift knows the model's own game only.
func TestImportedTreesAreObserved(t *testing.T) {
	dir := t.TempDir()
	r, all := startTrees(t, func(c *Config) {
		c.LogDir, c.LogShare, c.MaxRows = dir, 1, 2000
		check(t, os.WriteFile(filepath.Join(c.Models[0], "number@2.psi"), mustTrees(t)["measured"].file, 0o600))
		c.Rules = filepath.Join(t.TempDir(), "rules.yaml")
		check(t, os.WriteFile(c.Rules, []byte("models:\n  number:\n    default: \"1\"\n    shadow: \"2\"\n"), 0o600))
	})
	m := all["number"]
	rows := m.objects(0, len(m.Rows))
	r.asked(t, "/explain", map[string]any{"model": "number", "rows": rows})
	own := r.metricsText(t)
	want := []string{fmt.Sprintf(`psi_drift_rows{model="number"} %d`, len(rows))}
	for _, column := range m.Columns {
		want = append(want, fmt.Sprintf(`psi_attribution_abs_mean{model="number",output="y",player=%q}`, column))
	}
	for _, text := range want {
		if !strings.Contains(own, text) {
			t.Errorf("the metrics lack %s", text)
		}
	}
	if strings.Contains(own, `psi_attribution_std_mean{model="number"`) {
		t.Error("the metrics have standard deviations that nobody knows")
	}
	eventually(t, "the shadow's predictions", func() bool {
		return strings.Contains(r.metricsText(t), fmt.Sprintf(`psi_shadow_predictions_total{model="number",version="2"} %d`, len(rows)))
	})
	r.asked(t, "/explain", map[string]any{"model": "number", "rows": rows, "reference": rows[:2]})
	if text := r.metricsText(t); !strings.Contains(text, fmt.Sprintf(`psi_drift_rows{model="number"} %d`, len(rows))) {
		t.Error("drift counts attributions of another game than the model's")
	}
	var in bytes.Buffer // of two chunks
	write(t, &in, table.Arrow, m.Table().Select(repeated(len(m.Rows), 1200/len(m.Rows))))
	status, answer, _ := r.sent(t, http.MethodPost, "/explain?model=measured", in.Bytes(), "Content-Type", arrowType, "X-Request-Id", "chunks")
	if status != http.StatusOK {
		t.Fatalf("%d %s", status, answer)
	}
	r.stop()
	files, err := filepath.Glob(filepath.Join(dir, "*.parquet"))
	check(t, err)
	games, numbered := map[string]int{}, map[float64]bool{}
	for _, file := range files {
		source, err := table.Open(file, table.Options{})
		check(t, err)
		log, err := table.ReadAll(context.Background(), source)
		check(t, err)
		for line := range log.Rows() {
			if log.Column("request_id").Text(line) == "chunks" {
				numbered[log.Column("row").Numbers[line]] = true
			} else {
				games[log.Column("game").Text(line)]++
			}
			if log.Column("std").Observed[line] || log.Column("lower").Observed[line] {
				t.Fatal("the log has a std")
			}
		}
	}
	if n := 1200 / len(m.Rows) * len(m.Rows); len(numbered) != n || !numbered[float64(n-1)] {
		t.Errorf("the log numbers %d rows of a request of %d", len(numbered), n)
	}
	if n := len(rows) * len(m.Columns); games["path-dependent"] != n || games["interventional"] != n {
		t.Errorf("the log has %v lines by game, want %d of each", games, n)
	}
}

func mustTrees(t *testing.T) map[string]*imported {
	t.Helper()
	all, err := trees()
	check(t, err)
	return all
}

// metricsText is a scrape of the metrics.
func (r *running) metricsText(t *testing.T) string {
	t.Helper()
	_, _, metrics := r.Addresses()
	response, err := http.Get("http://" + metrics + "/metrics")
	check(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	check(t, err)
	return string(text)
}
