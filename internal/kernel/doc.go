// Package kernel evaluates the product form of the exact head by hand-written loops: values of coalitions, Shapley
// attributions, pairwise interactions, σ_d and h of encoded rows. It needs no tensor engine.
//
// Every column has a small network that maps a cell to its record: the gains of the column in every channel, and the
// inputs of σ and h. The rest of a pass consists of products over the records of a row. The contribution of a cell is
// therefore computed once and kept: the records of a category are a table, those of a number are cached during a call.
//
// The names follow docs/equations.md: a column d with factor base_dk = 1 + c_dk and gain_dk = g_dk(x_d) − c_dk, K
// channels with weights w_kc for C outputs.
package kernel
