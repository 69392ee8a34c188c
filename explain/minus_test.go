package explain

import (
	"math"
	"strings"
	"testing"
)

func TestMinusIsTheDifferenceOfRows(t *testing.T) {
	rng := newRand(t)
	e := randomExplanation(rng, shape{rows: 6, outputs: 2, players: 5, probability: true, sampled: true, interactions: true, doubt: true})
	const than = 4
	c, err := e.Minus(e, than)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	if c.Probability != nil || !strings.HasPrefix(c.Outputs[1], "class 1 − ") {
		t.Errorf("outputs %v, probabilities %v", c.Outputs, c.Probability)
	}
	for row := range e.Rows {
		for output := range e.Outputs {
			if got := c.Base[c.at(row, output)]; got != e.Base[e.at(row, output)]-e.Base[e.at(than, output)] {
				t.Errorf("base %v", got)
			}
			if got, want := c.Prediction[c.at(row, output)], e.Prediction[e.at(row, output)]-e.Prediction[e.at(than, output)]; got != want {
				t.Errorf("row %d: prediction %v, want %v", row, got, want)
			}
			here, there := e.Attributions(row, output), e.Attributions(than, output)
			for d, got := range c.Attributions(row, output) {
				if got.Mean != here[d].Mean-there[d].Mean || math.Abs(got.Std*got.Std-here[d].Std*here[d].Std-there[d].Std*there[d].Std) > 1e-9*got.Std*got.Std {
					t.Errorf("row %d, player %d: %v ± %v", row, d, got.Mean, got.Std)
				}
				if got.Observed != (here[d].Observed || there[d].Observed) {
					t.Errorf("row %d, player %d: observed %v", row, d, got.Observed)
				}
			}
			if got, want := c.Interactions[c.pairAt(row, output, 1, 3)], e.Interactions[e.pairAt(row, output, 1, 3)]-e.Interactions[e.pairAt(than, output, 1, 3)]; got != want {
				t.Errorf("row %d: interaction %v, want %v", row, got, want)
			}
		}
	}
	if text := c.Values[0].Text(than); !strings.HasSuffix(text, ", both") {
		t.Errorf("a row against itself has %q", text)
	}
	if _, err := e.Minus(e, 6); err == nil || !strings.Contains(err.Error(), "no row") {
		t.Errorf("a row that is not there: %v", err)
	}
}
