package train

import "fmt"

// Likelihood is how the labels of two classes speak of their log odds.
type Likelihood string

const (
	// Marginal is the exact likelihood of a label, over the log odds' uncertainty.
	Marginal Likelihood = "marginal"
	// Bound is the paper's, whose scale drifts. Kept to show that.
	Bound Likelihood = "bound"
)

// Validate says whether the likelihood is one of those above.
func (l Likelihood) Validate() error {
	if l != Marginal && l != Bound {
		return fmt.Errorf("unknown likelihood %q: choose %s or %s", l, Marginal, Bound)
	}
	return nil
}
