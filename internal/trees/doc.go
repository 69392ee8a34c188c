// Package trees evaluates ensembles of decision trees as sparse product forms: one channel for each leaf, with a factor for each column on
// the leaf's path. For the coalition S of present columns a leaf ℓ of value w contributes
//
//	w Π_{d ∈ path(ℓ)} (o_d if d ∈ S, else p_d)
//
// where o_d is 1 if the row passes every split of column d on the path, else 0, and p_d is the product of the weights that the game gives
// the branches of d: the shares of training rows that took them, as TreeSHAP does, or 1 and 0 for the branch of a missing value or of
// a reference row (see [Absent]).
// So v is multilinear, and
//
//	φ_d = Σ_ℓ w (o_d − p_d) ∫₀¹ Π_{j ≠ d} (p_j + t (o_j − p_j)) dt
//
// is a polynomial's integral, which Gauss–Legendre quadrature with ⌈m/2⌉ nodes gives exactly if no path has more than m columns
// (Quadrature-TreeSHAP, arXiv 2605.04497).
//
// Rows are codes: a column's values are numbered by the intervals between the thresholds that the ensemble has for it. Splits then
// compare small integers, and a value is compared with thresholds once, in the precision of the library that trained the trees.
package trees
