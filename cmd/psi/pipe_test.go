package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/table"
)

// parent is the other end of psi pipe.
type parent struct {
	t     *testing.T
	stdin io.WriteCloser
	out   *bufio.Reader
	ended chan int
}

// startPipe starts psi pipe with a model, and returns the answer to the model too.
func startPipe(t *testing.T, model []byte) (*parent, map[string]any) {
	t.Helper()
	stdin, to := io.Pipe()
	from, stdout := io.Pipe()
	p := &parent{t: t, stdin: to, out: bufio.NewReader(from), ended: make(chan int, 1)}
	go func() {
		program := &program{stdin: stdin, stdout: stdout, stderr: io.Discard}
		p.ended <- program.run(t.Context(), []string{"pipe"})
		_ = stdout.Close() // of a pipe: it never fails
	}()
	header, _ := p.ask("{}", model)
	return p, header
}

func (p *parent) send(id uint32, header string, body []byte) {
	p.t.Helper()
	if err := writeFrame(bufio.NewWriter(p.stdin), frame{id, []byte(header), body}); err != nil {
		p.t.Fatal(err)
	}
}

func (p *parent) receive() (uint32, map[string]any, []byte) {
	p.t.Helper()
	f, err := readFrame(p.out)
	if err != nil {
		p.t.Fatal(err)
	}
	var header map[string]any
	if err := json.Unmarshal(f.header, &header); err != nil {
		p.t.Fatal(err)
	}
	return f.id, header, f.body
}

func (p *parent) ask(header string, body []byte) (map[string]any, []byte) {
	p.t.Helper()
	p.send(7, header, body)
	id, answer, content := p.receive()
	if id != 7 {
		p.t.Fatalf("the answer is to %d", id)
	}
	return answer, content
}

// arraysOf splits the body of an answer.
func arraysOf(t *testing.T, header map[string]any, body []byte) map[string][]float64 {
	t.Helper()
	found := map[string][]float64{}
	list, _ := header["arrays"].([]any)
	if list == nil {
		t.Fatalf("the answer has no arrays: %v", header)
	}
	for _, of := range list {
		about := of.(map[string]any)
		values := make([]float64, int(about["length"].(float64)))
		for i := range values {
			values[i] = math.Float64frombits(binary.LittleEndian.Uint64(body))
			body = body[8:]
		}
		found[about["name"].(string)] = values
	}
	if len(body) > 0 {
		t.Errorf("%d bytes follow the arrays", len(body))
	}
	return found
}

func arrowOf(t *testing.T, rows *table.Table) []byte {
	t.Helper()
	var stream bytes.Buffer
	sink, err := table.NewSink(&stream, table.Arrow)
	if err != nil {
		t.Fatal(err)
	}
	if err := sink.Write(t.Context(), rows); err != nil {
		t.Fatal(err)
	}
	if err := sink.Close(); err != nil {
		t.Fatal(err)
	}
	return stream.Bytes()
}

