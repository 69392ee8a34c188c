package dataset

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"slices"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/table"
)

// gathered holds the rows of a source for repeated reading: in memory while they fit, then in an unlinked file.
type gathered struct {
	schema     *table.Schema
	rows       int
	labelled   int // rows used: with a target, and a weight other than 0
	ordered    int // of those, with a value in the order column
	unlabelled int
	weightless int
	heaviest   float64        // largest weight
	units      map[uint64]int // number of rows by the hash of their unit; nil if there are too many units
	digest     Digest
	identities []identity // of the features

	chunks  []*table.Table // nil once spilled to disk
	cells   int
	spilled *spill
}

// maxUnits limits the memory for the values of the column of units.
const maxUnits = 1 << 22

func gather(ctx context.Context, source table.Source, labels *encode.Labels, o Options) (*gathered, error) {
	g := &gathered{units: map[uint64]int{}, schema: source.Schema()}
	if err := o.suit(g.schema); err != nil {
		return nil, err
	}
	if err := g.readAll(ctx, source, labels, o); err != nil {
		return nil, errors.Join(err, g.close())
	}
	return g, nil
}

func (g *gathered) readAll(ctx context.Context, source table.Source, labels *encode.Labels, o Options) error {
	for {
		chunk, err := source.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if err := g.count(chunk, labels, o); err != nil {
			return inSource(err, g.rows)
		}
		if len(g.units) > maxUnits {
			return &table.Error{
				Row: -1, Column: o.By, Message: fmt.Sprintf("the column has more than %d different values: it keeps no rows together", maxUnits),
				Remedy: "name another column in Config.ValidationBy",
			}
		}
		if err := g.keep(chunk, o); err != nil {
			return err
		}
	}
	if g.spilled == nil {
		return nil
	}
	return g.spilled.flush()
}

// count updates the counters for a chunk.
func (g *gathered) count(chunk *table.Table, labels *encode.Labels, o Options) error {
	if err := g.weigh(chunk, o); err != nil {
		return err
	}
	counts := o.counts(chunk)
	if err := labels.Add(chunk.Column(o.Target), counts); err != nil {
		return err
	}
	by, order := chunk.Column(o.By), chunk.Column(o.OrderBy)
	for i := range chunk.Rows() {
		if !counts(i) {
			continue
		}
		g.labelled++
		if order != nil && order.Observed[i] {
			g.ordered++
		}
		switch {
		case by != nil:
			g.units[hashCell(o.Seed, by, i)]++
		case g.units != nil:
			g.units[hashRow(o.Seed, g.rows+i)]++
		}
	}
	g.rows += chunk.Rows()
	if by == nil && g.rows > exactUnits {
		g.units = nil
	}
	g.digest.Add(chunk)
	if o.Choose != nil {
		g.identify(chunk, o)
	}
	return nil
}

// inSource makes the row of an error about a chunk relative to its source; first is the number of the chunk's first
// row.
func inSource(err error, first int) error {
	if e, ok := errors.AsType[*table.Error](err); ok && e.Row >= 0 {
		e.Row += first
	}
	return err
}

// keep stores a chunk.
func (g *gathered) keep(chunk *table.Table, o Options) error {
	if g.spilled != nil {
		return g.spilled.append(chunk)
	}
	g.chunks = append(g.chunks, chunk)
	if g.cells += chunk.Rows() * len(chunk.Columns); g.cells <= o.MemoryCells {
		return nil
	}
	var err error
	if g.spilled, err = newSpill(o.Scratch); err != nil {
		return err
	}
	for _, kept := range g.chunks {
		if err := g.spilled.append(kept); err != nil {
			return err
		}
	}
	g.chunks = nil
	return nil
}

// each calls visit with every chunk and the number of its first row.
func (g *gathered) each(ctx context.Context, visit func(chunk *table.Table, first int) error) error {
	first := 0
	next := func(chunk *table.Table) error {
		if err := visit(chunk, first); err != nil {
			return inSource(err, first)
		}
		first += chunk.Rows()
		return nil
	}
	if g.spilled != nil {
		return g.spilled.each(ctx, next)
	}
	for _, chunk := range g.chunks {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := next(chunk); err != nil {
			return err
		}
	}
	return nil
}

func (g *gathered) close() error {
	g.chunks = nil
	if g.spilled == nil {
		return nil
	}
	return g.spilled.file.Close()
}

// counts returns a function that reports which rows of a chunk are used: those with a target, and a weight other than
// 0.
func (o Options) counts(chunk *table.Table) func(row int) bool {
	target, weight := chunk.Column(o.Target), chunk.Column(o.Weight)
	return func(i int) bool {
		return target.Observed[i] && (weight == nil || weight.Numbers[i] > 0)
	}
}

