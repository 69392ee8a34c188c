package trees

import (
	"math"
	"testing"

	"github.com/psi-shapley/psi/internal/kernel/vector"
)

// Values, attributions and interactions against reference rows are those of the definition: the mean, over these rows,
// of games in which absent columns have their values.
func TestReferences(t *testing.T) {
	for _, c := range []struct {
		columns, trees, depth, outputs, references int
		playerOf                                   []int
	}{{1, 1, 3, 1, 1, nil}, {5, 4, 4, 1, 3, nil}, {7, 5, 9, 3, 2, nil}, {8, 4, 12, 2, 3, []int{0, 1, 2, 3, 4, 1, 0, 1}}, {6, 5, 8, 1, 40, nil}, {8, 3, 10, 2, 30, []int{0, 1, 2, 3, 4, 1, 0, 1}}} {
		e, r := random(17, c.columns, c.trees, c.depth, c.outputs)
		byColumn := e.NewGame(Cover) // enumerates
		if c.playerOf != nil {
			byColumn = e.NewGroupedGame(Cover, c.playerOf, 5)
		}
		references, _ := rowsOf(r, e, c.references)
		g := e.NewReferences(references, byColumn.playerOf, byColumn.players)
		const rows = 12
		codes, present := rowsOf(r, e, rows)
		someWhole := append([]bool{}, present...)
		for i := range someWhole[:len(someWhole)*3/4] {
			someWhole[i] = true
		}
		for _, known := range [][]bool{nil, present, someWhole} {
			worst, players := 0.0, g.players
			values, phi, pairs := g.Values(codes, known), g.Attributions(vector.Portable, codes, known), g.Interactions(vector.Portable, codes, known)
			for i := range rows {
				here := make([]bool, c.columns)
				for d := range here {
					here[d] = len(known) == 0 || known[i*c.columns+d]
				}
				for o := range c.outputs {
					v, want := make([]float64, 1<<players), make([]float64, players)
					for reference := range g.each() {
						ofOne, phiOfOne := byColumn.enumerated(codes[i*c.columns:][:c.columns], here, o, reference)
						for s := range v {
							v[s] += ofOne[s] / float64(c.references)
						}
						for j := range want {
							want[j] += phiOfOne[j] / float64(c.references)
						}
					}
					line := i*c.outputs + o
					worst = max(worst, math.Abs(values[line]-v[len(v)-1]), math.Abs(g.Empty()[o]-v[0]))
					for a := range players {
						worst = max(worst, math.Abs(phi[line*players+a]-want[a]))
						for b := range players {
							worst = max(worst, math.Abs(pairs[(line*players+a)*players+b]-indexOf(v, players, a, b)))
						}
					}
				}
			}
			t.Logf("%+v: off by %.1e", c, worst)
			if !(worst < 1e-12) {
				t.Errorf("%+v: off by %.1e", c, worst)
			}
		}
	}
}

// Rows that go through the trees together have the values that each has with each reference row, on long paths and short ones.
func TestPatternsAreThoseOfPairsOfRows(t *testing.T) {
	for _, c := range []struct{ columns, trees, depth, rows int }{{3, 5, 6, patternRows + 7}, {24, 3, 16, 40}} {
		e, r := random(23, c.columns, c.trees, c.depth, 2)
		references, _ := rowsOf(r, e, 9)
		byColumn := e.NewGame(Cover)
		g := e.NewReferences(references, byColumn.playerOf, byColumn.players)
		codes, _ := rowsOf(r, e, c.rows)
		for _, pairs := range []bool{false, true} {
			if !g.manyPairs(c.rows) {
				t.Fatal("the rows are too few to go through the trees together")
			}
			got := g.pass(codes, nil, pairs)
			want, w := make([]float64, len(got)), newFork(g, pairs)
			perRow := len(got) / c.rows
			for row := range c.rows {
				for reference := range g.each() {
					w.walk(g.rowOf(codes, row), reference, want[row*perRow:][:perRow])
				}
			}
			worst := 0.0
			for i := range want {
				worst = max(worst, math.Abs(got[i]-want[i]))
			}
			t.Logf("%+v, pairs %v: off by %.1e", c, pairs, worst)
			if !(worst < 1e-12) {
				t.Errorf("%+v, pairs %v: off by %.1e", c, pairs, worst)
			}
		}
	}
}
