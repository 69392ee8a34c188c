// Package form says what a network is and what it must answer, whatever computes it: the sizes and weights of the heads, the rules
// of quadrature, and ensembles of evaluators. Package kernel evaluates the product form, package network everything, through a
// tensor engine.
//
// Axes, wherever a comment names them: B rows, P coalitions of each row, D columns (which are the players, unless some are
// grouped), C outputs, Z the width of an embedding, K channels, M trains of rank r, H the width of a hidden layer.
package form
