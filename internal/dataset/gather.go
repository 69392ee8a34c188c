package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"

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

	chunks []*table.Table // nil once spilled to disk
	cells  int
	spilt  *spill
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
	if g.spilt == nil {
		return nil
	}
	return g.spilt.flush()
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
	if g.spilt != nil {
		return g.spilt.append(chunk)
	}
	g.chunks = append(g.chunks, chunk)
	if g.cells += chunk.Rows() * len(chunk.Columns); g.cells <= o.MemoryCells {
		return nil
	}
	var err error
	if g.spilt, err = newSpill(o.Scratch); err != nil {
		return err
	}
	for _, held := range g.chunks {
		if err := g.spilt.append(held); err != nil {
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
	if g.spilt != nil {
		return g.spilt.each(ctx, next)
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
	if g.spilt == nil {
		return nil
	}
	return g.spilt.file.Close()
}
