package trees

import (
	"testing"

	"github.com/psi-shapley/psi/internal/kernel/vector"
)

func BenchmarkAttributions(b *testing.B) {
	for _, c := range []struct {
		name                  string
		columns, trees, depth int
	}{{"500 of depth 5", 12, 500, 5}, {"1000 of depth 8", 12, 1000, 8}} {
		e, r := random(1, c.columns, c.trees, c.depth, 1)
		g := e.NewGame(Cover)
		const rows = 256
		codes, _ := rowsOf(r, e, rows)
		for _, set := range vector.Available() {
			b.Run(c.name+"/"+set.String(), func(b *testing.B) {
				for b.Loop() {
					g.Attributions(set, codes, nil)
				}
				b.ReportMetric(float64(rows*b.N)/b.Elapsed().Seconds(), "rows/s")
			})
		}
	}
}

// Values of coalitions of a row, as an audit needs them: side by side, and one by one.
func BenchmarkCoalitionValues(b *testing.B) {
	e, r := random(1, 12, 100, 8, 1)
	for i := range e.Trees { // as most trees are
		for k := range e.Trees[i].Nodes {
			e.Trees[i].Nodes[k].Zero = false
		}
	}
	g := e.NewGame(Cover)
	codes, present := rowsOf(r, e, 1024)
	for i := range present {
		present[i] = r.IntN(2) == 0
	}
	b.Run("together", func(b *testing.B) {
		for b.Loop() {
			g.CoalitionValues(vector.Available()[0], codes, present)
		}
	})
	b.Run("alone", func(b *testing.B) {
		for b.Loop() {
			g.Values(codes, present)
		}
	})
}

func BenchmarkReferences(b *testing.B) {
	for _, c := range []struct {
		name                  string
		columns, trees, depth int
	}{{"500 of depth 5", 12, 500, 5}, {"1000 of depth 8", 12, 1000, 8}} {
		e, r := random(1, c.columns, c.trees, c.depth, 1)
		const rows, references = 256, 100
		codes, _ := rowsOf(r, e, rows)
		others, _ := rowsOf(r, e, references)
		byColumn := e.NewGame(Cover)
		g := e.NewReferences(others, byColumn.playerOf, byColumn.players)
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				g.Attributions(vector.Portable, codes, nil)
			}
			b.ReportMetric(float64(rows*b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
