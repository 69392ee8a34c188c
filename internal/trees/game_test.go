package trees

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/psi-shapley/psi/internal/kernel/vector"
)

// grown is a random tree over columns with some edges each. Some branches have no training rows, paths meet columns again.
func grown(r *rand.Rand, columns []Column, depth, outputs int) Tree {
	t := Tree{Output: r.IntN(outputs)}
	var grow func(depth int, cover float64) int
	grow = func(depth int, cover float64) int {
		at := len(t.Nodes)
		t.Nodes = append(t.Nodes, Node{Column: Leaf, Cover: cover, Value: r.NormFloat64()})
		if depth == 0 || r.Float64() < .1 {
			return at
		}
		n := Node{Column: r.IntN(len(columns)), Cover: cover, MissingLeft: r.IntN(2) == 0}
		if c := columns[n.Column]; c.Labels == nil {
			n.Below = Code(r.IntN(len(c.Edges) + 2))
			n.Zero = r.IntN(3) == 0
		} else {
			n.Set, n.SetLeft = []Code{}, r.IntN(2) == 0
			for code := range len(c.Labels) + 1 {
				if r.IntN(2) == 0 {
					n.Set = append(n.Set, Code(code))
				}
			}
		}
		share := r.Float64()
		if r.Float64() < .1 {
			share = math.Round(share)
		}
		n.Left = grow(depth-1, cover*share)
		n.Right = grow(depth-1, cover*(1-share))
		t.Nodes[at] = n
		return at
	}
	grow(depth, 100)
	return t
}

func random(seed uint64, columns, trees, depth, outputs int) (*Ensemble, *rand.Rand) {
	r := rand.New(rand.NewPCG(seed, 0))
	e := &Ensemble{}
	for d := range columns {
		c := Column{Name: fmt.Sprintf("x%d", d), Zero: Missing}
		if d%4 == 3 {
			c.Labels = []string{"a", "b", "c"}
		} else {
			c.Edges, c.Zero = []float64{-1, 0, 1, 2}, 2
		}
		e.Columns = append(e.Columns, c)
	}
	for range outputs {
		e.Base = append(e.Base, r.NormFloat64())
	}
	for range trees {
		e.Trees = append(e.Trees, grown(r, e.Columns, depth, outputs))
	}
	return e, r
}

// rowsOf are random rows, some cells of which are missing values, and some absent.
func rowsOf(r *rand.Rand, e *Ensemble, rows int) (codes []Code, present []bool) {
	for range rows {
		for _, c := range e.Columns {
			code := Code(r.IntN(len(c.Edges)+len(c.Labels)+1+1)) - 1
			codes = append(codes, code)
			present = append(present, r.IntN(4) > 0)
		}
	}
	return codes, present
}

// reached is the definition of v(S), written by recursion over the tree of the ensemble itself. Absent columns have the codes of a
// reference row or, if it is nil, weigh branches by training rows.
func (e *Ensemble) reached(t *Tree, node int, row []Code, in uint, reference []Code) float64 {
	n := &t.Nodes[node]
	if n.Column == Leaf {
		return n.Value
	}
	c := &e.Columns[n.Column]
	code, known := row[n.Column], in>>n.Column&1 == 1
	if !known && reference != nil {
		code, known = reference[n.Column], true
	}
	goes := n.Right
	switch {
	case code == Missing, n.Zero && code == c.Zero:
		if n.MissingLeft {
			goes = n.Left
		}
	case c.Labels == nil && code < n.Below:
		goes = n.Left
	case c.Labels != nil:
		in := false
		for _, s := range n.Set {
			in = in || s == code
		}
		if in == n.SetLeft {
			goes = n.Left
		}
	}
	if known {
		return e.reached(t, goes, row, in, reference)
	}
	if n.Cover == 0 {
		return 0
	}
	left, right := t.Nodes[n.Left].Cover/n.Cover, t.Nodes[n.Right].Cover/n.Cover
	return left*e.reached(t, n.Left, row, in, nil) + right*e.reached(t, n.Right, row, in, nil)
}

// enumerated are v of all coalitions of players among a row's present columns, and the Shapley values by definition.
func (g *Game) enumerated(row []Code, present []bool, output int, reference []Code) (v []float64, phi []float64) {
	e := g.ensemble
	v = make([]float64, 1<<g.players)
	for s := range v {
		v[s] = e.Base[output]
		known := uint(0)
		for d, player := range g.playerOf {
			if present[d] && s>>player&1 == 1 {
				known |= 1 << d
			}
		}
		for i := range e.Trees {
			if t := &e.Trees[i]; t.Output == output {
				v[s] += e.reached(t, 0, row, known, reference)
			}
		}
	}
	phi = make([]float64, g.players)
	for j := range phi {
		for s := range v {
			if s>>j&1 == 0 {
				size := bits.OnesCount(uint(s))
				weight := math.Exp(lgamma(size) + lgamma(g.players-size-1) - lgamma(g.players))
				phi[j] += weight * (v[s|1<<j] - v[s])
			}
		}
	}
	return v, phi
}

// lgamma is log n!.
func lgamma(n int) float64 {
	l, _ := math.Lgamma(float64(n) + 1)
	return l
}

