package psi

import (
	"context"
	"errors"
	"io"
	"iter"
	"runtime"
	"slices"

	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/pipeline"
	"github.com/psi-shapley/psi/table"
)

// Depth selects how much a pass computes.
type Depth int

// Depths; each includes those before it.
const (
	Values       Depth = iota // predictions
	Spread                    // and standard deviations, and probabilities of classes
	Attributions              // and attributions
	Doubt                     // and their epistemic uncertainty, ModelStd
)

func (d Depth) String() string { return [...]string{"values", "spread", "attributions", "doubt"}[d] }

// Rows is the encoded input of one request. It is immutable and safe for concurrent use.
type Rows struct{ *chunk }

// Len returns the number of rows.
func (r *Rows) Len() int { return r.batch.Rows }

// Read encodes a table for Pass. It treats the columns named in unknown as missing, whether the table has them or not.
func (m *Model) Read(t *table.Table, unknown ...string) (*Rows, error) {
	if err := m.checkUnknown(unknown); err != nil {
		return nil, err
	}
	c, err := m.chunk(t, 0, unknown)
	return &Rows{c}, err
}

// Answer is the result of a pass for the rows of one request.
type Answer struct {
	Depth Depth

	model  *Model
	rows   *Rows
	answer *form.Answer
}

// Pass evaluates the rows of several requests together and returns one answer per request. A row's answer does not
// depend on the other rows. If an answer is not finite, Pass returns a *table.Error with the number of the row within
// its request.
func (m *Model) Pass(ctx context.Context, depth Depth, requests ...*Rows) ([]*Answer, error) {
	if len(requests) == 0 {
		return nil, nil
	}
	joined := requests[0].batch
	if len(requests) > 1 {
		joined = joined.Like(0)
		for _, r := range requests {
			joined.Append(r.batch)
		}
	}
	x, err := m.pass(ctx, depth, joined)
	if err != nil {
		return nil, notFinite(form.Renumber(err, func(row int) int {
			for _, r := range requests {
				if row < r.Len() {
					return row
				}
				row -= r.Len()
			}
			return row
		}), 0)
	}
	answers := make([]*Answer, len(requests))
	from := 0
	for i, r := range requests {
		answers[i] = &Answer{depth, m, r, x.Slice(from, from+r.Len(), joined.Rows)}
		from += r.Len()
	}
	return answers, nil
}

func (m *Model) pass(ctx context.Context, depth Depth, b *encode.Batch) (*form.Answer, error) {
	return m.own.Pass(ctx, b, [...]form.Want{0, form.Spread, form.Everything, form.Everything | form.Doubt}[depth])
}

// Rows returns the number of rows.
func (a *Answer) Rows() int { return a.rows.Len() }

// Prediction returns the predictions of the rows. At depth Values it has only Mean.
func (a *Answer) Prediction() *Prediction {
	return a.model.prediction(a.answer, a.rows.batch, a.rows.first)
}

// Explanation returns the explanation of mode Fast. It needs depth Attributions, or Doubt for ModelStd. It uses only Z,
// Top, Output and Against of o.
func (a *Answer) Explanation(o ExplainOptions) (*explain.Explanation, error) {
	o, err := a.model.settleExplain(ExplainOptions{Z: o.Z, Top: o.Top, Output: o.Output, Against: o.Against})
	if err != nil {
		return nil, err
	}
	return chosen(a.model.result(a.model.own, a.rows.chunk, a.answer, o), o)
}

// Memory estimates how many bytes the model takes. The native backend keeps the weights as saved and in its own layout,
// and the factors of labels. An engine keeps the weights, and buffers for a pass, once per compiled graph. The estimate
// was measured to be right within a factor of 2, on models with 12 to 1,000 columns and with 10⁵ labels.
func (m *Model) Memory() int64 {
	if m.mixed != nil {
		sum := int64(0)
		for _, member := range m.mixed {
			sum += member.Memory()
		}
		return sum
	}
	if m.ensemble != nil {
		return int64(m.manifest.Imported.Nodes) * treeNodeBytes
	}
	weights := 4 * int64(m.WeightCount())
	switch m.Backend() {
	case Native:
		return 3 * weights
	case "go":
		return 3*weights + 60*4*int64(m.numbersPerRow()*len(m.members))
	}
	return 20*weights + 170*4*int64(m.numbersPerRow()*len(m.members))
}

// observed reports whether a row has a cell in the column with this index in the encoder.
func (c *chunk) observed(row, place int) bool {
	return c.batch.Observed[row*c.batch.Players()+place] != 0
}

// span is a half-open range of rows; the zero value is all rows.
type span struct{ from, to int }

// chunk holds consecutive rows of a source, encoded for the model.
type chunk struct {
	first  int // number of the first row within the source
	table  *table.Table
	values []*table.Column // raw columns, in the order of the model's columns
	batch  *encode.Batch
}