func fileOf(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// Answers through the pipe are those of the library, to the bit, whether rows come as Arrow or as numbers.
func TestPipe(t *testing.T) {
	model, err := psi.Open(fixtures.model)
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	rows := readTable(t, fixtures.table)
	p, about := startPipe(t, fileOf(t, fixtures.model))
	if about["schema"] != "psi.model/v1" || about["digest"] != model.Digest() {
		t.Errorf("the model is answered by %v", about)
	}
	var numbers []byte
	for _, name := range model.Columns() {
		for _, v := range rows.Column(name).Numbers {
			numbers = binary.LittleEndian.AppendUint64(numbers, math.Float64bits(v))
		}
	}
	want, err := model.Explain(t.Context(), rows.Source(), psi.ExplainOptions{})
	if err != nil {
		t.Fatal(err)
	}
	predicted, err := model.Predict(t.Context(), rows.Source())
	if err != nil {
		t.Fatal(err)
	}
	for _, sent := range []struct {
		how, header string
		body        []byte
	}{{"Arrow", "", arrowOf(t, rows)}, {"numbers", `"numbers":120,`, numbers}} {
		header, body := p.ask(`{`+sent.header+`"output":""}`, sent.body)
		got := arraysOf(t, header, body)
		for name, values := range map[string][]float64{
			"base": want.Base, "prediction": want.Prediction, "prediction_std": want.PredictionStd,
			"mean": want.Mean, "std": want.Std, "model_std": want.ModelStd,
		} {
			if !slices.Equal(got[name], values) {
				t.Errorf("%s: %s differs", sent.how, name)
			}
		}
		header, body = p.ask(`{`+sent.header+`"predict":true}`, sent.body)
		if got := arraysOf(t, header, body); !slices.Equal(got["prediction"], predicted.Mean) || !slices.Equal(got["range_upper"], predicted.Upper) {
			t.Errorf("%s: predictions differ", sent.how)
		}
	}

	reference := arrowOf(t, rows)
	header, body := p.ask(`{"game":"interventional","interactions":true,"unknown":["x2"],"reference":`+string(mustJSON(t, len(reference)))+`}`, append(arrowOf(t, rows), reference...))
	if got := arraysOf(t, header, body); len(got["interactions"]) != 3*len(got["mean"]) {
		t.Errorf("%d interactions for %d attributions", len(got["interactions"]), len(got["mean"]))
	}

	_, body = p.ask(`{"layout":"wide"}`, arrowOf(t, rows))
	source, err := table.OpenReader(bytes.NewReader(body), table.Arrow, table.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	wide, err := table.ReadAll(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	if wide.Rows() != rows.Rows() || wide.Column("x1__std") == nil {
		t.Errorf("a wide table has %d rows and the columns %v", wide.Rows(), names(wide))
	}

	_ = p.stdin.Close() // of a pipe: it never fails
	if code := <-p.ended; code != 0 {
		t.Errorf("exit %d", code)
	}
}

// Two classes, and more of them, have labels and probabilities.
func TestPipeOfClasses(t *testing.T) {
	for path, rows := range map[string]string{fixtures.binary: fixtures.labels, fixtures.kinds: fixtures.flowers} {
		p, about := startPipe(t, fileOf(t, path))
		header, body := p.ask(`{"predict":true}`, arrowOf(t, readTable(t, rows)))
		got := arraysOf(t, header, body)
		classes := len(about["classes"].([]any))
		each := classes
		if classes == 2 {
			each = 1
		}
		if len(got["probability"]) != each*len(got["label"]) {
			t.Errorf("%d probabilities of %d rows and %d classes", len(got["probability"]), len(got["label"]), classes)
		}
		for i, label := range got["label"] {
			p := got["probability"][each*i : each*(i+1)]
			if classes > 2 && p[int(label)] != slices.Max(p) || classes == 2 && (label == 1) != (p[0] >= 0.5) {
				t.Fatalf("row %d has the label %v of %v", i, label, p)
			}
		}
		_ = p.stdin.Close() // of a pipe: it never fails
		<-p.ended
	}
}

// The parent may send all requests before it reads an answer.
func TestPipeReadsAhead(t *testing.T) {
	p, _ := startPipe(t, fileOf(t, fixtures.model))
	rows := arrowOf(t, readTable(t, fixtures.table))
	const requests = 50
	for i := range requests {
		p.send(uint32(i), `{}`, rows)
	}
	seen := map[uint32]bool{}
	for range requests {
		id, header, _ := p.receive()
		if header["arrays"] == nil {
			t.Fatalf("answer %v", header)
		}
		seen[id] = true
	}
	if len(seen) != requests {
		t.Errorf("%d answers to %d requests", len(seen), requests)
	}
	_ = p.stdin.Close() // of a pipe: it never fails
	<-p.ended
}

func TestPipeRefuses(t *testing.T) {
	p, _ := startPipe(t, fileOf(t, fixtures.model))
	rows := arrowOf(t, readTable(t, fixtures.table))
	for header, body := range map[string][]byte{
		`no JSON`:              rows,
		`{"unknown":["x9"]}`:   rows,
		`{"numbers":3}`:        make([]byte, 8),
		`{"numbers":-1}`:       make([]byte, 24),
		`{"reference":999999}`: rows,
		`{"reference":-1}`:     rows,
		`{"game":"chess"}`:     rows,
		`{}`:                   []byte("no Arrow"),
	} {
		if answer, _ := p.ask(header, body); answer["schema"] != "psi.error/v1" || answer["message"] == "" {
			t.Errorf("%s is answered by %v", header, answer)
		}
	}
	if header, body := p.ask(`{}`, rows); arraysOf(t, header, body)["mean"] == nil {
		t.Error("after all these, rows have no attributions")
	}
	_ = p.stdin.Close() // of a pipe: it never fails
	<-p.ended

	p, refusal := startPipe(t, []byte("no model"))
	if refusal["schema"] != "psi.error/v1" {
		t.Errorf("no model is answered by %v", refusal)
	}
	<-p.ended
}

func FuzzPipe(f *testing.F) {
	content, err := os.ReadFile(fixtures.model)
	if err != nil {
		f.Fatal(err)
	}
	model, err := psi.OpenOptions{}.Decode("fuzz", content)
	if err != nil {
		f.Fatal(err)
	}
	defer model.Close()
	f.Add([]byte("\x01\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00{}"))
	f.Add(append([]byte("\x01\x00\x00\x00\x0d\x00\x00\x00\x18\x00\x00\x00\x00\x00\x00\x00"+`{"numbers":1}`), make([]byte, 24)...))
	f.Fuzz(func(t *testing.T, stream []byte) {
		request, err := readFrame(bytes.NewReader(stream))
		if err != nil {
			return
		}
		_, _ = answerFrame(t.Context(), model, request) // it must not panic
	})
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
