package main

import (
	"context"
	"encoding/json"
	"math"
	"strconv"

	"github.com/psi-shapley/psi"
)

// predictionSink writes predictions.
type predictionSink struct {
	table    tableSink // one of these two is there
	json     *stage
	withFile bool   // rows name their file
	count    int    // rows written
	text     []byte // JSON of some rows
}

func (p *program) predictionSink(to destination, digest string, withFile bool) (*predictionSink, error) {
	s := &predictionSink{withFile: withFile}
	var err error
	if !to.json {
		s.table, err = p.tableSink(to)
		return s, err
	}
	if s.json, err = p.stage(to); err != nil {
		return nil, err
	}
	s.text = append(s.text, `{"schema":"psi.prediction/v1","model":"`+digest+`","rows":[`...)
	return s, nil
}

func (s *predictionSink) write(ctx context.Context, of ofFile[*psi.Prediction]) error {
	s.count += len(of.rows.Mean)
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
		name, err := json.Marshal(of.file)
		if err != nil {
			return err
		}
		start = append(append([]byte(`{"file":`), name...), `,"row":`...)
	}
	first := s.count == len(of.rows.Mean)
	for i, mean := range of.rows.Mean {
		if !first || i > 0 {
			s.text = append(s.text, ',')
		}
		s.text = append(append(s.text, '\n'), start...)
		s.text = strconv.AppendInt(s.text, int64(of.rows.FirstRow+i), 10)
		s.text = appendNumber(append(s.text, `,"prediction":`...), mean)
		s.text = appendNumber(append(s.text, `,"prediction_std":`...), of.rows.Std[i])
		s.text = append(s.text, '}')
	}
	_, err := s.json.Write(s.text)
	s.text = s.text[:0]
	return err
}

// appendNumber writes null for what is no number.
func appendNumber(text []byte, v float64) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return append(text, "null"...)
	}
	return strconv.AppendFloat(text, v, 'g', -1, 64)
}

// Close completes the output; a table of no rows still has its columns.
func (s *predictionSink) Close() error {
	if s.json != nil {
		if _, err := s.json.Write(append(s.text, "\n]}\n"...)); err != nil {
			return err
		}
		return s.json.Close()
	}
	if s.count == 0 {
		if err := s.write(context.Background(), ofFile[*psi.Prediction]{rows: &psi.Prediction{}}); err != nil {
			return err
		}
	}
	return s.table.Close()
}

// Abort drops what is not complete; after Close it does nothing.
func (s *predictionSink) Abort() error {
	if s.json != nil {
		return s.json.Abort()
	}
	return s.table.Abort()
}
