package objective_test

import (
	"strings"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/psi-shapley/psi/internal/engine"
	"github.com/psi-shapley/psi/internal/objective"
)

func TestCopiesHoldAllThatTheEstimatorReads(t *testing.T) {
	for e, last := range map[objective.Estimator]int{
		objective.LeastSquares: objective.Within,
		objective.Stopped:      objective.WithoutD1,
		objective.TwoDraws:     objective.WithoutD2,
		objective.Absolute:     objective.WithoutD2,
		"":                     objective.Masked, // no D_SHAP: the likelihood's copies
	} {
		if got, want := e.Copies(), last+1; got != want {
			t.Errorf("%q.Copies() = %d, want %d", e, got, want)
		}
	}
}

func TestValidateKnowsTheEstimators(t *testing.T) {
	for _, e := range estimators {
		if err := e.Validate(); err != nil {
			t.Errorf("%q: %v", e, err)
		}
	}
	for _, e := range []objective.Estimator{"", "LS", "squares"} {
		err := e.Validate()
		if err == nil {
			t.Errorf("%q is taken for an estimator", e)
			continue
		}
		for _, known := range estimators {
			if !strings.Contains(err.Error(), string(known)) {
				t.Errorf("the error %q does not offer %q", err, known)
			}
		}
	}
}

func TestUnknownEstimatorBuildsNoGraph(t *testing.T) {
	on, _, err := engine.Open("go")
	if err != nil {
		t.Fatal(err)
	}
	err = engine.Catch(func() error {
		_, err := CallOnce(on.Backend, func(f, mask, pick *Node) *Node {
			return objective.Estimator("squares").DSHAP(f, mask, pick)
		}, tensor(make([]float64, 4), 1, 2, 1, 2), tensor(make([]float64, 4), 1, 2, 2), tensor(make([]float64, 2), 1, 2))
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "squares") {
		t.Errorf("error %v does not name the unknown estimator", err)
	}
}
