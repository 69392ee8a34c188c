package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/serve/internal/oip/inference"
	"github.com/psi-shapley/psi/table"
)

// All protocols have the games of the model, and name the game of an answer.
func TestGames(t *testing.T) {
	r, all := startTrees(t, nil)
	for name, m := range all {
		rows := m.objects(0, len(m.Rows))
		for _, c := range []struct {
			asked      string
			references int
			game       psi.Game
		}{{"baseline", 1, psi.BaselineGame}, {"interventional", 3, psi.InterventionalGame}, {"", 3, psi.InterventionalGame}, {"path-dependent", 0, psi.PathDependentGame}} {
			o := psi.ExplainOptions{Game: c.game}
			asked := map[string]any{}
			if c.asked != "" {
				asked["game"] = c.asked
			}
			if c.references > 0 {
				o.Reference = m.Table().Select([]int{0, 1, 2}[:c.references])
				asked["reference"] = m.objects(0, c.references)
			}
			e := m.truth(t, o)
			is := func(what string, game any, means []float64) {
				t.Helper()
				if game != string(c.game) {
					t.Errorf("%s: the game is %v, want %s", what, game, c.game)
				}
				near(t, name+", "+what, means, e.Mean)
			}
			body := map[string]any{"model": name, "rows": rows}
			maps.Copy(body, asked)
			answer := r.asked(t, "/explain", body)
			is("/explain", answer["game"], attributed(t, answer["rows"], "mean"))
			answer = r.asked(t, "/v1/models/"+name+":explain", map[string]any{"instances": rows, "parameters": asked})
			is(":explain", answer["game"], attributed(t, answer["explanations"], "mean"))

			wanted := []map[string]any{{"name": "attribution_mean"}}
			answer = r.asked(t, "/v2/models/"+name+"/infer", map[string]any{"inputs": m.tensorsOf(), "outputs": wanted, "parameters": asked})
			tensor := func() []float64 {
				return numbers(t, answer["outputs"].([]any)[0].(map[string]any)["data"])
			}
			is("infer", answer["parameters"].(map[string]any)["game"], tensor())
			texts, parameters := map[string]any{}, map[string]*inference.InferParameter{}
			for field, value := range asked {
				text, is := value.(string)
				if !is {
					content, err := json.Marshal(value)
					check(t, err)
					text = string(content)
				}
				texts[field], parameters[field] = text, &inference.InferParameter{ParameterChoice: &inference.InferParameter_StringParam{StringParam: text}}
			}
			answer = r.asked(t, "/v2/models/"+name+"/infer", map[string]any{"inputs": m.tensorsOf(), "outputs": wanted, "parameters": texts})
			is("infer by text", answer["parameters"].(map[string]any)["game"], tensor())

			request := m.call()
			request.ModelName, request.Parameters = name, parameters
			request.Outputs = []*inference.ModelInferRequest_InferRequestedOutputTensor{{Name: "attribution_mean"}}
			said, err := r.calls.ModelInfer(t.Context(), request)
			check(t, err)
			is("gRPC", said.Parameters["game"].GetStringParam(), floats(said.RawOutputContents[0]))
		}
	}
}

// A column that is taken for unknown has the reference's value in every answer of a game, as in psi explain.
func TestGamesOfUnknownColumns(t *testing.T) {
	r, all := startTrees(t, nil)
	m := all["number"]
	want := m.truth(t, psi.ExplainOptions{Game: psi.BaselineGame, Reference: m.Table().Select([]int{4}), Unknown: []string{"a"}})
	answer := r.asked(t, "/explain", map[string]any{"model": "number", "rows": m.objects(0, len(m.Rows)), "unknown": []string{"a"}, "game": "baseline", "reference": m.objects(4, 5)})
	near(t, "attributions", attributed(t, answer["rows"], "mean"), want.Mean)
}

// Requests of different games at the same time get the answers of their own.
func TestGamesDoNotMix(t *testing.T) {
	r, all := startTrees(t, nil)
	m := all["three"]
	wants := []*explain.Explanation{m.truth(t, psi.ExplainOptions{})}
	bodies := [][]byte{asJSON(t, map[string]any{"model": "three", "rows": m.objects(0, 5)})}
	for i := range 4 {
		wants = append(wants, m.truth(t, psi.ExplainOptions{Game: psi.BaselineGame, Reference: m.Table().Select([]int{i})}))
		bodies = append(bodies, asJSON(t, map[string]any{"model": "three", "rows": m.objects(0, 5), "game": "baseline", "reference": m.objects(i, i+1)}))
	}
	var group sync.WaitGroup
	for i := range 100 {
		group.Go(func() {
			k := i % len(bodies)
			got, err := r.explained(bodies[k])
			if err != nil {
				t.Error(err)
				return
			}
			for j, mean := range got.Mean {
				if got.Game != wants[k].Game || math.Abs(mean-wants[k].Mean[j]) > 1e-6 {
					t.Errorf("request %d got another's answer", k)
					return
				}
			}
		})
	}
	group.Wait()
}