// chunks reads the rows of a source that lie within the span. It treats the columns named in unknown as missing,
// whether the source has them or not.
func (m *Model) chunks(ctx context.Context, rows Source, within span, unknown []string) iter.Seq2[*chunk, error] {
	return func(yield func(*chunk, error) bool) {
		if err := m.checkUnknown(unknown); err != nil {
			yield(nil, err)
			return
		}
		for first := 0; within.to == 0 || first < within.to; {
			t, err := rows.Next(ctx)
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
			from, to := max(0, within.from-first), t.Rows()
			if within.to > 0 {
				to = min(to, within.to-first)
			}
			if from < to {
				c, err := m.chunk(part(t, from, to), first+from, unknown)
				if !yield(c, err) || err != nil {
					return
				}
			}
			first += t.Rows()
		}
	}
}

// part returns rows [from, to).
func part(t *table.Table, from, to int) *table.Table {
	if from == 0 && to == t.Rows() {
		return t
	}
	rows := make([]int, to-from)
	for i := range rows {
		rows[i] = from + i
	}
	return t.Select(rows)
}

func (m *Model) checkUnknown(unknown []string) error {
	for _, name := range unknown {
		if !slices.Contains(m.Columns(), name) {
			return &table.Error{Row: -1, Column: name, Message: "the model has no such column, so it cannot be marked as unknown", Remedy: "check the spelling"}
		}
	}
	return nil
}

func (m *Model) chunk(t *table.Table, first int, unknown []string) (*chunk, error) {
	t = m.read(t)
	c := &chunk{first: first, table: t}
	for _, f := range m.manifest.Columns {
		value := t.Column(f.Name)
		if value == nil {
			value = missing(f, t.Rows())
		}
		c.values = append(c.values, value)
	}
	var err error
	c.batch, err = m.encode(t, unknown...)
	return c, err
}

// encode encodes rows for the networks, or for the trees.
func (m *Model) encode(t *table.Table, unknown ...string) (*encode.Batch, error) {
	b, err := m.manifest.Encoder.Encode(t, unknown...)
	if err != nil {
		return nil, err
	}
	if m.ensemble != nil {
		b.Splits = m.ensemble.Codes(t)
	}
	for k, member := range m.mixed {
		of, err := member.encode(t, unknown...)
		if err != nil {
			return nil, err
		}
		if k == 0 {
			b.Splits = of.Splits
		} else {
			b.More = append(b.More, of)
		}
	}
	return b, nil
}

// read parses text columns that training read as numbers or times.
func (m *Model) read(t *table.Table) *table.Table {
	readings := m.manifest.readings()
	if len(readings) == 0 {
		return t
	}
	kinds := m.ReadOptions().Kinds
	read := &table.Table{Columns: slices.Clone(t.Columns)}
	for i, c := range t.Columns {
		if r := readings[c.Name]; r != nil {
			read.Columns[i] = c.Read(kinds[c.Name], r)
		}
	}
	return read
}

// missing returns a column without any cells.
func missing(f table.Field, rows int) *table.Column {
	c := &table.Column{Name: f.Name, Kind: f.Kind, Observed: make([]bool, rows)}
	if f.Kind == table.Category {
		c.Codes = slices.Repeat([]int32{-1}, rows)
	} else {
		c.Numbers = make([]float64, rows)
	}
	return c
}

// eachChunk computes f for every chunk of the rows on all cores, and yields the results in order.
func eachChunk[T any](ctx context.Context, m *Model, rows Source, within span, unknown []string, f func(context.Context, *chunk) (T, error)) iter.Seq2[T, error] {
	chunks := func(ctx context.Context) iter.Seq2[*chunk, error] { return m.chunks(ctx, rows, within, unknown) }
	return pipeline.InOrder(ctx, runtime.GOMAXPROCS(0), chunks, func(ctx context.Context, c *chunk) (T, error) {
		result, err := f(ctx, c)
		return result, notFinite(err, c.first)
	})
}

// notFinite turns the error of a row whose answer is not finite into a message for users. first is the number of the
// first evaluated row. Other errors are returned unchanged.
func notFinite(err error, first int) error {
	e, is := errors.AsType[*form.NotFiniteError](err)
	if !is {
		return err
	}
	return &table.Error{
		Row: first + e.Row, Message: "the model's answer for this row is NaN or infinite",
		Remedy: "check the row for extreme values; if it has none, train the model again", Err: err,
	}
}

// Sizes of the table that check builds.
const (
	checkBlocks  = 8   // blocks of columns
	checkColumns = 64  // columns of a block; their factors, each below 2, cannot overflow at any value
	checkRows    = 512 // maximum; fewer if a row takes many numbers
	minRows      = 32
	maxValues    = 256 // maximum of a column
	minValues    = 4
)
