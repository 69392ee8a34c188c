package network

import (
	"github.com/gomlx/gomlx/core/graph"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/form"
)

const FewCoalitions = fewCoalitions

// Embeddings are z_d [D, B, Z].
func (f *Forward) Embeddings() *graph.Node { return f.z }

// SetPassRows makes passes smaller than PassRows, for tests that look at few rows.
func (e *Evaluator) SetPassRows(rows int) { e.rows = rows }

// RowGame is the game of row i of b.
func (e *Evaluator) RowGame(b *encode.Batch, i int) *form.RowGame { return e.net.RowGame(e, b, i) }
