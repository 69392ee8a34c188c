// Package eval measures how good predictions and attributions are.
//
// Accumulators take rows one at a time, so that a table of any size is measured in
// chunks: [Regression], [Binary] and [Multiclass] compare predictions with the truth and
// sum themselves up as an [Evaluation], [Calibration] holds probabilities against shares,
// [Agreement] and [TopOverlap] compare attributions with exact Shapley values; [NDCG]
// compares two rankings. [EstimateMean] and [Discoveries] tell which of several means are
// above 0. The accumulators keep a few numbers but for the areas under
// curves, which need the order of all rows: they keep each different probability, up to
// 100 MB of them, and round beyond that.
//
// Rows may have weights, from 0 up: a weight of 2 is the row twice, one of 0 is no row.
//
// A measure that is not defined for the rows it was given, such as one of no rows,
// is NaN in Go and null in JSON.
package eval
