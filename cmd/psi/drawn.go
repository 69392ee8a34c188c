package main

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"

	"github.com/psi-shapley/psi/internal/pipeline"
	"github.com/psi-shapley/psi/table"
)

// drawn draws at most the given number of rows of all tables at random, the same at each call. The first rows of a
// table may come from another time or place than the rest.
func (d *modelData) drawn(ctx context.Context, most int) (*table.Sample, error) {
	source, err := d.whole(ctx)
	if err != nil {
		return nil, err
	}
	ahead := pipeline.ReadAhead(ctx, source)
	defer ahead.Close()
	return reservoir(ctx, ahead, most)
}

// reservoir draws rows of a source with a fixed seed.
func reservoir(ctx context.Context, source table.Source, most int) (*table.Sample, error) {
	sample := table.NewSample(most, rand.New(rand.NewPCG(0, 0)))
	for {
		chunk, err := source.Next(ctx)
		if errors.Is(err, io.EOF) {
			return sample, nil
		}
		if err != nil {
			return nil, err
		}
		sample.Add(chunk)
	}
}
