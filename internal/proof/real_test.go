package proof

import (
	"errors"
	"testing"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/internal/benchset"
)

// What peers reach on the same fold, for the log.
var peers = map[string]string{
	"california": "LightGBM .4541",
	"bike":       "LightGBM 39.81",
}

func TestRealTables(t *testing.T) {
	slow(t)
	kinds := []struct {
		name   string
		head   string
		change func(s *psi.Settings)
	}{
		{"default", "exact", nil},
		{"tensor-train", "exact", func(s *psi.Settings) { s.Form, s.Channels, s.Rank = "tensor-train", 16, 4 }},
		{"learned", "learned", nil},
	}
	for _, name := range []string{"california", "bike"} {
		p, err := realTable(name)
		if errors.Is(err, benchset.ErrAbsent) {
			t.Skip(err)
		}
		check(t, err)
		for _, k := range kinds {
			t.Run(name+"/"+k.name, func(t *testing.T) {
				m := fit(t, p, k.head, k.change)
				e := m.explain(t, p.tested())
				t.Logf("%s fold 0, %s: RMSE %.4f (%s), fidelity error %.1e, 90 %% intervals cover %.3f, %d nodes, %.0f s wall, %.0f s CPU",
					name, k.name, rmse(e.prediction, e.y), peers[name], m.fidelity(t, 20), coverage(e.y, e.prediction, e.std, z90), m.nodes(), m.wall.Seconds(), m.cpu.Seconds())
			})
		}
	}
}
