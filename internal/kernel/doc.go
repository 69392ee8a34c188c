// Package kernel evaluates the product form of the exact head by hand-written loops: values of coalitions, Shapley attributions,
// pairwise interactions, σ_d and h of encoded rows. It needs no tensor engine.
//
// Every column has a small network of one cell, whose output is the cell's record: the gains of the cell's column in every channel,
// and what σ and h need of it. The rest of a pass is products over the records of a row. So what a cell contributes is computed
// once and kept: a category's records are a table, a number's are cached during a call.
//
// The names follow docs/equations.md: a column d with factor base_dk = 1 + c_dk and gain_dk = g_dk(x_d) − c_dk, K channels with
// weights w_kc for C outputs.
package kernel
