package form

import "gonum.org/v1/gonum/integrate/quad"

// GaussLegendre returns q nodes and weights on [0, 1], exact for polynomials of
// degree 2q−1.
func GaussLegendre(q int) (nodes, weights []float64) {
	nodes, weights = make([]float64, q), make([]float64, q)
	quad.Legendre{}.FixedLocations(nodes, weights, 0, 1)
	return nodes, weights
}

// ExactNodes returns the number of quadrature nodes that integrates the derivative of any multilinear game of n players
// exactly: it is a polynomial of degree n−1.
func ExactNodes(n int) int { return max(1, (n+1)/2) }

// MaxNodes returns the maximum number of quadrature nodes of a model of n players. The cost of compiling a graph grows
// with its square. 256 nodes are exact up to 512 players, and for more players their error is below the rounding error.
func MaxNodes(n int) int { return min(256, ExactNodes(n)) }