// What a model does not have, or cannot be read, is refused with the reason, and the server goes on.
func TestRefusedGames(t *testing.T) {
	r, all := startTrees(t, func(c *Config) { c.MaxRows = 20 })
	m := all["number"]
	row := string(asJSON(t, m.objects(0, 1)[0]))
	references := func(n int) string { return "[" + strings.Repeat(row+",", n-1) + row + "]" }
	for _, c := range []struct {
		fields string // of the request, beside its rows
		rows   int
		status int
		says   string
	}{
		{`"game":"observational"`, 1, 400, `the model does not have the game \"observational\": the trees did not learn from rows with cells hidden at random; choose one of path-dependent, baseline, interventional`},
		{`"game":"missing-branch"`, 1, 400, "it belongs to trees that were imported so"},
		{`"game":"` + strings.Repeat("a", 1000) + `"`, 1, 400, `\"` + strings.Repeat("a", 40) + `\": there is no such game`},
		{`"game":"interventional"`, 1, 400, "the game interventional needs reference rows; give a table in reference"},
		{`"game":"path-dependent","reference":` + references(1), 1, 400, "the game path-dependent has no reference rows; choose game baseline or game interventional, or leave reference out"},
		{`"game":"baseline","reference":` + references(2), 1, 400, "the game baseline has one reference row, not 2; give one row, or choose game interventional"},
		{`"reference":[]`, 1, 400, "reference: there are no rows"},
		{`"reference":{}`, 1, 400, "reference: rows is not a list"},
		{`"reference":"` + `x"`, 1, 400, "reference: "},
		{`"reference":[7]`, 1, 400, "reference row 0: the row is neither a list nor an object"},
		{`"reference":[` + row + `,{"a":1}]`, 1, 400, `column \"b\": reference row 1: the column is not there; send it, null if its value is not known"`},
		{`"reference":[[1,2]]`, 1, 400, "reference row 0: the row does not have 5 cells"},
		{`"reference":[[1,2,"no number",4,5]]`, 1, 400, `column \"c d\": reference row 0: \"no number\" is not a number`},
		{`"reference":[[1,2,3,4,1e999]]`, 1, 400, "reference row 0"},
		{`"reference":[[1,2,3,4,{}]]`, 1, 400, "the cell is a list or an object"},
		{`"reference":` + references(101), 1, 413, "there are more than 100 reference rows; send a sample of them"},
		{`"reference":` + references(100), 3, 413, "the request has more than 2 rows"}, // 10 × MaxRows / 100
	} {
		rows := "[" + strings.Repeat(row+",", c.rows-1) + row + "]"
		for path, body := range map[string]string{
			"/explain":                  `{"model":"number","rows":` + rows + `,` + c.fields + `}`,
			"/v1/models/number:explain": `{"instances":` + rows + `,"parameters":{` + c.fields + `}}`,
		} {
			got, answer, _ := r.sent(t, http.MethodPost, path, []byte(body))
			if got != c.status || !strings.Contains(string(answer), c.says) {
				t.Errorf("%s with %.80s: %d %s, want %d with %s", path, c.fields, got, answer, c.status, c.says)
			}
		}
	}
	for _, broken := range []string{
		`[[1,2,3,4,NaN]]`, `[[1,2,3,4`, "[[1,2,3,4,\"\xff\"]]", strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000),
		strings.Repeat(`{"a":`, 1000) + "1" + strings.Repeat("}", 1000), strings.Repeat("[", 1_000_000),
	} {
		one := `{"model":"number","rows":[` + row + `],"reference":` + broken + `}`
		r.refused(t, "/explain with a broken reference", "/explain", []byte(one), []int{400})
		tensors := string(asJSON(t, m.tensorsOf()))
		for _, text := range []string{broken, string(asJSON(t, broken))} {
			body := `{"inputs":` + tensors + `,"outputs":[{"name":"attribution_mean"}],"parameters":{"reference":` + text + `}}`
			r.refused(t, "infer with a broken reference", "/v2/models/number/infer", []byte(body), []int{400})
		}
		if len(broken) < 10_000 {
			var in bytes.Buffer
			write(t, &in, table.Arrow, m.Table().Select([]int{0}))
			got, answer, _ := r.sent(t, http.MethodPost, "/explain?model=number&reference="+url.QueryEscape(broken), in.Bytes(), "Content-Type", arrowType)
			if got != 400 {
				t.Errorf("Arrow with the reference %.40s: %d %s", broken, got, answer)
			}
		}
		request := m.call()
		request.ModelName = "number"
		request.Outputs = []*inference.ModelInferRequest_InferRequestedOutputTensor{{Name: "attribution_mean"}}
		request.Parameters = map[string]*inference.InferParameter{"reference": {ParameterChoice: &inference.InferParameter_StringParam{StringParam: strings.ToValidUTF8(broken, "{")}}}
		if _, err := r.calls.ModelInfer(t.Context(), request); status.Code(err) != codes.InvalidArgument {
			t.Errorf("gRPC with the reference %.40s: %v", broken, err)
		}
	}
	for _, parameters := range []string{`{"game":1}`, `{"game":["baseline"]}`, `{"reference":1}`, `{"reference":true}`} {
		body := `{"inputs":` + string(asJSON(t, m.tensorsOf())) + `,"outputs":[{"name":"attribution_mean"}],"parameters":` + parameters + `}`
		r.refused(t, parameters, "/v2/models/number/infer", []byte(body), []int{400})
	}
	r.asked(t, "/explain", map[string]any{"model": "number", "rows": m.objects(0, 1), "reference": json.RawMessage(references(100))})
	// Predictions of the rows as they are need no game, so clients of V1 may send one body to both verbs.
	r.asked(t, "/v1/models/number:predict", map[string]any{"instances": m.objects(0, 1), "parameters": map[string]any{"game": "nonsense"}})
}

