package main

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"

	"github.com/psi-shapley/psi/internal/pipeline"
	"github.com/psi-shapley/psi/table"
)

// drawn draws at most so many of the rows of all tables at random, the same at each call, and keeps their order. It also
// counts the rows. The table is nil if there are none.
func (d *modelData) drawn(ctx context.Context, most int) (*table.Table, int, error) {
	source, err := d.whole(ctx)
	if err != nil {
		return nil, 0, err
	}
	ahead := pipeline.ReadAhead(ctx, source)
	defer ahead.Close()
	return reservoir(ctx, ahead, most)
}

// reservoir draws rows of a source: row number s takes a place with probability most/s. Rows that lose theirs later are
// kept until the end, about most·ln(rows/most).
func reservoir(ctx context.Context, source table.Source, most int) (*table.Table, int, error) {
	rng := rand.New(rand.NewPCG(0, 0))
	var (
		parts      []*table.Table
		places     []int // of rows in parts
		seen, kept int
	)
	for {
		chunk, err := source.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, 0, err
		}
		var rows []int
		for row := range chunk.Rows() {
			if seen++; seen <= most {
				places = append(places, kept+len(rows))
			} else if at := rng.IntN(seen); at < most {
				places[at] = kept + len(rows)
			} else {
				continue
			}
			rows = append(rows, row)
		}
		parts, kept = append(parts, chunk.Select(rows)), kept+len(rows)
	}
	if seen == 0 {
		return nil, 0, nil
	}
	all, err := table.Concat(parts)
	if err != nil {
		return nil, 0, err
	}
	slices.Sort(places)
	return all.Select(places), seen, nil
}
