// Package explain holds explanations of predictions and writes them for people
// and for programs.
//
// An [Explanation] says, for each row of a table and each output of a model, what
// every player, a column or a group of columns, added to the prediction or took
// from it:
//
//	prediction = base + Σ_d φ_d + residual,   φ_d ~ N(mean_d, std_d²), independent
//
// What follows from the distribution is worked out when asked for: the interval
// mean ∓ z·std, p_positive = P(φ_d > 0), and p_top = P(|φ_d| is among the K largest
// of its row). std says how uncertain the contribution is in the data. How far the
// computation may be from the model's Shapley value is another number, the standard
// error; the two are never mixed.
//
// model_std is the doubt of an attribution: how far another sample of training rows would have moved
// it, as networks that learned from such samples tell. It is kept apart from std too. Of a contrast it
// is the doubt of the difference, sample by sample.
//
// A player that is not observed in a row has mean 0 and std 0, hence the interval
// [0, 0]; it is never among the largest, p_top = 0, and it has no direction, so
// p_positive does not apply. What does not apply is NaN in Go, null in JSON and a
// missing cell in a table.
//
// A model of two classes has one output, the positive class, whose prediction is a score: log
// odds. One of more has a score for each class; [Explanation.Only] picks a class and
// [Explanation.Contrast] holds one against another.
//
// [JSONWriter] writes one document from any number of chunks, [ReadJSON] reads it;
// [Explanation.Wide] and [Explanation.Long] make tables for a table.Sink; [Text]
// is for reading in a terminal.
package explain
