package explain

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/psi-shapley/psi/table"
)

func writeJSON(t testing.TB, chunks ...*Explanation) []byte {
	t.Helper()
	var out bytes.Buffer
	w := NewJSONWriter(&out)
	for _, chunk := range chunks {
		if err := w.Write(chunk); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if !json.Valid(out.Bytes()) {
		t.Fatalf("not JSON: %s", out.Bytes())
	}
	return out.Bytes()
}

// The document is a contract: this is all of it, to the byte.
func TestJSONDocument(t *testing.T) {
	e := onePrediction([]float64{2, 0}, []float64{0.5, 0}, 1)
	e.Model, e.Head, e.Exact, e.FirstRow = "sha256:0a", "product", true, 7
	e.Base[0], e.Prediction[0], e.PredictionStd[0], e.HiddenStd[0], e.Residual[0] = 1, 3, 0.75, 0.25, 1e-9
	e.Observed[1] = false
	e.Values[0] = table.NumberColumn("x0", []float64{1500}, nil)
	want := `{"schema":"psi.explanation/v1","model":"sha256:0a","head":"product","game":"observational","mode":"fast","exact":true,"z":2,"interval":"spread","bags":0,"outputs":["y"],"players":["x0","x1"],"rows":[` + "\n" +
		`{"row":7,"outputs":[{"output":"y","scale":"identity","base":1,"prediction":3,"prediction_std":0.75,"hidden_std":0.25,"probability":null,"residual":1e-09,"attributions":[` +
		`{"player":"x0","value":1500,"observed":true,"mean":2,"std":0.5,"lower":1,"upper":3,"spread_lower":1,"spread_upper":3,"p_positive":0.9999683287581669,"p_top":1,"standard_error":null,"model_std":null},` +
		`{"player":"x1","value":null,"observed":false,"mean":0,"std":0,"lower":0,"upper":0,"spread_lower":0,"spread_upper":0,"p_positive":null,"p_top":0,"standard_error":null,"model_std":null}],"interactions":null}]}` + "\n]}\n"
	if got := string(writeJSON(t, e)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}

	e.Interactions, e.Probability = []float64{0, -0.5, -0.5, 0}, []float64{0.875}
	e.Model, e.Scale, e.StandardError, e.ModelStd, e.Bags = "", Logit, []float64{0.125, 0}, []float64{0.5, 0}, 2
	got := string(writeJSON(t, e))
	for _, part := range []string{
		`"model":null`, `"interval":"doubt","bags":2`, `"scale":"logit"`, `"probability":0.875`, `"standard_error":0.125,"model_std":0.5},`,
		`"interactions":[{"a":"x0","b":"x1","value":-0.5,"standard_error":null}]`,
	} {
		if !strings.Contains(got, part) {
			t.Errorf("%s is not in %s", part, got)
		}
	}
	e.InteractionError = []float64{0, 0.25, 0.25, 0}
	if got := string(writeJSON(t, e)); !strings.Contains(got, `"value":-0.5,"standard_error":0.25}]`) {
		t.Errorf("no error of the interaction in %s", got)
	}
}

func TestJSONValuesAreOfTheColumnsKind(t *testing.T) {
	e := onePrediction(make([]float64, 5), make([]float64, 5), 1)
	e.Values = []*table.Column{
		{Name: "x0", Kind: table.Number, Numbers: []float64{0.1}, Observed: []bool{true}},
		{Name: "x1", Kind: table.Boolean, Numbers: []float64{1}, Observed: []bool{true}, Levels: []string{"no", "yes"}},
		{Name: "x2", Kind: table.Time, Numbers: []float64{86400}, Observed: []bool{true}},
		{Name: "x3", Kind: table.Category, Codes: []int32{0}, Levels: []string{"a \"b\"\u2028\\é\x01"}, Observed: []bool{true}},
		{Name: "x4", Kind: table.Number, Numbers: []float64{0}, Observed: []bool{false}},
	}
	var document jsonDocument
	if err := json.Unmarshal(writeJSON(t, e), &document); err != nil {
		t.Fatal(err)
	}
	for d, want := range []any{0.1, true, "1970-01-02", "a \"b\"\u2028\\é\x01", nil} {
		if got := document.Rows[0].Outputs[0].Attributions[d].Value; got != want {
			t.Errorf("value of %s is %#v, want %#v", e.Players[d], got, want)
		}
	}
}

func shapes() []shape {
	return []shape{
		{rows: 1, outputs: 1, players: 1},
		{rows: 30, outputs: 1, players: 6},
		{rows: 9, outputs: 1, players: 4, probability: true},
		{rows: 7, outputs: 3, players: 5, probability: true},
		{rows: 5, outputs: 2, players: 4, probability: true, sampled: true, interactions: true},
		{rows: 6, outputs: 2, players: 3, probability: true, doubt: true},
		{rows: 3, outputs: 1, players: 1, interactions: true},
		{rows: 4, outputs: 1, players: 8, interactions: true},
	}
}

// What is read and written again is the same text.
func TestJSONRoundTrip(t *testing.T) {
	rng := newRand(t)
	for _, s := range shapes() {
		e := randomExplanation(rng, s)
		e.Base[0], e.HiddenStd[0] = math.NaN(), math.Inf(1)
		first := writeJSON(t, e)
		back, err := ReadJSON(bytes.NewReader(first))
		if err != nil {
			t.Fatal(err)
		}
		if back.FirstRow != e.FirstRow || back.Rows != e.Rows || (back.Probability == nil) != (e.Probability == nil) ||
			(back.StandardError == nil) != (e.StandardError == nil) || (back.ModelStd == nil) != (e.ModelStd == nil) || (back.Interactions == nil) != (e.Interactions == nil) ||
			(back.InteractionError == nil) != (e.InteractionError == nil) {
			t.Errorf("%+v read back as another shape", s)
		}
		if second := writeJSON(t, back); !bytes.Equal(first, second) {
			t.Errorf("%+v: read back and written again it is\n%s\nnot\n%s", s, second, first)
		}
	}
}

func TestJSONOfChunksIsThatOfTheWhole(t *testing.T) {
	rng := newRand(t)
	for _, s := range shapes() {
		e := randomExplanation(rng, s)
		cut := rng.IntN(s.rows + 1)
		if whole, parts := writeJSON(t, e), writeJSON(t, e.chunk(0, 0), e.chunk(0, cut), e.chunk(cut, s.rows)); !bytes.Equal(whole, parts) {
			t.Errorf("%+v: chunks give\n%s\nnot\n%s", s, parts, whole)
		}
	}
}

func TestJSONOfNoRows(t *testing.T) {
	e := randomExplanation(newRand(t), shape{rows: 1, outputs: 2, players: 3})
	back, err := ReadJSON(bytes.NewReader(writeJSON(t, e.chunk(0, 0))))
	if err != nil {
		t.Fatal(err)
	}
	if back.Rows != 0 || len(back.Players) != 3 {
		t.Errorf("read %+v", back)
	}
	if err := NewJSONWriter(io.Discard).Close(); err == nil {
		t.Error("closing before anything was written is no error")
	}
}

func TestJSONWriterRefusesOtherChunks(t *testing.T) {
	for what, change := range map[string]func(e *Explanation){
		"model":     func(e *Explanation) { e.Model = "sha256:11" },
		"head":      func(e *Explanation) { e.Head = "learned" },
		"mode":      func(e *Explanation) { e.Mode = Exact },
		"exactness": func(e *Explanation) { e.Exact = false },
		"z":         func(e *Explanation) { e.Z = 1 },
		"top":       func(e *Explanation) { e.Top = 1 },
		"scale":     func(e *Explanation) { e.Scale = Logit },
		"outputs":   func(e *Explanation) { e.Outputs = []string{"other"} },
		"players":   func(e *Explanation) { e.Players = []string{"x1", "x0", "x2"} },
		"Mean has":  func(e *Explanation) { e.Mean = nil },
	} {
		e := randomExplanation(fixedRand(t, 1), shape{rows: 2, outputs: 1, players: 3})
		w := NewJSONWriter(io.Discard)
		if err := w.Write(e); err != nil {
			t.Fatal(err)
		}
		change(e)
		if err := w.Write(e); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("want an error about %s, got %v", what, err)
		}
		if err := w.Close(); err == nil {
			t.Errorf("%s: the failure is forgotten", what)
		}
	}
}

