package explain

// Effect is a part of a prediction: the main effect of a player, or the interaction of two.
type Effect struct {
	A, B  int // players; B is −1 for a main effect, else above A
	Value float64
}

// Effects splits the attributions of one output of a row into main effects and interactions. Each interaction index
// I_ij is divided equally between its two players,
//
//	main_i = φ_i − ½ Σ_j I_ij,
//
// so that the effects have the same sum as the attributions: Σ_i main_i + Σ_{i<j} I_ij = Σ_i φ_i. Players that are not
// observed have no effects. Effects needs Interactions.
func (e *Explanation) Effects(row, output int) []Effect {
	mean, observed := e.means(row, output), e.observed(row)
	var mains, pairs []Effect
	for a := range e.Players {
		if !observed[a] {
			continue
		}
		main := Effect{a, -1, mean[a]}
		for b := range e.Players {
			if b == a || !observed[b] {
				continue
			}
			v := e.Interactions[e.pairAt(row, output, a, b)]
			main.Value -= v / 2
			if a < b {
				pairs = append(pairs, Effect{a, b, v})
			}
		}
		mains = append(mains, main)
	}
	return append(mains, pairs...)
}
