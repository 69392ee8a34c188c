package explain

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/psi-shapley/psi/table"
)

// jsonSchema identifies the format of the document.
const jsonSchema = "psi.explanation/v1"

// JSONWriter writes explanations of consecutive chunks of a table as one JSON document. It buffers only a small part of
// it. It is not safe for concurrent use.
type JSONWriter struct {
	out     io.Writer
	header  *Explanation // the first chunk without its rows; nil before it
	top     *top
	law     law
	text    []byte
	rows    int
	failure error
}

// NewJSONWriter returns a writer to w. Close does not close w.
func NewJSONWriter(w io.Writer) *JSONWriter { return &JSONWriter{out: w} }

// Write appends the rows of e, which must agree with earlier explanations in everything but the rows. An explanation
// without rows still sets the rest of the document.
func (w *JSONWriter) Write(e *Explanation) error {
	if w.failure == nil {
		w.failure = w.write(e)
	}
	return w.failure
}

// Close completes the document. It fails if an earlier Write failed, or if nothing was written.
func (w *JSONWriter) Close() error {
	if w.failure != nil {
		return w.failure
	}
	if w.header == nil {
		return errors.New("explain: no explanation was written")
	}
	w.text = append(w.text, "\n]}\n"...)
	if w.failure = w.flush(); w.failure != nil {
		return w.failure
	}
	w.failure = errors.New("explain: the document is closed")
	return nil
}