type brokenWriter struct{ after int }

func (b *brokenWriter) Write(text []byte) (int, error) {
	if b.after -= len(text); b.after < 0 {
		return 0, errors.New("disk full")
	}
	return len(text), nil
}

func TestWritersReportFailures(t *testing.T) {
	e := randomExplanation(newRand(t), shape{rows: 100, outputs: 1, players: 5})
	for _, after := range []int{0, 70_000} {
		w := NewJSONWriter(&brokenWriter{after})
		err := w.Write(e)
		if err == nil {
			err = w.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "disk full") {
			t.Errorf("JSON: got %v", err)
		}
	}
	if err := Text(&brokenWriter{100}, e, TextOptions{}); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("text: got %v", err)
	}
	w := NewJSONWriter(io.Discard)
	if err := errors.Join(w.Write(e), w.Close()); err != nil {
		t.Fatal(err)
	}
	if w.Write(e) == nil || w.Close() == nil {
		t.Error("a closed document goes on")
	}
}

func TestReadJSONIsStrict(t *testing.T) {
	good := string(writeJSON(t, randomExplanation(fixedRand(t, 3), shape{rows: 2, outputs: 1, players: 3, interactions: true})))
	for what, text := range map[string]string{
		"not an explanation in JSON": "row,prediction\n",
		`schema is ""`:               `{}`,
		"psi.explanation/v2":         strings.Replace(good, "/v1", "/v2", 1),
		"followed":                   good + "{}",
		"unexpected EOF":             good[:len(good)/2],
		"player \"x9\" where":        strings.Replace(good, `"player":"x0"`, `"player":"x9"`, 1),
		"on scale":                   strings.Replace(good, `"scale":"identity"`, `"scale":"logit"`, 1),
		"interaction of":             strings.Replace(good, `"b":"x2"`, `"b":"x1"`, 1),
		"3 attributions for 2":       strings.Replace(good, `"players":["x0","x1","x2"]`, `"players":["x0","x1"]`, 1),
		"1 outputs instead of 2":     strings.Replace(good, `"outputs":["class 0"]`, `"outputs":["class 0","b"]`, 1),
		"unknown mode":               strings.Replace(good, `"mode":"fast"`, `"mode":"quick"`, 1),
		"follows row":                good[:strings.LastIndex(good, `{"row":`)] + `{"row":1000,` + good[strings.LastIndex(good, `"outputs":[{`):],
	} {
		if _, err := ReadJSON(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("want an error with %q, got %v", what, err)
		}
	}
	mixed := strings.Replace(good, `"value":`, `"value":{},"was":`, 1)
	if _, err := ReadJSON(strings.NewReader(mixed)); err == nil || !strings.Contains(err.Error(), `values of "x0"`) {
		t.Errorf("an object as value: %v", err)
	}
}

