// Package shapley divides the value of a game among its players.
//
// A cooperative game on the players N = {0, …, n−1} gives a value v(S) to every
// coalition S ⊆ N. The Shapley value of player i is its marginal contribution,
// averaged over all orders in which the players can join:
//
//	φ_i = Σ_{S ⊆ N∖{i}} |S|! (n−|S|−1)! / n! · [v(S∪{i}) − v(S)]
//
// It is the only division that is efficient (Σ_i φ_i = v(N) − v(∅)), symmetric,
// linear in v, and gives nothing to a player who contributes nothing (Shapley,
// 1953). v(∅) need not be zero.
//
// A [Game] is evaluated on batches of [Coalitions]; whatever is behind it, a
// formula or a neural network, is its own business. [Exact] enumerates all
// coalitions, [Permutation] samples them and says how far off it may be, [Refine]
// starts from what a network says of its own coalitions and needs few of them,
// [Interactions] gives pairs of players what [Exact] gives to single ones, and
// [Restrict] confines a game to the players that are present.
//
// Methods panic on an index out of range, as slices do. Everything that can go
// wrong at run time is returned as an error.
package shapley
