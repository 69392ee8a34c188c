package plot

import (
	"math/rand/v2"
	"slices"
)

// someRows draws at most the given number of n rows with a fixed seed, and sorts them. Evenly spaced rows would be
// alike in a periodic table, such as hourly data.
func someRows(n, most int) []int {
	rows := rand.New(rand.NewPCG(0, 0)).Perm(n)[:min(n, most)]
	slices.Sort(rows)
	return rows
}
