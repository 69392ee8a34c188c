package report

import (
	"fmt"
	"math"

	"github.com/psi-shapley/psi"
)

// slopeWords explains that probabilities of rows with missing cells differ from those of their scores. κ(s) = exp(b·(1
// − s)) multiplies the distance of the score from the base, where s is the row's share of known columns. It returns ""
// if κ is 1.
func slopeWords(c psi.Calibration) string {
	if c.Slope == 0 {
		return ""
	}
	where := "nearer to the base rate"
	if c.Slope > 0 {
		where = "farther from the base rate"
	}
	return fmt.Sprintf("In rows with missing cells, the probability lies %s than the score alone implies. With half of the columns missing, the distance of the score from the base is multiplied by %.2f "+
		"before it becomes a probability. This factor was fitted on the rows held out from training. Scores and attributions do not change.", where, math.Exp(c.Slope/2))
}
