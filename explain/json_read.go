package explain

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/psi-shapley/psi/table"
)

type jsonDocument struct {
	Schema      string    `json:"schema"`
	Model       *string   `json:"model"`
	Head        string    `json:"head"`
	Game        Game      `json:"game"`
	Mode        Mode      `json:"mode"`
	Exact       bool      `json:"exact"`
	Z           float64   `json:"z"`
	Interval    Interval  `json:"interval"`
	Bags        int       `json:"bags"`
	NonNegative bool      `json:"non_negative"`
	Outputs     []string  `json:"outputs"`
	Players     []string  `json:"players"`
	Rows        []jsonRow `json:"rows"`
}

type jsonRow struct {
	File        string       `json:"file"`
	Row         int          `json:"row"`
	Evaluations *int         `json:"evaluations"`
	Slope       *float64     `json:"probability_slope"`
	Outputs     []jsonOutput `json:"outputs"`
}

type jsonOutput struct {
	Output        string            `json:"output"`
	Scale         Scale             `json:"scale"`
	Base          *float64          `json:"base"`
	Prediction    *float64          `json:"prediction"`
	PredictionStd *float64          `json:"prediction_std"`
	RangeStd      *float64          `json:"range_std"`
	HiddenStd     *float64          `json:"hidden_std"`
	Probability   *float64          `json:"probability"`
	Residual      *float64          `json:"residual"`
	Attributions  []jsonAttribution `json:"attributions"`
	Interactions  []jsonInteraction `json:"interactions"`
}

type jsonAttribution struct {
	Player        string   `json:"player"`
	Value         any      `json:"value"`
	Observed      bool     `json:"observed"`
	Mean          *float64 `json:"mean"`
	Std           *float64 `json:"std"`
	PTop          *float64 `json:"p_top"`
	StandardError *float64 `json:"standard_error"`
	ModelStd      *float64 `json:"model_std"`
}

type jsonInteraction struct {
	A             string   `json:"a"`
	B             string   `json:"b"`
	Value         *float64 `json:"value"`
	StandardError *float64 `json:"standard_error"`
}

// ReadJSON reads a document written by a [JSONWriter] into memory. Some properties are not in the document and are
// approximated:
//   - a time becomes the label that it was written as;
//   - booleans become false and true;
//   - a column without observed cells becomes nil;
//   - Scale is Identity if there are no rows;
//   - Top is the sum of a row's p_top, which is K or, in rows with fewer players, their number.
func ReadJSON(r io.Reader) (*Explanation, error) {
	var document jsonDocument
	decoder := json.NewDecoder(r)
	if err := decoder.Decode(&document); err != nil {
		return nil, fmt.Errorf("explain: not an explanation in JSON: %w", err)
	}
	if document.Schema != jsonSchema {
		return nil, fmt.Errorf("explain: the document's schema is %q, not %q", document.Schema, jsonSchema)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("explain: the document is followed by something else")
	}
	return document.explanation()
}

func (document *jsonDocument) explanation() (*Explanation, error) {
	e := &Explanation{
		Head: document.Head, Game: document.Game, Mode: document.Mode, Exact: document.Exact, Z: document.Z, Top: 1,
		Outputs: document.Outputs, Scale: Identity, Players: document.Players, NonNegative: document.NonNegative, Bags: document.Bags,
		Rows: len(document.Rows), Values: make([]*table.Column, len(document.Players)),
	}
	if document.Model != nil {
		e.Model = *document.Model
	}
	r := jsonReader{e: e}
	for i, row := range document.Rows {
		if i == 0 {
			e.FirstRow, e.File = row.Row, row.File
		}
		if row.File != e.File {
			return nil, fmt.Errorf("explain: rows of %q and of %q: an explanation is of one file", e.File, row.File)
		}
		if row.Row != e.FirstRow+i {
			return nil, fmt.Errorf("explain: row %d follows row %d", row.Row, e.FirstRow+i-1)
		}
		if row.Evaluations != nil {
			e.Evaluations = append(e.Evaluations, *row.Evaluations)
		}
		if row.Slope != nil {
			e.Slope = append(e.Slope, *row.Slope)
		}
		if err := r.row(row); err != nil {
			return nil, fmt.Errorf("explain: row %d: %w", row.Row, err)
		}
	}
	r.dropUnused()
	if document.Interval == NoInterval {
		e.Std = nil
	}
	for d := range e.Players {
		var err error
		if e.Values[d], err = readColumn(e.Players[d], document.Rows, d); err != nil {
			return nil, err
		}
	}
	if err := e.Validate(); err != nil {
		return nil, err
	}
	return e, nil
}

// jsonReader appends rows to e, so that memory grows with the content and not with claimed sizes. It records which of
// the optional arrays had a number.
type jsonReader struct {
	e                                                                       *Explanation
	hasProbability, hasError, hasModel, hasInteraction, hasInteractionError bool
	hasPredictionStd, hasHiddenStd                                          bool
}

