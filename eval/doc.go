// Package eval measures the quality of predictions and attributions.
//
// Accumulators take rows one at a time, so that tables of any size can be measured in chunks:
//   - [Regression], [Binary] and [Multiclass] compare predictions with targets and return an [Evaluation];
//   - [Calibration] compares probabilities with observed shares, [Intervals] the levels of intervals with their coverage;
//   - [Agreement] and [TopOverlap] compare attributions with exact Shapley values.
//
// [NDCG] compares two rankings. [EstimateMean] and [Discoveries] test which of several means are above 0.
//
// Accumulators use constant memory, except for the areas under curves, which need the order of all rows. These keep
// each distinct probability, up to 100 MB, and round beyond that. Accumulators are not safe for concurrent use.
//
// Rows may have weights of 0 or more: a weight of 2 counts the row twice, a weight of 0 ignores it.
//
// A measure that is not defined for its rows, such as one without rows, is NaN in Go and null in JSON.
package eval
