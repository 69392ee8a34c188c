// Package explain holds explanations of predictions and writes them for people and for programs.
//
// An [Explanation] holds, for each row of a table and each output of a model, the contribution of every player to the
// prediction. A player is a column or a group of columns:
//
//	prediction = base + Σ_d φ_d + residual,   φ_d ~ N(mean_d, std_d²), independent
//
// Three uncertainties are kept apart:
//   - std is the variation of the contribution in the data, among rows like this one.
//   - model_std is the epistemic uncertainty: the standard deviation of the mean over samples of training rows. It is estimated from
//     bagged networks. For a contrast it is the deviation of the difference, bag by bag.
//   - The standard error is the sampling error of an attribution about the model's Shapley value.
//
// Methods derive the interval of an attribution, p_positive = P(φ_d > 0), and p_top = P(|φ_d| is among the K largest of
// its row).
//
// A player that is not observed in a row has mean 0 and std 0, so its interval is [0, 0] and its p_top is 0. It has no
// direction, so p_positive does not apply. What does not apply is NaN in Go, null in JSON and a missing cell in a
// table.
//
// A model of two classes has one output, the positive class, whose prediction is a score in log odds. A model of more
// classes has a score for each class; [Explanation.Only] selects a class, and [Explanation.Contrast] compares two.
//
// [JSONWriter] writes one document from any number of chunks, and [ReadJSON] reads it. [Explanation.Wide] and
// [Explanation.Long] return tables for a table.Sink. [Text] writes for a terminal.
//
// An Explanation is not modified by its methods unless they say so, and concurrent reads are safe.
package explain
