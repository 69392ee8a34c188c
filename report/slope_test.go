package report

import (
	"strings"
	"testing"

	"github.com/psi-shapley/psi"
)

// κ of half of the columns is √(e^b): .5 for b = −log 4, 1.5 for b = log 2.25.
func TestSlopeWords(t *testing.T) {
	for slope, want := range map[float64][]string{0: nil, -1.3862943611: {"nearer to the base rate", "multiplied by 0.50"}, 0.8109302162: {"farther from the base rate", "multiplied by 1.50"}} {
		got := slopeWords(psi.Calibration{Slope: slope})
		if (got == "") != (want == nil) {
			t.Errorf("slope %g: %q", slope, got)
		}
		for _, part := range want {
			if !strings.Contains(got, part) {
				t.Errorf("slope %g: %q is not in %q", slope, part, got)
			}
		}
	}
	o := &outcomes{manifest: psi.Manifest{Calibration: psi.Calibration{Slope: -1}}}
	if words := o.stored(); !strings.Contains(strings.Join(words, " "), "multiplied by 0.61") {
		t.Errorf("without outcomes: %q", words)
	}
}
