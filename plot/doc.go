// Package plot draws explanations as SVG, PNG or PDF, each picture with the data behind it.
//
// A kind of picture is a function: Bar, Beeswarm, Dependence, Interaction, Decision, Heatmap and Groups show many rows,
// Waterfall, Force and Ranking one; Calibration, Fidelity and History show how far to trust a model. Each returns a
// Picture, which is written by Write; Picture.Data is what was drawn.
//
// Intervals are mean ∓ z·std of the explanation. A missing cell is an absent player: it has no attribution, and is drawn
// as missing, never as 0. Colours can be told apart by people with any kind of sight.
package plot
