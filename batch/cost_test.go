package batch

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/internal/store"
	"github.com/psi-shapley/psi/table"
)

// TestCostOfAUnit measures, in one process with one thread and interleaved, what a row of a unit costs, what the passes alone
// cost, and what reading, encoding, tables and writing cost alone. It needs PSI_COST_MODEL and PSI_COST_TABLE, a Parquet file;
// bench/batch.py makes them.
func TestCostOfAUnit(t *testing.T) {
	model, path := os.Getenv("PSI_COST_MODEL"), os.Getenv("PSI_COST_TABLE")
	if model == "" || path == "" {
		t.Skip("PSI_COST_MODEL and PSI_COST_TABLE name no model and no table")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	out := t.TempDir()
	job, _, err := (&Runner{Out: out}).Plan(t.Context(), Request{Model: model, In: path, Options: Options{Mode: "fast", Z: 1.96, Top: 3}})
	if err != nil {
		t.Fatal(err)
	}
	k, err := open(t.Context(), out, "auto")
	if err != nil {
		t.Fatal(err)
	}
	defer k.close()
	var units []unit
	for u, err := range job.units(t.Context(), k.out) {
		if err != nil {
			t.Fatal(err)
		}
		units = append(units, u)
	}
	c := &costs{T: t, task: k, units: units}
	if err := c.prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	parts := []struct {
		name string
		do   func(context.Context) (int, error)
	}{
		{"whole unit", c.whole},
		{"passes alone", c.passes},
		{"reading", c.reading},
		{"reading and encoding", c.encoding},
		{"tables and Parquet of explanations", c.writing},
	}
	const rounds = 3
	times := map[string][]float64{}
	for range rounds {
		for _, p := range parts {
			times[p.name] = append(times[p.name], c.cpu(p.do))
		}
	}
	medians := map[string]float64{"rows": float64(job.Rows)}
	for _, p := range parts {
		medians[p.name] = middle(times[p.name])
		t.Logf("%-36s %6.1f µs of CPU a row", p.name, medians[p.name])
	}
	t.Logf("passes are %.2f of a unit", medians["passes alone"]/medians["whole unit"])
	if to := os.Getenv("PSI_COST_OUT"); to != "" {
		text, err := json.Marshal(medians)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func middle(v []float64) float64 {
	return max(min(v[0], v[1]), min(max(v[0], v[1]), v[2]))
}

// costs does parts of the work on all units.
type costs struct {
	*testing.T
	*task
	units   []unit
	encoded []*psi.Rows
	made    []*explain.Explanation
}

// cpu is the CPU time that something takes for each row, in microseconds.
func (c *costs) cpu(do func(context.Context) (int, error)) float64 {
	c.Helper()
	used := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			c.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	runtime.GC()
	start := used()
	rows, err := do(c.Context())
	if err != nil {
		c.Fatal(err)
	}
	return float64(used()-start) / float64(rows) / 1e3
}

func (c *costs) whole(ctx context.Context) (rows int, err error) {
	for i := range c.units {
		did, err := c.do(ctx, &c.units[i])
		if err != nil {
			return 0, err
		}
		rows += did.rows
	}
	return rows, nil
}

// each goes over the chunks of all units.
func (c *costs) each(ctx context.Context, do func(*table.Table) error) (rows int, err error) {
	for i := range c.units {
		r, err := c.in.Open(ctx, c.units[i].object())
		if err != nil {
			return 0, err
		}
		source, err := c.sourceOf(&c.units[i], r)
		if err != nil {
			return 0, err
		}
		for {
			chunk, err := source.Next(ctx)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return 0, err
			}
			rows += chunk.Rows()
			if err := do(chunk); err != nil {
				return 0, err
			}
		}
		_ = source.Close()
	}
	return rows, nil
}

func (c *costs) reading(ctx context.Context) (int, error) {
	return c.each(ctx, func(*table.Table) error { return nil })
}

func (c *costs) encoding(ctx context.Context) (int, error) {
	return c.each(ctx, func(chunk *table.Table) error {
		_, err := c.model.Read(chunk)
		return err
	})
}

// prepare encodes and explains all rows once, and compiles what passes need.
func (c *costs) prepare(ctx context.Context) error {
	_, err := c.each(ctx, func(chunk *table.Table) error {
		encoded, err := c.model.Read(chunk)
		if err != nil {
			return err
		}
		c.encoded = append(c.encoded, encoded)
		answers, err := c.model.Pass(ctx, psi.Attributions, encoded)
		if err != nil {
			return err
		}
		e, err := answers[0].Explanation(psi.ExplainOptions{})
		c.made = append(c.made, e)
		return err
	})
	return err
}

// passes asks the network about rows that are encoded already.
func (c *costs) passes(ctx context.Context) (rows int, err error) {
	for _, encoded := range c.encoded {
		if _, err := c.model.Pass(ctx, psi.Attributions, encoded); err != nil {
			return 0, err
		}
		rows += encoded.Len()
	}
	return rows, nil
}

// writing makes tables of explanations and writes them.
func (c *costs) writing(ctx context.Context) (rows int, err error) {
	place, err := store.Create(ctx, filepath.Join(c.TempDir(), "parts"))
	if err != nil {
		return 0, err
	}
	w, err := place.Create(ctx, "x.parquet")
	if err != nil {
		return 0, err
	}
	sink := table.NewParquetSink(w)
	for _, e := range c.made {
		lines, err := e.Wide()
		if err != nil {
			return 0, err
		}
		if err := sink.Write(ctx, lines); err != nil {
			return 0, err
		}
		rows += e.Rows
	}
	if err := sink.Close(); err != nil {
		return 0, err
	}
	return rows, w.Close()
}
