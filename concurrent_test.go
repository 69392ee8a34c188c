package psi

import (
	"context"
	"io"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/table"
)

// chunked hands out tables, one after the other.
type chunked struct {
	table.Source
	left []*table.Table
}

func (c *chunked) Next(context.Context) (*table.Table, error) {
	if len(c.left) == 0 {
		return nil, io.EOF
	}
	next := c.left[0]
	c.left = c.left[1:]
	return next, nil
}

// inChunks are the rows of a table, a few at a time.
func inChunks(rows *table.Table, size int) *chunked {
	c := &chunked{Source: rows.Source()}
	for from := 0; from < rows.Rows(); from += size {
		c.left = append(c.left, part(rows, from, min(from+size, rows.Rows())))
	}
	return c
}

// What passes at once say of the chunks of a table is what one says of the whole, to the bit.
func TestConcurrentChunksAnswerAsTheWhole(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	rows := small(t, 300)
	m := trainSmall(t, rows, "number", "label", 1)
	if err := m.Save(filepath.Join(t.TempDir(), "m.psi")); err != nil {
		t.Fatal(err)
	}
	groups := []Group{{Name: "both", Columns: []string{"a", "b"}}}
	explained := func(source table.Source, groups []Group) *explain.Explanation {
		e, err := m.Explain(t.Context(), source, ExplainOptions{Groups: groups})
		if err != nil {
			t.Error(err)
			return &explain.Explanation{}
		}
		return e
	}
	want, grouped := explained(rows.Source(), nil), explained(rows.Source(), groups)
	var callers sync.WaitGroup
	for range 3 {
		callers.Go(func() {
			for name, c := range map[string]struct{ got, want *explain.Explanation }{
				"own players": {explained(inChunks(rows, 17), nil), want}, "groups": {explained(inChunks(rows, 17), groups), grouped},
			} {
				if !slices.Equal(c.got.Mean, c.want.Mean) || !slices.Equal(c.got.Std, c.want.Std) || !slices.Equal(c.got.Prediction, c.want.Prediction) || c.got.Model != c.want.Model {
					t.Errorf("%s: chunks say something else", name)
				}
			}
		})
	}
	callers.Wait()
	p, err := m.Predict(t.Context(), inChunks(rows, 17))
	if err != nil || !slices.Equal(p.Mean, want.Prediction) {
		t.Errorf("chunks predict something else: %v", err)
	}
	got, err := m.Evaluate(t.Context(), inChunks(rows, 17))
	if err != nil {
		t.Fatal(err)
	}
	one, err := m.Evaluate(t.Context(), rows.Source())
	if err != nil || !reflect.DeepEqual(got, one) {
		t.Errorf("chunks evaluate to %+v, the whole to %+v: %v", got, one, err)
	}
}
