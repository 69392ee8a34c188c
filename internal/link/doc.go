// Package link converts scores to probabilities. A score is normal, N(μ, σ²), so the probability of a class is an
// expectation over it, not a function of its mean.
//
// It is the host's counterpart of the likelihoods that are computed as graphs. Both use the quadrature [Nodes], so that
// a model reports the probabilities that it was trained on.
package link
