package plot

import (
	"math/rand/v2"
	"slices"
)

// someRows are n rows, or at most so many of them, drawn at random, always the same, in their order. Rows at even distances
// would be alike in a table that repeats itself, such as one of hours.
func someRows(n, most int) []int {
	rows := rand.New(rand.NewPCG(0, 0)).Perm(n)[:min(n, most)]
	slices.Sort(rows)
	return rows
}
