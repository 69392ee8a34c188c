package main

import (
	"context"

	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/table"
)

func gameNames() []string {
	names := make([]string, 0, len(explain.Games()))
	for _, g := range explain.Games() {
		names = append(names, string(g))
	}
	return names
}

// maxReferenceRows is the number of rows of a reference table that are read: more than a game may have.
const maxReferenceRows = 1001

// reference reads the reference rows of a game; nil if the path is empty.
func (p *program) reference(ctx context.Context, of *modelData, path string) (*table.Table, error) {
	if path == "" {
		return nil, nil
	}
	d, err := p.data(ctx, path, "")
	if err != nil {
		return nil, err
	}
	in := &modelData{data: d, program: p, path: of.path, model: of.model, unknown: of.unknown}
	sample, err := in.drawn(ctx, maxReferenceRows)
	if err != nil {
		return nil, inFile(err, path)
	}
	rows, _ := sample.Rows()
	return rows, nil
}
