package main

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"math"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/internal/pipeline"
	"github.com/psi-shapley/psi/internal/prose"
	"github.com/psi-shapley/psi/table"
)

func (p *program) predictCommand() *cobra.Command {
	var result resultFlags
	var backend choice
	c := &cobra.Command{
		Use:   "predict MODEL DATA",
		Short: "Predict rows without explaining them",
		Long: `predict writes the number of each row of DATA and its prediction.

For a number, two standard deviations follow in units of the target. prediction_std is the
model's standard deviation of the target around the prediction. range_std gives the range from
range_lower to range_upper, prediction ∓ 1.645 range_std. This range contains the target of
90 % of rows like those kept aside in training, also if cells are missing at random. If no
training row had a negative target, neither prediction nor range goes below 0.

For two classes, the prediction is the more probable class. The probability of the positive
class follows, with its score (log odds) and the standard deviation of the score. For more
classes, the probability of each follows.

Columns are matched by name, in any order. Missing cells need no imputation. DATA is a file or
a quoted pattern such as 'part-*.csv'; with a pattern, the first output column names the file.
DATA may also be the URL of either, or of a prefix in a bucket: s3://, gs://, azblob:// or
file://. For standard input, use - with --format.

Spreadsheets run text that starts with =, +, - or @ as a formula. If labels, column names or
file names come from people you do not trust, add --spreadsheet-safe to CSV that a spreadsheet
will open.`,
		Example: `  psi predict model.psi new.csv
  psi predict model.psi new.parquet -o predictions.parquet
  cat new.csv | psi predict model.psi - --format csv > predictions.csv`,
		Args: arguments(modelArgument, dataArgument),
	}
	result.add(c.Flags())
	addBackend(c.Flags(), &backend)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return p.predict(cmd.Context(), args[0], args[1], result, psi.Backend(backend.word))
	}
	return c
}

func (p *program) predict(ctx context.Context, path, argument string, result resultFlags, backend psi.Backend) (err error) {
	to, err := result.destination(csvFormat)
	if err != nil {
		return err
	}
	if err := p.checkFiles(ctx, result.force, []output{to.output()}, path, argument); err != nil {
		return err
	}
	rows, err := result.input(ctx, p, argument)
	if err != nil {
		return err
	}
	model, err := psi.OpenOptions{Backend: backend}.Open(path)
	if err != nil {
		return err
	}
	defer model.Close()
	out, err := p.predictionSink(ctx, to, model, rows.pattern)
	if err != nil {
		return err
	}
	defer out.Abort()
	in := &modelData{data: rows, program: p, model: model}
	err = pipeline.WriteBehind(ctx, in.predictions, out.write)
	p.reportUnread(&in.unread)
	if err != nil {
		return err
	}
	if err := out.Close(); err != nil {
		return err
	}
	return p.written(result, model.Digest(), out.count)
}

// ofFile is a result for some rows of a file.
type ofFile[T any] struct {
	file string
	rows T
}

// predictions predicts all tables.
func (d *modelData) predictions(ctx context.Context) iter.Seq2[ofFile[*psi.Prediction], error] {
	return func(yield func(ofFile[*psi.Prediction], error) bool) {
		for i := range d.parts() {
			for result, err := range d.predictPart(ctx, i) {
				if !yield(ofFile[*psi.Prediction]{d.data.part(i), result}, inFile(d.hint(err), d.data.part(i))) || err != nil {
					return
				}
			}
		}
	}
}

func (d *modelData) predictPart(ctx context.Context, i int) iter.Seq2[*psi.Prediction, error] {
	return func(yield func(*psi.Prediction, error) bool) {
		source, err := d.part(ctx, i)
		if err != nil {
			yield(nil, err)
			return
		}
		rows := pipeline.ReadAhead(ctx, source)
		defer rows.Close()
		d.model.Predictions(ctx, rows)(yield)
	}
}

// fileColumn returns a column with the name of the file in every row.
func fileColumn(file string, rows int) *table.Column {
	c := &table.Column{Name: "file", Kind: table.Category, Levels: []string{file}, Codes: make([]int32, rows), Observed: make([]bool, rows)}
	for i := range c.Observed {
		c.Observed[i] = true
	}
	return c
}

// withFile adds the name of the file as the first column.
func withFile(t *table.Table, file string) (*table.Table, error) {
	return table.New(append([]*table.Column{fileColumn(file, t.Rows())}, t.Columns...)...)
}

// written reports the content of a file, unless the document is the result itself.
func (p *program) written(result resultFlags, digest string, rows int) error {
	if result.out == "" || result.out == standardOutput {
		return nil
	}
	if result.json {
		return p.document(struct {
			Schema string `json:"schema"`
			Model  string `json:"model"`
			File   string `json:"file"`
			Rows   int    `json:"rows"`
		}{"psi.written/v1", digest, result.out, rows})
	}
	p.logf("%s: %s", result.out, prose.Count(rows, "row"))
	return nil
}

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
		if p.Std == nil {
			return
		}
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
		if p.Std != nil {
			add("score_std", p.Std[row])
		}
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