// FuzzReadJSON: whatever the bytes, reading ends in a valid explanation that can be
// written in every way, or in an error.
func FuzzReadJSON(f *testing.F) {
	for _, s := range shapes() {
		f.Add(writeJSON(f, randomExplanation(fixedRand(f, 1), s)))
	}
	f.Add([]byte(`{"schema":"psi.explanation/v1"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		e, err := ReadJSON(bytes.NewReader(text))
		if err != nil {
			return
		}
		if err := e.Validate(); err != nil {
			t.Fatal("an invalid explanation was read:", err)
		}
		again, err := ReadJSON(bytes.NewReader(writeJSON(t, e)))
		if err != nil {
			t.Fatal("what was written cannot be read:", err)
		}
		if again.Rows != e.Rows {
			t.Fatalf("%d rows became %d", e.Rows, again.Rows)
		}
		if err := Text(io.Discard, e, TextOptions{}); err != nil {
			t.Fatal(err)
		}
		if e.Interactions == nil {
			if _, err := e.Long(); err != nil {
				t.Fatal(err)
			}
			if _, err := e.Wide(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func BenchmarkJSON(b *testing.B) {
	e := randomExplanation(fixedRand(b, 1), shape{rows: 100, outputs: 1, players: 10})
	b.ReportAllocs()
	for b.Loop() {
		w := NewJSONWriter(io.Discard)
		if err := errors.Join(w.Write(e), w.Close()); err != nil {
			b.Fatal(err)
		}
	}
}
