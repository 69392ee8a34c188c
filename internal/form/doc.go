// Package form defines networks and their answers, independently of what computes them: the sizes and weights of the
// heads, the quadrature rules, and ensembles of evaluators. Package kernel evaluates the product form; package network
// evaluates all forms through a tensor engine.
//
// Axes in comments: B rows, P coalitions of each row, D columns (which are the players, unless some are grouped), C
// outputs, Z the width of an embedding, K channels, M trains of rank r, H the width of a hidden layer.
package form
