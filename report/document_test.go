package report

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/table"
)

// fixture is what the viewer's arithmetic is held to: its tests read the file.
const fixture = "../web/test/reasons.json"

type reasonsCase struct {
	Z        float64      `json:"z"`
	Bags     int          `json:"bags"`
	Reach    float64      `json:"reach"`
	Mean     Attributions `json:"mean"`
	Std      Attributions `json:"std"`
	ModelStd Attributions `json:"model_std"`
	Observed Bits         `json:"observed"`
	Players  int          `json:"players"`
	Most     int          `json:"most"`
	Reasons  []int        `json:"reasons"`
}

// The viewer gives the same reasons as package explain. PSI_UPDATE=1 writes the file anew.
func TestReasonsFixture(t *testing.T) {
	const seed = 8
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	var cases []reasonsCase
	for i := range 80 {
		n := 1 + rng.IntN(9)
		e := &explain.Explanation{Z: []float64{.5, 1, 1.96, 3}[rng.IntN(4)], Outputs: []string{"y"}, Rows: 1, Players: make([]string, n)}
		for range n {
			mean, std, there := float64(rng.IntN(2001)-1000)/256, float64(rng.IntN(300))/256, rng.IntN(6) > 0 // exact in three bytes
			if e.Z != 1.96 && rng.IntN(5) == 0 {
				mean = e.Z * std // the interval ends at 0
			}
			if !there {
				mean, std = 0, 0
			}
			e.Mean, e.Std, e.Observed = append(e.Mean, mean), append(e.Std, std), append(e.Observed, there)
		}
		if i >= 40 {
			e.Bags, e.ModelStd = 2+rng.IntN(11), make([]float64, n)
			for d, there := range e.Observed {
				if there {
					e.ModelStd[d] = float64(rng.IntN(300)) / 256
				}
			}
		}
		c := reasonsCase{e.Z, e.Bags, e.Reach(), e.Mean, e.Std, e.ModelStd, e.Observed, n, 1 + rng.IntN(5), nil}
		c.Reasons = append([]int{}, e.Reasons(0, 0, c.Most)...)
		cases = append(cases, c)
	}
	want, err := json.MarshalIndent(cases, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	if os.Getenv("PSI_UPDATE") != "" {
		if err := os.WriteFile(fixture, want, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(fixture); err != nil || !slices.Equal(got, want) {
		t.Errorf("%s is not what package explain says (%v): PSI_UPDATE=1 go test ./report writes it anew", fixture, err)
	}
}

// Intervals go by doubt where it is known. The quantile is that of a printed table of Student's t with 7 degrees of freedom.
func TestIntervals(t *testing.T) {
	e := &explain.Explanation{Z: 1.959964, Bags: 8, Mean: []float64{1}, Std: []float64{3}}
	if got, want := intervalsOf(e), (Intervals{Z: 1.959964, Interval: explain.BySpread, Reach: 1.959964}); got != want {
		t.Errorf("without doubt %+v, want %+v", got, want)
	}
	e.ModelStd = []float64{.5}
	got := intervalsOf(e)
	if got.Interval != explain.ByDoubt || got.Bags != 8 || math.Abs(got.Reach-2.364624) > 1e-5 {
		t.Errorf("with doubt %+v", got)
	}
	var head map[string]any
	if text, err := json.Marshal(&Report{Intervals: got}); err != nil || json.Unmarshal(text, &head) != nil || head["interval"] != "doubt" || head["bags"] != 8.0 || head["reach"] != got.Reach || head["z"] != got.Z {
		t.Errorf("%v: the document says %v, %v, %v, %v", err, head["interval"], head["bags"], head["reach"], head["z"])
	}
}

// The rows of a page have the doubt of their own attributions, and none where it is not known.
func TestRowsCarryDoubt(t *testing.T) {
	e := &explain.Explanation{
		Outputs: []string{"a", "b"}, Players: []string{"x"}, Rows: 3, Bags: 8, Observed: []bool{true, true, true},
		Prediction: make([]float64, 6), PredictionStd: make([]float64, 6), HiddenStd: make([]float64, 6),
		Mean: make([]float64, 6), Std: []float64{1, 2, 3, 4, 5, 6}, ModelStd: []float64{.1, .2, .3, .4, .5, .6},
	}
	columns := []*table.Column{table.NumberColumn("x", []float64{7, 8, 9}, nil)}
	r := rowsOfPage(e, columns, []int{10, 20, 30}, nil, []int{0, 2})
	if !slices.Equal(r.Std, Attributions{1, 2, 5, 6}) || !slices.Equal(r.ModelStd, Attributions{.1, .2, .5, .6}) {
		t.Errorf("spread %v, doubt %v", r.Std, r.ModelStd)
	}
	e.ModelStd = nil
	if r = rowsOfPage(e, columns, []int{10, 20, 30}, nil, []int{0, 2}); r.ModelStd != nil {
		t.Errorf("doubt that is not known is %v", r.ModelStd)
	}
}

// Packed numbers come back, as near as is promised.
func TestPackedNumbers(t *testing.T) {
	const seed = 3
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	values := []float64{0, -1, 1e-30, -1e30, math.NaN()}
	for range 200 {
		values = append(values, rng.NormFloat64()*math.Pow(10, float64(rng.IntN(12)-6)))
	}
	unpack := func(text []byte, width int) []float64 {
		packed, err := base64.StdEncoding.DecodeString(string(text))
		if err != nil || len(packed) != width*len(values) {
			t.Fatalf("%d bytes of %d numbers: %v", len(packed), len(values), err)
		}
		list := make([]float64, len(values))
		for i := range list {
			word := make([]byte, 4)
			copy(word[4-width:], packed[i*width:])
			list[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(word)))
		}
		return list
	}
	whole, err := Floats(values).MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	short, err := Attributions(values).MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		got []float64
		off float64
	}{"floats": {unpack(whole, 4), 6e-8}, "attributions": {unpack(short, 3), 2e-5}} {
		for i, v := range values {
			if math.IsNaN(v) != math.IsNaN(c.got[i]) || math.Abs(c.got[i]-v) > c.off*math.Abs(v) {
				t.Errorf("%s: %g came back as %g", name, v, c.got[i])
			}
		}
	}
}

func TestBits(t *testing.T) {
	text, err := Bits{true, false, false, true, false, false, false, false, false, true}.MarshalText()
	if want := base64.StdEncoding.EncodeToString([]byte{0b1001, 0b10}); err != nil || string(text) != want {
		t.Errorf("%s, want %s (%v)", text, want, err)
	}
}

func TestDigits(t *testing.T) {
	text, err := json.Marshal(Digits{37.88, math.NaN(), -122.23, 20240131, 1.0 / 3, math.Inf(1)})
	if want := `[37.88,null,-122.23,20240131,0.333333333,null]`; err != nil || string(text) != want {
		t.Errorf("%s, want %s (%v)", text, want, err)
	}
}