// A network has no games of trees, and on a tensor engine only its own.
func TestNetworksRefuseGames(t *testing.T) {
	r := start(t, func(c *Config) { c.Backend = "go" })
	rows := objects(people(1, 1))
	for game, says := range map[string]string{"path-dependent": "it is a game of trees, and the model is a network", "interventional": "only the native backend computes it"} {
		f := r.refused(t, game, "/explain", asJSON(t, map[string]any{"rows": rows, "game": game, "reference": rows}), []int{400})
		if !strings.Contains(f.Message, says) || f.Remedy != "choose one of observational" {
			t.Errorf("%s: %s; %s", game, f.Message, f.Remedy)
		}
	}
	if answer := r.asked(t, "/explain", map[string]any{"rows": rows, "game": "observational"}); answer["game"] != "observational" {
		t.Errorf("%v", answer["game"])
	}
}

// A request with references counts by rows × references.
func TestGamesHaveLimits(t *testing.T) {
	r, all := startTrees(t, func(c *Config) { c.MaxWaiting = 450 })
	m := all["two"]
	body := asJSON(t, map[string]any{"model": "two", "rows": m.objects(0, 4), "reference": slicesOf(m.objects(0, 4), 100)})
	r.crowded(t, body)
}

// slicesOf repeats rows up to a number of them.
func slicesOf(rows []map[string]any, n int) []map[string]any {
	list := make([]map[string]any, n)
	for i := range list {
		list[i] = rows[i%len(rows)]
	}
	return list
}

// The worker of a game that takes too long ends soon after the deadline.
func TestGamesHaveDeadlines(t *testing.T) {
	r, all := startTrees(t, nil)
	m := all["three"]
	v, err := r.registry.Lease("three", "", "")
	check(t, err)
	defer v.Release()
	b := r.memory.budget(1 << 30)
	defer b.Close()
	q := question{rows: m.Table().Select(repeated(len(m.Rows), 2000/len(m.Rows))), depth: psi.Doubt, budget: b}
	q.how = psi.ExplainOptions{Game: psi.InterventionalGame, Reference: m.Table().Select(repeated(len(m.Rows), 100/len(m.Rows)))}
	start := time.Now()
	if _, err := r.askAlone(t.Context(), v, q); err != nil {
		t.Fatal(err)
	}
	whole := time.Since(start)
	ctx, cancel := context.WithTimeout(t.Context(), whole/20)
	defer cancel()
	start = time.Now()
	if _, err := r.askAlone(ctx, v, q); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	eventually(t, "the worker ends", func() bool { return of(v).passes.Load() == 2 })
	if took := time.Since(start); took > whole/2 {
		t.Errorf("the worker went on for %v; the whole game takes %v", took, whole)
	}
}

// floats are the numbers of a raw tensor.
func floats(raw []byte) (list []float64) {
	for ; len(raw) > 0; raw = raw[4:] {
		bits := uint32(raw[0]) | uint32(raw[1])<<8 | uint32(raw[2])<<16 | uint32(raw[3])<<24
		list = append(list, float64(math.Float32frombits(bits)))
	}
	return list
}
