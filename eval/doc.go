// Package eval measures how good predictions and attributions are.
//
// Accumulators take rows one at a time and keep a few numbers, so that a table of
// any size is measured in chunks: [Regression] compares predictions with the truth
// and sums itself up as an [Evaluation], [Agreement] and [TopOverlap] compare
// attributions with exact Shapley values.
//
// A measure that is not defined for the rows it was given, such as one of no rows,
// is NaN in Go and null in JSON.
package eval
