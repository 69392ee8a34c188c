// Package learn trains the product form of the exact head by hand-written loops. A step computes the loss of a
// minibatch, its gradient, clipping, AdamW and the moving average of the weights. It needs no tensor engine.
//
// A column's network is evaluated once for each distinct cell of a minibatch. A copy of a row is then a list of
// offsets, one per column: those of its cells' factors or, for absent columns, of their baselines. Its value is Σ_k w_k
// (Π_d F_dk − Π_d (1 + c_dk)).
//
// Work is divided among cores into shares that do not depend on the number of cores, and no two shares add to the same
// number. The same minibatches therefore give the same bytes on any number of cores.
//
// The names follow docs/equations.md.
package learn
