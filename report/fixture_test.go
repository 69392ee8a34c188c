package report

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/psi-shapley/psi/explain"
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