func (r *jsonReader) row(row jsonRow) error {
	e := r.e
	if len(row.Outputs) == 0 || len(row.Outputs) != len(e.Outputs) {
		return fmt.Errorf("%d outputs instead of %d", len(row.Outputs), len(e.Outputs))
	}
	if len(e.Base) == 0 {
		e.Scale = row.Outputs[0].Scale
	}
	for c, output := range row.Outputs {
		if output.Output != e.Outputs[c] || output.Scale != e.Scale {
			return fmt.Errorf("output %q on scale %q where %q on %q belongs", output.Output, output.Scale, e.Outputs[c], e.Scale)
		}
		if err := r.output(output); err != nil {
			return fmt.Errorf("output %q: %w", output.Output, err)
		}
	}
	for _, a := range row.Outputs[0].Attributions {
		e.Observed = append(e.Observed, a.Observed)
	}
	return nil
}

func (r *jsonReader) output(output jsonOutput) error {
	e := r.e
	e.Base = append(e.Base, orNaN(output.Base))
	e.Prediction = append(e.Prediction, orNaN(output.Prediction))
	e.PredictionStd = append(e.PredictionStd, orNaN(output.PredictionStd))
	if output.RangeStd != nil {
		e.RangeStd = append(e.RangeStd, *output.RangeStd)
	}
	e.HiddenStd = append(e.HiddenStd, orNaN(output.HiddenStd))
	e.Probability = append(e.Probability, orNaN(output.Probability))
	e.Residual = append(e.Residual, orNaN(output.Residual))
	r.hasProbability = r.hasProbability || output.Probability != nil
	r.hasPredictionStd, r.hasHiddenStd = r.hasPredictionStd || output.PredictionStd != nil, r.hasHiddenStd || output.HiddenStd != nil

	if len(output.Attributions) != len(e.Players) {
		return fmt.Errorf("%d attributions for %d players", len(output.Attributions), len(e.Players))
	}
	places := 0.0
	for d, a := range output.Attributions {
		if a.Player != e.Players[d] {
			return fmt.Errorf("player %q where %q belongs", a.Player, e.Players[d])
		}
		e.Mean = append(e.Mean, orNaN(a.Mean))
		e.Std = append(e.Std, orNaN(a.Std))
		e.StandardError = append(e.StandardError, orNaN(a.StandardError))
		e.ModelStd = append(e.ModelStd, orNaN(a.ModelStd))
		r.hasError, r.hasModel = r.hasError || a.StandardError != nil, r.hasModel || a.ModelStd != nil
		if a.PTop != nil {
			places += *a.PTop
		}
	}
	e.Top = max(e.Top, int(math.Round(min(places, float64(len(e.Players))))))
	return r.interactions(output.Interactions)
}

func (r *jsonReader) interactions(list []jsonInteraction) error {
	if list == nil {
		return nil
	}
	e, n := r.e, len(r.e.Players)
	if len(list) != n*(n-1)/2 {
		return fmt.Errorf("%d interactions between %d players", len(list), n)
	}
	r.hasInteraction = true
	start := len(e.Interactions)
	e.Interactions = append(e.Interactions, make([]float64, n*n)...)
	e.InteractionError = append(e.InteractionError, make([]float64, n*n)...)
	for a := range n {
		for b := a + 1; b < n; b++ {
			pair := list[0]
			list = list[1:]
			if pair.A != e.Players[a] || pair.B != e.Players[b] {
				return fmt.Errorf("the interaction of %q and %q where that of %q and %q belongs", pair.A, pair.B, e.Players[a], e.Players[b])
			}
			for _, at := range []int{start + a*n + b, start + b*n + a} {
				e.Interactions[at] = orNaN(pair.Value)
				e.InteractionError[at] = orNaN(pair.StandardError)
			}
			r.hasInteractionError = r.hasInteractionError || pair.StandardError != nil
		}
	}
	return nil
}

func (r *jsonReader) dropUnused() {
	e := r.e
	for _, list := range []struct {
		has bool
		of  *[]float64
	}{
		{r.hasPredictionStd, &e.PredictionStd},
		{r.hasHiddenStd, &e.HiddenStd},
		{r.hasProbability, &e.Probability},
		{r.hasError, &e.StandardError},
		{r.hasModel, &e.ModelStd},
		{r.hasInteraction, &e.Interactions},
		{r.hasInteractionError, &e.InteractionError},
	} {
		if !list.has {
			*list.of = nil
		}
	}
}

// readColumn returns a column with the values of player d.
func readColumn(name string, rows []jsonRow, d int) (*table.Column, error) {
	var first any
	for _, row := range rows {
		if first = row.Outputs[0].Attributions[d].Value; first != nil {
			break
		}
	}
	switch first.(type) {
	case nil:
		return nil, nil
	case float64:
		if numbers, observed, ok := cells[float64](rows, d); ok {
			return table.NumberColumn(name, numbers, observed), nil
		}
	case string:
		if labels, observed, ok := cells[string](rows, d); ok {
			return table.CategoryColumn(name, labels, observed), nil
		}
	case bool:
		if truths, observed, ok := cells[bool](rows, d); ok {
			return table.BooleanColumn(name, truths, observed), nil
		}
	}
	return nil, fmt.Errorf("explain: the values of %q are not all numbers, all texts or all booleans", name)
}

// cells returns the values of player d, if all that are not null are of type T.
func cells[T any](rows []jsonRow, d int) (list []T, observed []bool, ok bool) {
	list, observed = make([]T, len(rows)), make([]bool, len(rows))
	for i, row := range rows {
		value := row.Outputs[0].Attributions[d].Value
		if value == nil {
			continue
		}
		if list[i], ok = value.(T); !ok {
			return nil, nil, false
		}
		observed[i] = true
	}
	return list, observed, true
}

func orNaN(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}
