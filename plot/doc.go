// Package plot draws explanations as SVG, PNG or PDF, with the data behind each picture.
//
// Each kind of picture is a function that returns a [Picture]; [Picture.Write] writes it, and Picture.Data holds what
// was drawn.
//   - [Bar], [LossBar], [Beeswarm], [Dependence], [Interaction], [Decision], [Heatmap] and [Groups] show many rows.
//   - [Waterfall], [Force] and [Ranking] show one row.
//   - [Drift] compares two tables.
//   - [Calibration], [Fidelity] and [History] show how far to trust a model.
//
// Intervals are those of the explanation. A missing cell is an absent player without an attribution; it is drawn as
// missing, never as 0. The colours are distinct for colour-blind people.
package plot