func (w *JSONWriter) write(e *Explanation) error {
	if err := e.Validate(); err != nil {
		return err
	}
	if w.header == nil {
		w.header = &Explanation{ // a copy, so that the rows of e can be freed
			Model: e.Model, Head: e.Head, Game: e.Game, Mode: e.Mode, Exact: e.Exact, Z: e.Z, Top: e.Top,
			Outputs: slices.Clone(e.Outputs), Scale: e.Scale, Players: slices.Clone(e.Players), NonNegative: e.NonNegative, Bags: e.Bags,
		}
		w.header.Std, w.header.ModelStd = e.Std[:0:0], e.ModelStd[:0:0]
		w.top, w.law = newTop(e.Top), e.law()
		w.appendHeader()
	}
	if what := difference(w.header, e); what != "" {
		return errors.New("explain: a chunk differs from the first one in its " + what)
	}
	const piece = 1 << 16
	for row := range e.Rows {
		if w.rows > 0 {
			w.text = append(w.text, ',')
		}
		w.text = append(w.text, '\n')
		w.appendRow(e, row)
		w.rows++
		if len(w.text) >= piece {
			if err := w.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *JSONWriter) flush() error {
	_, err := w.out.Write(w.text)
	w.text = w.text[:0]
	return err
}

// difference names the first property in which two chunks of one document differ.
func difference(a, b *Explanation) string {
	switch {
	case a.Model != b.Model:
		return "model"
	case a.Head != b.Head:
		return "head"
	case cmp.Or(a.Game, Observational) != cmp.Or(b.Game, Observational):
		return "game"
	case a.Mode != b.Mode:
		return "mode"
	case a.Exact != b.Exact:
		return "exactness"
	case a.Z != b.Z:
		return "z"
	case a.Top != b.Top:
		return "top"
	case a.Scale != b.Scale:
		return "scale"
	case a.NonNegative != b.NonNegative:
		return "sign"
	case a.Bags != b.Bags:
		return "bags"
	case !slices.Equal(a.Outputs, b.Outputs):
		return "outputs"
	case !slices.Equal(a.Players, b.Players):
		return "players"
	}
	return ""
}

func (w *JSONWriter) appendHeader() {
	e := w.header
	w.add(`{"schema":`).str(jsonSchema)
	w.add(`,"model":`)
	if e.Model == "" {
		w.add("null")
	} else {
		w.str(e.Model)
	}
	w.add(`,"head":`).str(e.Head)
	w.add(`,"game":`).str(string(cmp.Or(e.Game, Observational)))
	w.add(`,"mode":`).str(string(e.Mode))
	w.add(`,"exact":`).boolean(e.Exact)
	w.add(`,"z":`).number(e.Z)
	w.add(`,"interval":`).str(string(e.Interval()))
	w.add(`,"bags":`).number(float64(e.Bags))
	if e.NonNegative {
		w.add(`,"non_negative":true`)
	}
	w.add(`,"outputs":`).list(e.Outputs)
	w.add(`,"players":`).list(e.Players)
	w.add(`,"rows":[`)
}

func (w *JSONWriter) appendRow(e *Explanation, row int) {
	w.add("{")
	if e.File != "" {
		w.add(`"file":`).str(e.File)
		w.add(",")
	}
	w.add(`"row":`)
	w.text = strconv.AppendInt(w.text, int64(e.FirstRow+row), 10)
	if e.Evaluations != nil {
		w.add(`,"evaluations":`)
		w.text = strconv.AppendInt(w.text, int64(e.Evaluations[row]), 10)
	}
	if e.Slope != nil {
		w.add(`,"probability_slope":`).number(e.Slope[row])
	}
	w.add(`,"outputs":[`)
	for output, name := range e.Outputs {
		if output > 0 {
			w.add(",")
		}
		at := e.at(row, output)
		w.add(`{"output":`).str(name)
		w.add(`,"scale":`).str(string(e.Scale))
		w.add(`,"base":`).number(e.Base[at])
		w.add(`,"prediction":`).number(e.Prediction[at])
		if e.Clipped(at) {
			w.add(`,"clipped":true`)
		}
		w.add(`,"prediction_std":`).element(e.PredictionStd, at)
		if e.RangeStd != nil {
			w.add(`,"range_std":`).number(e.RangeStd[at])
		}
		if e.Scale.Logs() && e.Against == "" {
			lower, upper := e.Range(at)
			w.add(`,"response":`).number(e.Link().Response(e.Prediction[at]))
			w.add(`,"response_lower":`).number(lower)
			w.add(`,"response_upper":`).number(upper)
		}
		w.add(`,"hidden_std":`).element(e.HiddenStd, at)
		w.add(`,"probability":`).element(e.Probability, at)
		w.add(`,"residual":`).number(e.Residual[at])
		w.add(`,"attributions":[`)
		for d, a := range e.attributions(row, output, w.top, w.law) {
			if d > 0 {
				w.add(",")
			}
			w.attribution(a, e.Values[d], row)
		}
		w.add(`],"interactions":`).interactions(e, row, output)
		w.add("}")
	}
	w.add("]}")
}

func (w *JSONWriter) attribution(a Attribution, values *table.Column, row int) {
	w.add(`{"player":`).str(a.Player)
	w.add(`,"value":`).cell(values, row)
	w.add(`,"observed":`).boolean(a.Observed)
	w.add(`,"mean":`).number(a.Mean)
	w.add(`,"std":`).number(a.Std)
	w.add(`,"lower":`).number(a.Lower)
	w.add(`,"upper":`).number(a.Upper)
	w.add(`,"spread_lower":`).number(a.Mean - w.header.Z*a.Std)
	w.add(`,"spread_upper":`).number(a.Mean + w.header.Z*a.Std)
	w.add(`,"p_positive":`).number(a.PPositive)
	w.add(`,"p_top":`).number(a.PTop)
	w.add(`,"standard_error":`).number(a.StandardError)
	w.add(`,"model_std":`).number(a.ModelStd)
	w.add("}")
}

// interactions lists all pairs, a before b in player order.
func (w *JSONWriter) interactions(e *Explanation, row, output int) {
	if e.Interactions == nil {
		w.add("null")
		return
	}
	first := true
	w.add("[")
	for a := range e.Players {
		for b := a + 1; b < len(e.Players); b++ {
			if !first {
				w.add(",")
			}
			first = false
			at := e.pairAt(row, output, a, b)
			w.add(`{"a":`).str(e.Players[a])
			w.add(`,"b":`).str(e.Players[b])
			w.add(`,"value":`).number(e.Interactions[at])
			w.add(`,"standard_error":`).element(e.InteractionError, at)
			w.add("}")
		}
	}
	w.add("]")
}

// cell writes the user's cell according to the kind of its column.
func (w *JSONWriter) cell(column *table.Column, row int) {
	switch {
	case column == nil || !column.Observed[row]:
		w.add("null")
	case column.Kind == table.Number:
		w.number(column.Numbers[row])
	case column.Kind == table.Boolean:
		w.boolean(column.Numbers[row] == 1)
	default:
		w.str(column.Text(row))
	}
}

func (w *JSONWriter) add(text string) *JSONWriter {
	w.text = append(w.text, text...)
	return w
}

// element writes an element of an array that may be nil.
func (w *JSONWriter) element(values []float64, at int) {
	if values == nil {
		w.add("null")
		return
	}
	w.number(values[at])
}

// number writes the fewest digits that read back as v.
func (w *JSONWriter) number(v float64) {
	if !finite(v) {
		w.add("null")
		return
	}
	format := byte('f')
	if size := math.Abs(v); size != 0 && (size < 1e-6 || size >= 1e21) {
		format = 'e'
	}
	w.text = strconv.AppendFloat(w.text, v, format, -1, 64)
}

func (w *JSONWriter) boolean(v bool) { w.text = strconv.AppendBool(w.text, v) }

func (w *JSONWriter) list(names []string) {
	w.add("[")
	for i, name := range names {
		if i > 0 {
			w.add(",")
		}
		w.str(name)
	}
	w.add("]")
}

func (w *JSONWriter) str(text string) {
	plain := true
	for i := range len(text) {
		c := text[i]
		plain = plain && c >= ' ' && c < 0x7f && c != '"' && c != '\\'
	}
	if plain {
		w.add(`"`).add(text).add(`"`)
		return
	}
	quoted, _ := json.Marshal(text) // strings never fail
	w.text = append(w.text, quoted...)
}
