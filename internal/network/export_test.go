package network

import "github.com/gomlx/gomlx/core/graph"

// GaussLegendre is the rule that attributions are integrated by.
var GaussLegendre = gaussLegendre

// Embeddings are z_d [D, B, Z].
func (f *Forward) Embeddings() *graph.Node { return f.z }

// SetPassRows makes passes smaller than PassRows, for tests that look at few rows.
func (e *Evaluator) SetPassRows(rows int) { e.rows = rows }
