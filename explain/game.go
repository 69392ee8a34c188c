package explain

// Game says what a prediction is when some columns are absent. Shapley values are those of a game.
type Game string

// Games.
const (
	// Observational: the model was trained with cells hidden at random, and predicts from the cells that are left.
	Observational Game = "observational"
	// PathDependent: branches of trees that split an absent column are weighed by the training rows that took them, as
	// TreeSHAP does.
	PathDependent Game = "path-dependent"
	// MissingBranch: trees take the branch of missing values.
	MissingBranch Game = "missing-branch"
	// Baseline: an absent column has the value of a reference row.
	Baseline Game = "baseline"
	// Interventional: the mean of baseline games over several reference rows.
	Interventional Game = "interventional"
)

// Games returns all games.
func Games() []Game {
	return []Game{Observational, PathDependent, MissingBranch, Baseline, Interventional}
}

// Absent describes what happens to absent columns, to follow "if a column is absent, ".
func (g Game) Absent() string {
	switch g {
	case PathDependent:
		return "trees weigh its branches by the training rows that took them"
	case MissingBranch:
		return "trees take the branch of missing values"
	case Baseline:
		return "it has the value of the reference row"
	case Interventional:
		return "it has the values of the reference rows, one after the other, and the predictions are averaged"
	}
	return "the model predicts from the others, as it was trained to"
}