// weigh checks the weights of the rows of a chunk that have a target, and counts the skipped rows.
func (g *gathered) weigh(chunk *table.Table, o Options) error {
	weight := chunk.Column(o.Weight)
	for i, labelled := range chunk.Column(o.Target).Observed {
		if !labelled {
			g.unlabelled++
			continue
		}
		if weight == nil {
			continue
		}
		wrong := func(message string) error {
			return &table.Error{Row: i, Column: o.Weight, Message: message, Remedy: "write how much the row counts as a number, 0 to leave it out"}
		}
		switch w := weight.Numbers[i]; {
		case !weight.Observed[i]:
			return wrong("the weight is missing")
		case !(w >= 0) || math.IsInf(w, 0):
			return wrong(fmt.Sprintf("the weight %v is not a finite number from 0 up", w))
		case w == 0:
			g.weightless++
		default:
			g.heaviest = max(g.heaviest, w)
		}
	}
	return nil
}

// weights converts the cells of the weight column to weights with the mean 1 over the training rows. Sums are in a unit
// near the largest weight, a power of two, so that they cannot overflow.
type weights struct {
	column string // empty if all rows have the same weight
	unit   float64
	sum    float64 // of the training rows, in units
	rows   int     // number of training rows
}

// minWeight is the minimum weight, in units: it makes no difference for a row with such a small weight, and keeps its
// logarithm small.
const minWeight = 0x1p-100

func weightsOf(column string, all ...*gathered) weights {
	w := weights{column: column, unit: 1}
	heaviest := 0.0
	for _, g := range all {
		heaviest = max(heaviest, g.heaviest)
	}
	if heaviest > 0 {
		_, exponent := math.Frexp(heaviest)
		w.unit = math.Ldexp(1, exponent-1)
	}
	return w
}

// of returns the weights of the rows of a chunk in units; nil if all are equal.
func (w *weights) of(chunk *table.Table) []float64 {
	c := chunk.Column(w.column)
	if c == nil {
		return nil
	}
	in := make([]float64, c.Len())
	for i, v := range c.Numbers {
		in[i] = max(minWeight, v/w.unit)
	}
	return in
}

// add adds the training rows of a chunk.
func (w *weights) add(in []float64, training func(row int) bool) {
	for i, v := range in {
		if training(i) {
			w.sum += v
			w.rows++
		}
	}
}

// scaled returns the weights of the given rows of a chunk.
func (w *weights) scaled(chunk *table.Table, rows []int) []float32 {
	in := w.of(chunk)
	if in == nil {
		return slices.Repeat([]float32{1}, len(rows))
	}
	out := make([]float32, len(rows))
	for i, row := range rows {
		out[i] = float32(in[row] / w.sum * float64(w.rows))
	}
	return out
}

// longLabel is the length from which a label enters the digest by its own digest. A few bytes of a file can represent
// millions of rows with a label of 1 MiB.
const longLabel = 1 << 10

// columnDigest is the digest of the cells of a column.
type columnDigest struct {
	hash hash.Hash
	long [][]byte // digests of long labels by code, which has the same meaning in all chunks
}

func newColumnDigest(c *table.Column) *columnDigest {
	d := &columnDigest{hash: sha256.New()}
	_, _ = fmt.Fprintf(d.hash, "%q %v\n", c.Name, c.Kind) // a hash never fails
	return d
}

// add digests cells so that different columns give different bytes.
func (d *columnDigest) add(c *table.Column) {
	const part = 64 << 10
	b := make([]byte, 0, part)
	for i, observed := range c.Observed {
		if len(b) > part-2*longLabel {
			_, _ = d.hash.Write(b)
			b = b[:0]
		}
		switch {
		case !observed:
			b = append(b, 0)
		case c.Kind == table.Category:
			label := c.Levels[c.Codes[i]]
			b = binary.AppendUvarint(append(b, 1), uint64(len(label)))
			if len(label) < longLabel {
				b = append(b, label...)
			} else {
				b = append(b, d.longLabel(c, c.Codes[i])...)
			}
		default:
			b = binary.LittleEndian.AppendUint64(append(b, 1), math.Float64bits(c.Numbers[i]))
		}
	}
	_, _ = d.hash.Write(b)
}

func (d *columnDigest) longLabel(c *table.Column, code int32) []byte {
	if more := len(c.Levels) - len(d.long); more > 0 {
		d.long = append(d.long, make([][]byte, more)...)
	}
	if d.long[code] == nil {
		sum := sha256.Sum256([]byte(c.Levels[code]))
		d.long[code] = sum[:]
	}
	return d.long[code]
}

// Digest is the digest of all cells of a table, which may come in chunks.
type Digest struct{ columns []*columnDigest }

// Add adds the next rows, which must have the same columns each time.
func (d *Digest) Add(chunk *table.Table) {
	if d.columns == nil {
		for _, c := range chunk.Columns {
			d.columns = append(d.columns, newColumnDigest(c))
		}
	}
	for i, c := range chunk.Columns {
		d.columns[i].add(c)
	}
}

// String returns "sha256:…" of all rows so far.
func (d *Digest) String() string { return digestOf(d) }

// digestOf returns the digest of all cells of tables, in order.
func digestOf(all ...*Digest) string {
	whole := sha256.New()
	for _, d := range all {
		for _, c := range d.columns {
			_, _ = whole.Write(c.hash.Sum(nil))
		}
	}
	return "sha256:" + hex.EncodeToString(whole.Sum(nil))
}
