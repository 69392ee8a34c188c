package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/table"
)

// pipeRequest is the header of a request. The body contains rows: an Arrow stream, or numbers. Rows of the reference
// follow, an Arrow stream.
type pipeRequest struct {
	Predict      bool     `json:"predict"` // predict instead of explain
	Numbers      int      `json:"numbers"` // the rows are the model's columns one after the other, each with this many 64-bit floats
	Unknown      []string `json:"unknown"`
	Output       string   `json:"output"`
	Interactions bool     `json:"interactions"`
	NoDoubt      bool     `json:"no_doubt"`
	Game         psi.Game `json:"game"`
	Reference    int      `json:"reference"` // bytes of the reference
	Layout       string   `json:"layout"`    // answer with an Arrow stream, "wide" or "long"; "" answers with arrays
}

// pipeAnswer is the header of an answer. The body contains the arrays one after the other, as 64-bit floats.
type pipeAnswer struct {
	Arrays []pipeArray `json:"arrays"`
}

type pipeArray struct {
	Name   string `json:"name"`
	Length int    `json:"length"`

	values []float64
}

// answerFrame computes the answer to a request.
func answerFrame(ctx context.Context, model *psi.Model, request frame) (frame, error) {
	var q pipeRequest
	if err := json.Unmarshal(request.header, &q); err != nil {
		return frame{}, fmt.Errorf("the header of a request: %w", err)
	}
	rows, reference, err := q.tables(ctx, model, request.body)
	if err != nil {
		return frame{}, err
	}
	if q.Predict {
		answer, err := pass(ctx, model, psi.Spread, rows, q.Unknown)
		if err != nil {
			return frame{}, err
		}
		return arrays(request.id, predictionArrays(answer.Prediction())...)
	}
	e, err := q.explain(ctx, model, rows, reference)
	if err != nil {
		return frame{}, err
	}
	if q.Layout != "" {
		return arrowAnswer(ctx, request.id, e, q.Layout)
	}
	return arrays(request.id, explanationArrays(e)...)
}

// tables returns the rows and the reference of a request; the reference is nil if there is none.
func (q *pipeRequest) tables(ctx context.Context, model *psi.Model, body []byte) (rows, reference *table.Table, err error) {
	if q.Reference < 0 || q.Reference > len(body) {
		return nil, nil, fmt.Errorf("the reference has %d bytes of %d", q.Reference, len(body))
	}
	end := len(body) - q.Reference
	if q.Numbers != 0 {
		rows, err = numberTable(model.Columns(), q.Numbers, body[:end])
	} else {
		rows, err = arrowTable(ctx, model, body[:end])
	}
	if err == nil && q.Reference > 0 {
		reference, err = arrowTable(ctx, model, body[end:])
	}
	return rows, reference, err
}

// numberTable returns a table of 64-bit floats, column by column; NaN is missing.
func numberTable(names []string, rows int, body []byte) (*table.Table, error) {
	if rows < 1 || len(body)%8 != 0 || len(body)/8/rows != len(names) || len(body)/8%rows != 0 {
		return nil, fmt.Errorf("%d bytes are not %d rows of %d numbers", len(body), rows, len(names))
	}
	columns := make([]*table.Column, len(names))
	for d, name := range names {
		values := make([]float64, rows)
		for i := range values {
			values[i] = math.Float64frombits(binary.LittleEndian.Uint64(body[8*(d*rows+i):]))
		}
		columns[d] = table.NumberColumn(name, values, nil)
	}
	return table.New(columns...)
}

// arrowTable reads an Arrow stream as the model reads its columns.
func arrowTable(ctx context.Context, model *psi.Model, stream []byte) (*table.Table, error) {
	options := model.ReadOptions()
	source, err := table.OpenReader(bytes.NewReader(stream), table.Arrow, options)
	if err != nil {
		return nil, err
	}
	defer source.Close()
	return table.ReadAll(ctx, source)
}

func (q *pipeRequest) explain(ctx context.Context, model *psi.Model, rows, reference *table.Table) (*explain.Explanation, error) {
	how := psi.ExplainOptions{
		Unknown: q.Unknown, Output: q.Output, Interactions: q.Interactions, NoDoubt: q.NoDoubt, Game: q.Game, Reference: reference,
	}
	if q.Interactions || q.NoDoubt || q.Game != "" || reference != nil {
		return model.Explain(ctx, rows.Source(), how)
	}
	answer, err := pass(ctx, model, psi.Doubt, rows, q.Unknown) // without the pipeline of chunks, which a single request does not need
	if err != nil {
		return nil, err
	}
	return answer.Explanation(how)
}

func pass(ctx context.Context, model *psi.Model, depth psi.Depth, t *table.Table, unknown []string) (*psi.Answer, error) {
	rows, err := model.Read(t, unknown...)
	if err != nil {
		return nil, err
	}
	answers, err := model.Pass(ctx, depth, rows)
	if err != nil {
		return nil, err
	}
	return answers[0], nil
}

// predictionArrays returns the numbers of a prediction; those that the model does not know are nil.
func predictionArrays(p *psi.Prediction) []pipeArray {
	if p.Classes == nil {
		return []pipeArray{
			{Name: "prediction", values: p.Mean},
			{Name: "prediction_std", values: p.Std},
			{Name: "range_std", values: p.RangeStd},
			{Name: "range_lower", values: p.Lower},
			{Name: "range_upper", values: p.Upper},
		}
	}
	labels := make([]float64, p.Rows())
	for i := range labels {
		labels[i] = float64(p.Label(i))
	}
	return []pipeArray{{Name: "label", values: labels}, {Name: "probability", values: p.Probability}, {Name: "score", values: p.Mean}, {Name: "score_std", values: p.Std}}
}

// explanationArrays returns the numbers of an explanation; those that the model does not know are nil.
func explanationArrays(e *explain.Explanation) []pipeArray {
	return []pipeArray{
		{Name: "base", values: e.Base},
		{Name: "prediction", values: e.Prediction},
		{Name: "prediction_std", values: e.PredictionStd},
		{Name: "probability", values: e.Probability},
		{Name: "mean", values: e.Mean},
		{Name: "std", values: e.Std},
		{Name: "model_std", values: e.ModelStd},
		{Name: "interactions", values: e.Interactions},
	}
}

// arrays returns an answer with the arrays that are not nil.
func arrays(id uint32, all ...pipeArray) (frame, error) {
	var header pipeAnswer
	total := 0
	for _, a := range all {
		if a.values != nil {
			a.Length = len(a.values)
			total += a.Length
			header.Arrays = append(header.Arrays, a)
		}
	}
	f := frame{id: id, body: make([]byte, 0, 8*total)}
	for _, a := range header.Arrays {
		for _, v := range a.values {
			f.body = binary.LittleEndian.AppendUint64(f.body, math.Float64bits(v))
		}
	}
	var err error
	f.header, err = json.Marshal(header)
	return f, err
}

// arrowAnswer returns an explanation as an Arrow stream, with the columns of psi explain.
func arrowAnswer(ctx context.Context, id uint32, e *explain.Explanation, layout string) (frame, error) {
	t, err := e.Wide()
	if layout == "long" {
		t, err = e.Long()
	}
	if err != nil {
		return frame{}, err
	}
	var body bytes.Buffer
	sink, err := table.NewSink(&body, table.Arrow)
	if err != nil {
		return frame{}, err
	}
	if err := sink.Write(ctx, t); err != nil {
		return frame{}, err
	}
	err = sink.Close()
	return frame{id: id, header: []byte("{}"), body: body.Bytes()}, err
}
