package network_test

import (
	"fmt"
	"testing"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/engine"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/form/formtest"
	"github.com/psi-shapley/psi/internal/network"
)

// BenchmarkExplain times networks of the size that tables are fitted with, in rows a
// second: their values alone, predictions with their spread, and whole explanations.
func BenchmarkExplain(b *testing.B) {
	const (
		rows  = 4 * network.PassRows
		nodes = 4
	)
	cases := []struct {
		kind           kind
		players        int
		channels, rank int
	}{
		{product, 8, 256, 0},
		{product, 12, 256, 0},
		{tensorTrain, 8, 16, 4},
		{tensorTrain, 12, 16, 4},
	}
	for _, name := range engine.Names() {
		for _, c := range cases {
			b.Run(fmt.Sprintf("%s/%s/players=%d", name, c.kind.name, c.players), func(b *testing.B) {
				rng := fixedRand(b, 1)
				config := c.kind.small(c.players, 1)
				config.Inputs.Bins, config.Frequencies, config.Embedding = 48, 0, 32
				config.Channels, config.Rank = c.channels, c.rank
				config.SigmaWidth, config.HiddenWidth = 16, 32
				s := newSubject(b, open(b, name), config, rng)
				e := s.fullEvaluator(b, engine.Final, nodes)
				batch := formtest.Rows(rng, s.Inputs, rows, 0)
				b.Run("values", func(b *testing.B) {
					rowsPerSecond(b, batch, func() error { _, err := e.Pass(b.Context(), batch, 0); return err })
				})
				b.Run("predict", func(b *testing.B) {
					rowsPerSecond(b, batch, func() error { _, err := e.Pass(b.Context(), batch, form.Spread); return err })
				})
				b.Run("explain", func(b *testing.B) {
					rowsPerSecond(b, batch, func() error { _, err := e.Pass(b.Context(), batch, form.Everything); return err })
				})
				one := batch.Head(1)
				b.Run("explain one row", func(b *testing.B) {
					rowsPerSecond(b, one, func() error { _, err := e.Pass(b.Context(), one, form.Everything); return err })
				})
			})
		}
	}
}

// rowsPerSecond times f, which goes through the batch; its first call compiles.
func rowsPerSecond(b *testing.B, batch *encode.Batch, f func() error) {
	b.Helper()
	if err := f(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := f(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(batch.Rows*b.N)/b.Elapsed().Seconds(), "rows/s")
}
