package explain

import (
	"bytes"
	"strings"
	"testing"
)

// An explanation may know nothing of uncertainty, as that of trees that another program trained.
func TestUnknownUncertainty(t *testing.T) {
	e := randomExplanation(fixedRand(t, 3), shape{rows: 4, outputs: 1, players: 5})
	e.Game, e.Std, e.PredictionStd, e.HiddenStd, e.RangeStd = PathDependent, nil, nil, nil, nil
	if e.Interval() != NoInterval {
		t.Errorf("the interval is %q", e.Interval())
	}
	var document bytes.Buffer
	w := NewJSONWriter(&document)
	if err := w.Write(e); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{`"game":"path-dependent"`, `"interval":"none"`, `"prediction_std":null`, `"hidden_std":null`, `"std":null,"lower":null,"upper":null,"spread_lower":null,"spread_upper":null,"p_positive":null,"p_top":null`} {
		if !strings.Contains(document.String(), text) {
			t.Errorf("the document lacks %s:\n%s", text, document.String())
		}
	}
	read, err := ReadJSON(bytes.NewReader(document.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if read.Std != nil || read.PredictionStd != nil || read.HiddenStd != nil || read.Game != PathDependent {
		t.Errorf("read %v, %v, %v, %q", read.Std, read.PredictionStd, read.HiddenStd, read.Game)
	}

	for _, reasons := range []int{0, 3} {
		var text strings.Builder
		if err := Text(&text, e, TextOptions{Reasons: reasons}); err != nil {
			t.Fatal(err)
		}
		for _, claim := range []string{"±", "sure", "NaN", "unknown"} {
			if strings.Contains(text.String(), claim) {
				t.Errorf("the text says %q:\n%s", claim, text.String())
			}
		}
	}
	if got := e.Reasons(0, 0, 2); len(got) != 2 {
		t.Errorf("reasons %v", got)
	}

	wide, err := e.Wide()
	if err != nil {
		t.Fatal(err)
	}
	if c := wide.Column("prediction_std"); c.Observed[0] {
		t.Error("the table has a prediction_std")
	}
	tally := NewTally(e.Outputs, e.Players)
	if !tally.Add(e) || tally.MeanStd(0) != nil || tally.MeanSize(0) == nil {
		t.Errorf("tally %+v", tally)
	}
}
