package encode

import (
	"cmp"
	"math"
	"slices"

	"github.com/psi-shapley/psi/table"
)

// Described returns a player whose values are known only by thresholds between them, such as those of trees: at most
// bins + 1 of them, evenly spaced, are its edges.
func Described(name string, kind table.Kind, thresholds []float64, bins int) Player {
	p := Player{Name: name, Kind: kind}
	if !p.Numeric() {
		return p
	}
	sound := slices.DeleteFunc(slices.Clone(thresholds), func(v float64) bool { return !finite(v) })
	var m moments
	for _, v := range sound {
		m.add(v)
	}
	p.Centre, p.Scale = m.meanAndStd()
	for k := range min(len(sound), bins+1) {
		p.Edges = append(p.Edges, sound[k*(len(sound)-1)/max(1, min(len(sound), bins+1)-1)])
	}
	if math.IsInf(p.Scale, 0) {
		p.Scale = 1
	}
	return p
}

// Sort puts the players into the order of encoders: numbers, times, categories.
func (e *Encoder) Sort() {
	slices.SortStableFunc(e.Players, func(a, b Player) int { return cmp.Compare(a.rank(), b.rank()) })
}
