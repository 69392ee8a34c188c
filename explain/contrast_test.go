package explain

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"
)

func TestOnlyIsThatOutput(t *testing.T) {
	rng := newRand(t)
	e := randomExplanation(rng, shape{rows: 6, outputs: 3, players: 5, probability: true, sampled: true, interactions: true, doubt: true})
	for output, name := range e.Outputs {
		one, err := e.Only(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := one.Validate(); err != nil {
			t.Fatal(err)
		}
		if len(one.Outputs) != 1 || one.Outputs[0] != name || one.Scale != Score || one.Probability == nil {
			t.Errorf("outputs %v", one.Outputs)
		}
		for row := range e.Rows {
			if one.Prediction[row] != e.Prediction[e.at(row, output)] || one.Probability[row] != e.Probability[e.at(row, output)] {
				t.Errorf("row %d: not the prediction of %s", row, name)
			}
			want := e.Attributions(row, output)
			for d, a := range one.Attributions(row, 0) {
				if a.Mean != want[d].Mean || a.Std != want[d].Std || a.PTop != want[d].PTop || a.StandardError != want[d].StandardError || a.ModelStd != want[d].ModelStd || a.Value != want[d].Value {
					t.Errorf("row %d: %+v, want %+v", row, a, want[d])
				}
			}
			if one.Interactions[one.pairAt(row, 0, 1, 2)] != e.Interactions[e.pairAt(row, output, 1, 2)] {
				t.Errorf("row %d: not the interactions of %s", row, name)
			}
		}
	}
	if _, err := e.Only("class 9"); err == nil || !strings.Contains(err.Error(), "class 0 or class 1 or class 2") {
		t.Errorf("want an error that lists the outputs, got %v", err)
	}
}

func TestContrastIsTheDifference(t *testing.T) {
	rng := newRand(t)
	e := randomExplanation(rng, shape{rows: 6, outputs: 3, players: 5, probability: true, sampled: true, interactions: true, doubt: true})
	c, err := e.Contrast("class 2", "class 0")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(c.Outputs, []string{"class 2 − class 0"}) || c.Scale != Score || c.Probability != nil || !slices.Equal(c.Observed, e.Observed) {
		t.Errorf("outputs %v on %s, probabilities %v", c.Outputs, c.Scale, c.Probability)
	}
	for row := range e.Rows {
		a, b := e.at(row, 2), e.at(row, 0)
		for what, pair := range map[string][2]float64{
			"base":           {c.Base[row], e.Base[a] - e.Base[b]},
			"prediction":     {c.Prediction[row], e.Prediction[a] - e.Prediction[b]},
			"residual":       {c.Residual[row], e.Residual[a] - e.Residual[b]},
			"prediction_std": {c.PredictionStd[row], math.Sqrt(math.Pow(e.PredictionStd[a], 2) + math.Pow(e.PredictionStd[b], 2))},
			"hidden_std":     {c.HiddenStd[row], math.Sqrt(math.Pow(e.HiddenStd[a], 2) + math.Pow(e.HiddenStd[b], 2))},
			"interaction":    {c.Interactions[c.pairAt(row, 0, 1, 2)], e.Interactions[e.pairAt(row, 2, 1, 2)] - e.Interactions[e.pairAt(row, 0, 1, 2)]},
			"its error":      {c.InteractionError[c.pairAt(row, 0, 1, 2)], e.InteractionError[e.pairAt(row, 2, 1, 2)] + e.InteractionError[e.pairAt(row, 0, 1, 2)]},
		} {
			if math.Abs(pair[0]-pair[1]) > 1e-12*math.Abs(pair[1]) {
				t.Errorf("row %d: %s %v, want %v", row, what, pair[0], pair[1])
			}
		}
		first, second := e.Attributions(row, 2), e.Attributions(row, 0)
		for d, got := range c.Attributions(row, 0) {
			std := math.Sqrt(first[d].Std*first[d].Std + second[d].Std*second[d].Std)
			var sum, squares float64
			for m := range bags {
				at := func(output int) int { return ((row*3+output)*len(e.Players)+d)*bags + m }
				gap := e.ByBag[at(2)] - e.ByBag[at(0)]
				sum, squares = sum+gap, squares+gap*gap
			}
			if doubt := math.Sqrt((squares - sum*sum/bags) / (bags - 1)); math.Abs(got.ModelStd-doubt) > 1e-9*doubt {
				t.Errorf("row %d: the doubt of the difference is %v, want %v", row, got.ModelStd, doubt)
			}
			if got.Mean != first[d].Mean-second[d].Mean || math.Abs(got.Std-std) > 1e-12*std || got.StandardError != first[d].StandardError+second[d].StandardError {
				t.Errorf("row %d: %+v is not %+v − %+v", row, got, first[d], second[d])
			}
		}
	}
	if text := writeJSON(t, c); !bytes.Contains(text, []byte(`"output":"class 2 − class 0","scale":"score"`)) || !bytes.Contains(text, []byte(`"probability":null`)) {
		t.Errorf("document %s", text)
	}
	back, err := e.Contrast("class 0", "class 2")
	if err != nil {
		t.Fatal(err)
	}
	if back.Prediction[0] != -c.Prediction[0] || back.PredictionStd[0] != c.PredictionStd[0] {
		t.Error("the opposite contrast is not the opposite")
	}
}

func TestContrastRefusesWhatIsNoClass(t *testing.T) {
	e := randomExplanation(newRand(t), shape{rows: 2, outputs: 2, players: 3, probability: true})
	for want, pair := range map[string][2]string{
		"no output \"red\": choose class 0 or class 1": {"red", "class 1"},
		"no output \"blue\"":                           {"class 0", "blue"},
		"against itself":                               {"class 1", "class 1"},
	} {
		if _, err := e.Contrast(pair[0], pair[1]); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
	e.Scale = Identity
	if _, err := e.Contrast("class 0", "class 1"); err == nil || !strings.Contains(err.Error(), "no scores of classes") {
		t.Errorf("numbers were held against each other: %v", err)
	}
}

// The JSON of a group has no value, whether it is observed or not.
func TestGroupsHaveNoValue(t *testing.T) {
	e := onePrediction([]float64{1, 0}, []float64{1, 0}, 1)
	e.Observed[1] = false
	text := string(writeJSON(t, e))
	for _, part := range []string{`{"player":"x0","value":null,"observed":true`, `{"player":"x1","value":null,"observed":false`} {
		if !strings.Contains(text, part) {
			t.Errorf("%s is not in %s", part, text)
		}
	}
	e.Other = []bool{true, false}
	if other := string(writeJSON(t, e)); other != text {
		t.Errorf("Other changed the document: %s", other)
	}
}

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
