// Package link turns scores into probabilities. A score is normal, N(μ, σ²), so the probability
// of a class is an expectation over it, not a function of its mean.
//
// It is the host's half of what the likelihoods compute as graphs: [Nodes] is the quadrature of
// both, so that a model reports the probabilities that it was trained on.
package link
