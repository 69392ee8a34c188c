package explain

import (
	"fmt"
	"math"
)

// Exactness returns a sentence on how close the attributions are to the model's Shapley values.
func (e *Explanation) Exactness() string {
	switch {
	case e.Exact:
		return "Exact: these are the Shapley values of the model."
	case e.StandardError != nil:
		worst := 0.0
		for _, v := range e.StandardError {
			if finite(v) {
				worst = math.Max(worst, v)
			}
		}
		return fmt.Sprintf("Refined: the network's own attributions, corrected by sampled coalitions; their standard error is at most %.2g.", worst)
	}
	return "Not exact: the network's own estimate of its Shapley values; psi audit measures how near it is."
}
