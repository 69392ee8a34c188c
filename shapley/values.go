package shapley

// Values holds the Shapley values of all players of a game, for each output.
type Values struct {
	Players, Outputs int

	// Phi holds the Shapley value of each player, [output][player].
	Phi []float64

	// StandardErrors holds the sampling errors of Phi, [output][player]. They are zero if all coalitions were
	// evaluated.
	StandardErrors []float64

	// Empty and Grand are v(∅) and v(N), [output]. The players divide their difference: Σ_i φ_i = v(N) − v(∅).
	Empty, Grand []float64

	// Coalitions is the number of evaluated coalitions.
	Coalitions int
}

func newValues(game Game) *Values {
	n, outputs := game.Players(), game.Outputs()
	return &Values{
		Players:        n,
		Outputs:        outputs,
		Phi:            make([]float64, outputs*n),
		StandardErrors: make([]float64, outputs*n),
		Empty:          make([]float64, outputs),
		Grand:          make([]float64, outputs),
	}
}

// At returns the Shapley value of player for output.
func (v *Values) At(output, player int) float64 {
	return v.Of(output)[player]
}

// Of returns the Shapley values of all players for output. The slice shares memory with Phi.
func (v *Values) Of(output int) []float64 {
	return v.Phi[output*v.Players : (output+1)*v.Players]
}

// StandardError returns the standard error of At(output, player).
func (v *Values) StandardError(output, player int) float64 {
	return v.StandardErrors[output*v.Players : (output+1)*v.Players][player]
}
