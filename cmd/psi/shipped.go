package main

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/psi-shapley/psi/internal/prose"
	"github.com/psi-shapley/psi/table"
)

// shippedTables are real tables, each with its citation. The script prepare beside them
// made them.
//
//go:embed tables/*.csv.gz tables/*.txt
var shippedTables embed.FS

func shippedNames() []string { return []string{"bike", "adult"} }

// shipped reads a real table, or the given number of its rows, chosen at random in their order.
func shipped(ctx context.Context, name string, rows int, seed uint64) (t *table.Table, citation string, err error) {
	packed, err := shippedTables.ReadFile("tables/" + name + ".csv.gz")
	if err != nil {
		return nil, "", err
	}
	text, err := shippedTables.ReadFile("tables/" + name + ".txt")
	if err != nil {
		return nil, "", err
	}
	source, err := table.OpenReader(bytes.NewReader(packed), table.CSV, table.Options{Name: name, SampleRows: -1})
	if err != nil {
		return nil, "", err
	}
	defer source.Close()
	if t, err = table.ReadAll(ctx, source); err != nil {
		return nil, "", err
	}
	if rows > t.Rows() {
		return nil, "", &usageError{fmt.Sprintf("%s has only %s", name, prose.Count(t.Rows(), "row")), "use a smaller --rows"}
	}
	if rows > 0 {
		const stream = 0x73616d706c65 // the second word of the seed
		chosen := rand.New(rand.NewPCG(seed, stream)).Perm(t.Rows())[:rows]
		slices.Sort(chosen)
		t = t.Select(chosen)
	}
	return t, string(text), nil
}
