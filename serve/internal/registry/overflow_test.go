package registry_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/internal/artifact"
	"github.com/psi-shapley/psi/table"
)

// overflowing is the file of a model of columns x and z whose answer is infinite where x is low and z is high, which
// loading it does not see.
func overflowing(t *testing.T) []byte {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 0))
	columns := [3][]float64{}
	for range 200 {
		for k := range columns {
			columns[k] = append(columns[k], rng.NormFloat64())
		}
	}
	rows, err := table.New(table.NumberColumn("x", columns[0], nil), table.NumberColumn("z", columns[1], nil), table.NumberColumn("y", columns[2], nil))
	check(t, err)
	m, err := psi.Train(t.Context(), rows.Source(), psi.Config{Target: "y", Backend: "go", Change: func(s *psi.Settings) {
		s.Channels, s.Embedding, s.Bins, s.Frequencies, s.Hidden = 1, 1, 4, 0, 0
		s.Batch, s.Steps, s.RefitSteps, s.SpreadSteps = 64, 5, 1, 1
	}})
	check(t, err)
	defer m.Close()
	path := filepath.Join(t.TempDir(), "m.psi")
	check(t, m.Save(path))
	file, _, err := artifact.ReadFile(path, artifact.Model)
	check(t, err)
	tensors, err := artifact.DecodeTensors(file.Parts["weights.safetensors"])
	check(t, err)
	for name, value := range map[string][]float32{ // factors of 2 in the first bin of x, and from the second bin of z on; else of 1
		"bins": {-1, -1, -1, -1, 1, 1, 1, 1}, "bins_bias": {1, 0}, "slope": {0, 0}, "factor": {10, 10}, "factor_bias": {0, 0}, "factor_absent": {0, 0},
		"channel": {1.5e38}, "sigma_context": make([]float32, 16),
	} {
		if copy(tensors["0/"+name].Floats, value) != len(value) || len(tensors["0/"+name].Floats) != len(value) {
			t.Fatalf("%s has other dimensions", name)
		}
	}
	file.Parts["weights.safetensors"], err = artifact.EncodeTensors(tensors)
	check(t, err)
	var out bytes.Buffer
	check(t, artifact.Write(&out, file))
	return out.Bytes()
}

// A request whose answer is not finite fails, with the row; those that share its passes are answered.
func TestRowsThatOverflowFailTheirRequestAlone(t *testing.T) {
	directory := t.TempDir()
	check(t, os.WriteFile(filepath.Join(directory, "m.psi"), overflowing(t), 0o600))
	reg, seen := open(t, directory, nil)
	v, err := reg.Lease("m", "", "")
	check(t, err)
	defer v.Release()
	ask := func(x, z []float64) error {
		rows, err := table.New(table.NumberColumn("x", x, nil), table.NumberColumn("z", z, nil))
		check(t, err)
		_, err = v.Ask(context.WithoutCancel(t.Context()), rows, nil, psi.Attributions)
		return err
	}
	var asking sync.WaitGroup
	var answered, refused atomic.Int64
	for i := range 300 {
		asking.Go(func() {
			if i%3 > 0 {
				if err := ask([]float64{-9, 9, 9}, []float64{-9, -9, 9}); err != nil {
					t.Error(err)
				}
				answered.Add(1)
				return
			}
			err := ask([]float64{9, -9}, []float64{9, 9})
			if at, is := errors.AsType[*table.Error](err); !is || at.Row != 1 {
				t.Errorf("%v, want an error of row 1", err)
			}
			refused.Add(1)
		})
	}
	asking.Wait()
	t.Logf("%d requests answered, %d refused, in %d passes", answered.Load(), refused.Load(), seen.passes.Load())
}