func TestAttributionsAreTheShapleyValues(t *testing.T) {
	for _, c := range []struct{ columns, trees, depth, outputs int }{{1, 1, 3, 1}, {4, 3, 2, 1}, {6, 4, 5, 1}, {7, 5, 9, 3}, {9, 2, 12, 2}} {
		e, r := random(7, c.columns, c.trees, c.depth, c.outputs)
		if err := e.Check(); err != nil {
			t.Fatal(err)
		}
		const rows = 41 // more than a block, and no multiple
		codes, present := rowsOf(r, e, rows)
		missing := make([]Code, c.columns)
		for d := range missing {
			missing[d] = Missing
		}
		for name, game := range map[string]struct {
			absent    Absent
			reference []Code
		}{"path-dependent": {Cover, nil}, "missing branch": {MissingBranch, missing}} {
			for _, known := range [][]bool{nil, present} {
				for _, set := range vector.Available() {
					worst := e.NewGame(game.absent).worst(t, set, codes, known, game.reference)
					t.Logf("%+v, %s, %v: off by %.1e", c, name, set, worst)
					if !(worst < 1e-12) {
						t.Errorf("%+v, %s, %v: off by %.1e", c, name, set, worst)
					}
				}
			}
		}
	}
}

// worst is how far values and attributions of rows are from those of the definitions. Players without a known column must have 0.
func (g *Game) worst(t *testing.T, set vector.Set, codes []Code, known []bool, reference []Code) (worst float64) {
	t.Helper()
	columns, outputs := len(g.ensemble.Columns), len(g.ensemble.Base)
	phi, values := g.Attributions(set, codes, known), g.Values(codes, known)
	if known != nil {
		for i, v := range g.CoalitionValues(set, codes, known) {
			worst = max(worst, math.Abs(v-values[i]))
		}
	}
	for i := range len(codes) / columns {
		here, some := make([]bool, columns), make([]bool, g.players)
		for d := range here {
			here[d] = len(known) == 0 || known[i*columns+d]
			some[g.playerOf[d]] = some[g.playerOf[d]] || here[d]
		}
		for o := range outputs {
			v, want := g.enumerated(codes[i*columns:][:columns], here, o, reference)
			worst = max(worst, math.Abs(values[i*outputs+o]-v[len(v)-1]), math.Abs(g.Empty()[o]-v[0]))
			sum := g.Empty()[o]
			for j, p := range want {
				got := phi[(i*outputs+o)*g.players+j]
				sum += got
				worst = max(worst, math.Abs(got-p))
				if !some[j] && got != 0 {
					t.Errorf("an absent player has the attribution %v", got)
				}
			}
			worst = max(worst, math.Abs(sum-values[i*outputs+o]))
		}
	}
	return worst
}

// Players may have several columns, of which a row may lack some.
func TestGroups(t *testing.T) {
	e, r := random(5, 8, 6, 9, 2)
	codes, present := rowsOf(r, e, 60)
	g := e.NewGroupedGame(Cover, []int{0, 1, 0, 2, 1, 2, 3, 0}, 4)
	for _, known := range [][]bool{nil, present} {
		for _, set := range vector.Available() {
			worst := g.worst(t, set, codes, known, nil)
			t.Logf("%v: off by %.1e", set, worst)
			if !(worst < 1e-12) {
				t.Errorf("%v: off by %.1e", set, worst)
			}
		}
	}
}

// indexOf is I_ab by definition: Σ_S (|S|)! (d − |S| − 2)! / (d − 1)! (v(S ∪ ab) − v(S ∪ a) − v(S ∪ b) + v(S)).
func indexOf(v []float64, players, a, b int) (sum float64) {
	for s := range v {
		if in := 1<<a | 1<<b; a != b && s&in == 0 {
			size := bits.OnesCount(uint(s))
			weight := math.Exp(lgamma(size) + lgamma(players-size-2) - lgamma(players-1))
			sum += weight * (v[s|in] - v[s|1<<a] - v[s|1<<b] + v[s])
		}
	}
	return sum
}

func TestInteractionsAreTheIndices(t *testing.T) {
	for _, c := range []struct {
		columns, trees, depth, outputs int
		playerOf                       []int
	}{{2, 2, 3, 1, nil}, {5, 4, 5, 1, nil}, {7, 3, 9, 2, nil}, {8, 4, 9, 1, []int{0, 1, 2, 3, 4, 1, 0, 1}}} {
		e, r := random(11, c.columns, c.trees, c.depth, c.outputs)
		g := e.NewGame(Cover)
		if c.playerOf != nil {
			g = e.NewGroupedGame(Cover, c.playerOf, 5)
		}
		const rows = 35
		codes, present := rowsOf(r, e, rows)
		for _, set := range vector.Available() {
			pairs := g.Interactions(set, codes, present)
			worst := 0.0
			for i := range rows {
				for o := range c.outputs {
					v, _ := g.enumerated(codes[i*c.columns:][:c.columns], present[i*c.columns:][:c.columns], o, nil)
					for a := range g.players {
						for b := range g.players {
							want := indexOf(v, g.players, a, b)
							got := pairs[((i*c.outputs+o)*g.players+a)*g.players+b]
							worst = max(worst, math.Abs(got-want))
						}
					}
				}
			}
			t.Logf("%+v, %v: off by %.1e", c, set, worst)
			if !(worst < 1e-12) {
				t.Errorf("%+v, %v: off by %.1e", c, set, worst)
			}
		}
	}
}
