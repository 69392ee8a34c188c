// Package shapley computes the Shapley values of cooperative games.
//
// A cooperative game on the players N = {0, …, n−1} gives a value v(S) to every coalition S ⊆ N. The Shapley value of
// player i is its marginal contribution, averaged over all orders in which the players can join:
//
//	φ_i = Σ_{S ⊆ N∖{i}} |S|! (n−|S|−1)! / n! · [v(S∪{i}) − v(S)]
//
// It is the only division that satisfies four axioms. It is efficient (Σ_i φ_i = v(N) − v(∅)), symmetric and linear in v,
// and it gives nothing to a player without a contribution (Shapley, 1953). v(∅) need not be zero.
//
// A [Game] evaluates batches of [Coalitions]; it may be a formula or a neural network.
//   - [Exact] enumerates all coalitions.
//   - [Permutation] samples coalitions and estimates its standard errors.
//   - [Refine] corrects a network's own attributions by a few coalitions.
//   - [Interactions] computes pairwise interaction indices.
//   - [Restrict] restricts a game to the players that are present.
//
// Methods panic on an index out of range, as slices do. Run-time failures are returned as errors.
package shapley
