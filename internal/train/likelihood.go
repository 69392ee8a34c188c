package train

import "fmt"

// Likelihood is the likelihood of the labels of two classes given the log odds.
type Likelihood string

const (
	// Marginal is the exact likelihood of a label, marginalised over the uncertainty of the log odds.
	Marginal Likelihood = "marginal"
	// Bound is the paper's bound, whose scale drifts. It is kept to show that.
	Bound Likelihood = "bound"
)

// Validate returns an error if the likelihood is unknown.
func (l Likelihood) Validate() error {
	if l != Marginal && l != Bound {
		return fmt.Errorf("unknown likelihood %q: choose %s or %s", l, Marginal, Bound)
	}
	return nil
}
