package trees

import (
	"math"
	"testing"

	"github.com/psi-shapley/psi/internal/kernel/vector"
)

// A file is refused, or is a model whose attributions add up to its values.
func fuzz(f *testing.F, library string, read func([]byte) (*Model, error)) {
	for _, c := range libraries(f, library) {
		for _, content := range [][]byte{[]byte(c.Model), c.Binary, []byte(c.Dump)} {
			if len(content) < 20_000 {
				f.Add(content)
			}
		}
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		m, err := read(content)
		if err != nil || len(m.Columns) == 0 || len(m.Columns) > 100 || len(m.Base) > 100 {
			return
		}
		g := m.NewGame(Cover)
		codes := make([]Code, 3*len(m.Columns))
		for i := range codes {
			codes[i] = Code(i%3) - 1
		}
		values, phi := g.Values(codes, nil), g.Attributions(vector.Available()[0], codes, nil)
		for i, v := range values {
			sum, size := g.Empty()[i%len(m.Base)], math.Abs(v)
			for _, x := range phi[i*len(m.Columns):][:len(m.Columns)] {
				sum += x
				size += math.Abs(x)
			}
			if size < 1e6 && math.Abs(sum-v) > 1e-6*(1+size) && honest(m) {
				t.Errorf("attributions add up to %v, not %v", sum, v)
			}
		}
	})
}

// honest says whether the covers of the children of each node add up to its own, without which shares are no probabilities.
func honest(m *Model) bool {
	for _, t := range m.Trees {
		for _, n := range t.Nodes {
			if n.Column != Leaf && math.Abs(t.Nodes[n.Left].Cover+t.Nodes[n.Right].Cover-n.Cover) > 1e-3*n.Cover {
				return false
			}
		}
	}
	return true
}

func FuzzReadLightGBM(f *testing.F) { fuzz(f, "lightgbm", ReadLightGBM) }
func FuzzReadXGBoost(f *testing.F)  { fuzz(f, "xgboost", ReadXGBoost) }
