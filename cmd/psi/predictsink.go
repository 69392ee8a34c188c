package main

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"strconv"

	"github.com/psi-shapley/psi"
)

// predictionSink writes predictions.
type predictionSink struct {
	table    tableSink // one of these two is set
	json     *stage
	withFile bool            // rows include their file
	count    int             // rows written
	text     []byte          // JSON of some rows
	none     *psi.Prediction // prediction without rows
	labels   [][]byte        // classes as JSON
}

func (p *program) predictionSink(ctx context.Context, to destination, m *psi.Model, withFile bool) (*predictionSink, error) {
	s := &predictionSink{withFile: withFile, none: m.NoPrediction()}
	var err error
	if !to.json {
		s.table, err = p.tableSink(ctx, to)
		return s, err
	}
	for _, class := range s.none.Classes {
		s.labels = append(s.labels, jsonText(class))
	}
	if s.json, err = p.stage(ctx, to); err != nil {
		return nil, err
	}
	s.text = append(s.text, `{"schema":"psi.prediction/v1","model":"`+m.Digest()+`","rows":[`...)
	return s, nil
}

func (s *predictionSink) write(ctx context.Context, of ofFile[*psi.Prediction]) error {
	s.count += of.rows.Rows()
	if s.json != nil {
		return s.writeJSON(of)
	}
	t, err := of.rows.Table()
	if err != nil {
		return err
	}
	if s.withFile {
		if t, err = withFile(t, of.file); err != nil {
			return err
		}
	}
	return s.table.Write(ctx, t)
}

func (s *predictionSink) writeJSON(of ofFile[*psi.Prediction]) error {
	start := []byte(`{"row":`)
	if s.withFile {
		start = append(append([]byte(`{"file":`), jsonText(of.file)...), `,"row":`...)
	}
	first := s.count == of.rows.Rows()
	for i := range of.rows.Rows() {
		if !first || i > 0 {
			s.text = append(s.text, ',')
		}
		s.text = append(append(s.text, '\n'), start...)
		s.text = strconv.AppendInt(s.text, int64(of.rows.FirstRow+i), 10)
		s.text = append(s.text, `,"prediction":`...)
		s.appendPrediction(of.rows, i)
		s.text = append(s.text, '}')
	}
	_, err := s.json.Write(s.text)
	s.text = s.text[:0]
	return err
}

// appendPrediction writes a number or the most probable class, with its uncertainties and probabilities.
func (s *predictionSink) appendPrediction(p *psi.Prediction, row int) {
	add := func(name string, v float64) { s.text = appendNumber(append(s.text, `,"`+name+`":`...), v) }
	if p.Classes == nil {
		s.text = appendNumber(s.text, p.Mean[row])
		add("prediction_std", p.Std[row])
		if p.RangeStd != nil {
			add("range_std", p.RangeStd[row])
		}
		add("range_lower", p.Lower[row])
		add("range_upper", p.Upper[row])
		return
	}
	s.text = append(s.text, s.labels[p.Label(row)]...)
	if len(p.Classes) == 2 {
		add("probability", p.Probability[row])
		add("score", p.Mean[row])
		add("score_std", p.Std[row])
		if p.Slope != nil {
			add("probability_slope", p.Slope[row])
		}
		return
	}
	s.text = append(s.text, `,"probabilities":`...)
	for c, label := range s.labels {
		separator := byte(',')
		if c == 0 {
			separator = '{'
		}
		s.text = append(append(append(s.text, separator), label...), ':')
		s.text = appendNumber(s.text, p.Probability[row*len(s.labels)+c])
	}
	s.text = append(s.text, '}')
}

// jsonText encodes a text as JSON, without escaping < and >.
func jsonText(text string) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text) // neither a string nor a Buffer can fail
	return bytes.TrimSpace(out.Bytes())
}

// appendNumber writes null for NaN and infinity.
func appendNumber(text []byte, v float64) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return append(text, "null"...)
	}
	return strconv.AppendFloat(text, v, 'g', -1, 64)
}

// Close completes the output; a table without rows still has its columns.
func (s *predictionSink) Close() error {
	if s.json != nil {
		if _, err := s.json.Write(append(s.text, "\n]}\n"...)); err != nil {
			return err
		}
		return s.json.Close()
	}
	if s.count == 0 {
		if err := s.write(context.Background(), ofFile[*psi.Prediction]{rows: s.none}); err != nil {
			return err
		}
	}
	return s.table.Close()
}

// Abort discards incomplete output; after Close it does nothing.
func (s *predictionSink) Abort() error {
	if s.json != nil {
		return s.json.Abort()
	}
	return s.table.Abort()
}
