package batch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/internal/store"
	"github.com/psi-shapley/psi/table"
)

const (
	referenceKeys    = "_psi/reference" // and the end of the file's name
	maxReferenceFile = 64 << 20
)

// referenceTable is a table of reference rows.
type referenceTable struct {
	Reference
	name    string // as the request has it
	content []byte
	rows    *table.Table
}

// readReference reads the table of reference rows of a request; nil if it has none.
func (q *Request) readReference(ctx context.Context, m *psi.Model) (*referenceTable, error) {
	if q.Reference == "" {
		return nil, nil //nolint:nilnil // the model's own game has none
	}
	in, pattern, err := store.Open(ctx, q.Reference)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	key, single := store.Single(pattern)
	if !single {
		return nil, fmt.Errorf("%s is no file: name a table of reference rows", q.Reference)
	}
	r := &referenceTable{name: q.Reference}
	if r.content, err = in.Read(ctx, key, maxReferenceFile); err != nil {
		return nil, err
	}
	_, end, _ := strings.Cut(path.Base(key), ".")
	r.Key, r.Digest = referenceKeys+"."+end, digestOf(r.content)
	if r.rows, err = parseReference(ctx, m, r.Key, q.Reference, r.content); err != nil {
		return nil, err
	}
	r.Reference.Rows = r.rows.Rows()
	return r, nil
}

// parseReference parses a table of reference rows: only the columns that the model uses. The key ends like the format.
func parseReference(ctx context.Context, m *psi.Model, key, name string, content []byte) (*table.Table, error) {
	format, err := table.FormatOf(key)
	if err != nil {
		return nil, err
	}
	source, err := table.OpenReader(bytes.NewReader(content), format, readOptions(m, name))
	if err != nil {
		return nil, err
	}
	defer source.Close()
	return table.ReadAll(ctx, source)
}

// table returns the reference rows; nil if there are none.
func (r *referenceTable) table() *table.Table {
	if r == nil {
		return nil
	}
	return r.rows
}

// check returns why the model cannot explain against the reference rows. No row is explained.
func (r *referenceTable) check(ctx context.Context, m *psi.Model, how psi.ExplainOptions) error {
	if r == nil {
		return nil
	}
	for _, err := range m.Explanations(ctx, r.rows.Select([]int{}).Source(), how) {
		if cell, is := errors.AsType[*table.Error](err); is && cell.File == "" && !errors.Is(err, psi.ErrSetting) {
			of := *cell
			of.File = r.name
			return &of
		}
		return err
	}
	return nil
}

// readReference reads the job's reference rows from its results.
func (t *task) readReference(ctx context.Context) (*table.Table, error) {
	if t.Reference == nil {
		return nil, nil //nolint:nilnil // the model's own game has none
	}
	name := t.out.Name(t.Reference.Key)
	content, err := t.out.Read(ctx, t.Reference.Key, maxReferenceFile)
	if errors.Is(err, store.ErrNotFound) {
		return nil, fmt.Errorf("%s: the reference rows of the job are missing", name)
	}
	if err != nil {
		return nil, err
	}
	if got := digestOf(content); got != t.Reference.Digest {
		return nil, fmt.Errorf("%s does not hold the reference rows of the job: its digest is %s, not %s", name, got, t.Reference.Digest)
	}
	return parseReference(ctx, t.model, t.Reference.Key, name, content)
}

// inGameOf reports whether the job's game is the model's own.
func (j *Job) inGameOf(m *psi.Model) bool {
	return j.Options.Game == "" || j.Options.Game == m.Game()
}

// pairsOfChunk is the number of pairs of a row and a reference row that are evaluated until a worker looks whether it should
// stop: a few seconds.
const pairsOfChunk = 100_000

// chunkRows returns the rows that are read at a time; 0 means as many as usual.
func (t *task) chunkRows() int {
	if t.Reference == nil {
		return 0
	}
	return max(1, min(8192, pairsOfChunk/max(1, t.Reference.Rows)))
}
