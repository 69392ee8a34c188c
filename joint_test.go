package psi_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/internal/artifact"
)

// paperOptions are settings of the paper's own search.
func paperOptions(s *psi.Settings) {
	quick(s)
	s.Activation, s.Norm, s.Likelihood, s.Estimator, s.Sampler = "elu", "layer", "joint", "product", "uniform"
	s.PolishSteps = 0
}

// With the paper's objective the base is the mean of the target plus the φ_0 that training found, and the file says what it needs.
func TestBaseThatIsTrained(t *testing.T) {
	rows := gappy(t, 200)
	m := trained(t, rows, psi.Config{Head: "learned", Change: paperOptions})
	path, _ := saved(t, m)
	file := fileOf(t, path)
	if !slices.Contains(file.Requires, "paper") {
		t.Errorf("requires %q", file.Requires)
	}
	weights, err := artifact.DecodeTensors(file.Parts["weights.safetensors"])
	if err != nil {
		t.Fatal(err)
	}
	base := math.NaN()
	for name, tensor := range weights {
		if strings.HasSuffix(name, "/base") {
			base = float64(tensor.Floats[0])
		}
	}
	scale, e := m.Manifest().Scale, explained(t, m, rows, psi.ExplainOptions{To: 5})
	want := scale.Mean + scale.Std*base
	if !(math.Abs(base) > 1e-6) || math.Abs(e.Base[0]-want) > 1e-6*scale.Std {
		t.Errorf("the base is %g, the target's mean %g; training found %g standard deviations more", e.Base[0], scale.Mean, base)
	}
	opened, err := psi.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	if again := explained(t, opened, rows, psi.ExplainOptions{To: 5}); !slices.Equal(again.Prediction, e.Prediction) || !slices.Equal(again.Mean, e.Mean) {
		t.Error("the file has another answer")
	}
}

// The paper's options belong to the learned head, and models without them need nothing new.
func TestPaperOptionsNeedTheLearnedHead(t *testing.T) {
	for key, value := range map[string]string{"activation": "relu", "norm": "layer", "likelihood": "joint"} {
		for head, valid := range map[string]bool{"exact": false, "learned": true} {
			s := psi.DefaultSettings(head, psi.TypicalSize())
			s.Estimator = "abs"
			if err := s.Set(key, value); err != nil {
				t.Fatal(err)
			}
			if err := s.Validate(); (err == nil) != valid {
				t.Errorf("%s = %s with the %s head: %v", key, value, head, err)
			}
			if s.Set(key, "unheard") != nil || s.Validate() == nil {
				t.Errorf("%s = unheard is accepted", key)
			}
		}
	}
}
