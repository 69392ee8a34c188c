package report

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"
)

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
