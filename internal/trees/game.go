package trees

import (
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/kernel/vector"
)

// Game is an ensemble compiled for the Shapley values of a game. It does not change and is safe for concurrent use.
type Game struct {
	ensemble *Ensemble
	absent   Absent
	players  int
	playerOf []int     // by column
	hidden   []bool    // by column: absent from every coalition though its player is not; nil if none is
	empty    []float64 // v(∅) of each output
	trees    []compiled
}

// compiled is a tree with what its edges need. Edge i leads to node i; the root has none.
type compiled struct {
	output int
	nodes  []Node
	quad   int       // number of quadrature nodes
	depth  int       // edges of the longest path
	edges  []edge    // by node
	terms  []float64 // of edges, vector.BranchTerms·quad each

	inverse []vector.Rows // by quadrature node: 1/ω

	lefts []uint64 // by node: bit code + 1 says that a code goes left, if its column has few codes; nil if no split needs it
}

// fewCodes is the number of codes, a missing value included, that fit into an element of lefts.
const fewCodes = 64

// leftCodes finds the codes that go left at splits of labels, and at those that take 0 for missing.
func (g *Game) leftCodes(nodes []Node) (lefts []uint64) {
	for k := range nodes {
		n := &nodes[k]
		if n.Column == Leaf || n.Set == nil && !n.Zero {
			continue
		}
		c := &g.ensemble.Columns[n.Column]
		codes := len(c.Edges) + len(c.Labels) + 1
		if codes >= fewCodes {
			continue
		}
		if lefts == nil {
			lefts = make([]uint64, len(nodes))
		}
		for code := Missing; int(code) < codes; code++ {
			if n.left(code, c.Zero) {
				lefts[k] |= 1 << (code + 1)
			}
		}
	}
	return lefts
}

// edge is what a branch adds to the path of the leaves below it. Let q be the product of the shares of its player on the path so far, this
// branch included, q′ without it, and f(q) = q + t (1 − q) the factor of a row that passes. A row has passed the player's branches
// before this one or not (o′) and with this one or not (o). Its factor at a quadrature node t of weight ω grows by a ratio, and the
// slope ω (o_d − p_d)/factor of its player by a difference:
//
//	o′ o   ratio            slope
//	1  1   f(q)/f(q′)       ω (1 − q)/f(q) − ω (1 − q′)/f(q′)
//	1  0   q (1 − t)/f(q′)  −ω/(1 − t) − ω (1 − q′)/f(q′)
//	0  0   share            0
//
// So no factor is divided by, not even one that is 0, and an absent player is one whose first o′ is 0.
type edge struct {
	player int
	before int     // depth of the player's edge before this one; 0 if it is the first
	share  float64 // the weight that the game gives the branch if its column is absent
}

// hiddenPlayer is the player of the edges of hidden columns. No row passes them.
const hiddenPlayer = -1

// Absent is what a game puts in the place of an absent column: the weights of the branches of a split, left and right.
type Absent func(t *Tree, node int) (left, right float64)

// Cover weighs branches by the training rows that took them: the path-dependent game of TreeSHAP. A branch of a node that no row reached has
// the weight 0.
func Cover(t *Tree, node int) (left, right float64) {
	n := &t.Nodes[node]
	if n.Cover == 0 {
		return 0, 0
	}
	return t.Nodes[n.Left].Cover / n.Cover, t.Nodes[n.Right].Cover / n.Cover
}

// MissingBranch takes the branch of missing values. It is the observational game if the trees learned from rows with cells hidden at random.
func MissingBranch(t *Tree, node int) (left, right float64) { return way(t.Nodes[node].MissingLeft) }

func way(left bool) (float64, float64) {
	if left {
		return 1, 0
	}
	return 0, 1
}

// NewGame compiles an ensemble that Check accepts. Every column is a player.
func (e *Ensemble) NewGame(absent Absent) *Game {
	playerOf := make([]int, len(e.Columns))
	for d := range playerOf {
		playerOf[d] = d
	}
	return e.NewGroupedGame(absent, playerOf, len(playerOf))
}

// NewGroupedGame is NewGame with players that come and go together with all their columns. playerOf has the player of each column.
func (e *Ensemble) NewGroupedGame(absent Absent, playerOf []int, players int) *Game {
	g := &Game{ensemble: e, absent: absent, players: players, playerOf: playerOf, empty: append([]float64{}, e.Base...)}
	g.compile()
	nothing := make([]bool, len(e.Columns))
	for i := range g.trees {
		g.empty[g.trees[i].output] += g.value(&g.trees[i], 0, nil, nothing)
	}
	return g
}

// hiding is the game of rows in which columns are absent whose players are not.
func (g *Game) hiding(columns []bool) *Game {
	other := *g
	other.hidden = columns
	other.compile()
	return &other
}

func (g *Game) compile() {
	g.trees = make([]compiled, len(g.ensemble.Trees))
	for i := range g.trees {
		g.trees[i] = g.compiled(&g.ensemble.Trees[i])
	}
}

func (g *Game) compiled(t *Tree) compiled {
	c := compiled{output: t.Output, nodes: t.Nodes, edges: make([]edge, len(t.Nodes))}
	longest := 0 // most players of a path
	players := map[int]int{}
	products := make([][2]float64, len(t.Nodes)) // q′ and q of each edge
	type step struct {
		player int
		q      float64
	}
	var path []step
	var descend func(node int)
	descend = func(node int) {
		c.depth, longest = max(c.depth, len(path)), max(longest, len(players))
		n := &t.Nodes[node]
		if n.Column == Leaf {
			return
		}
		player := g.playerOf[n.Column]
		if len(g.hidden) > 0 && g.hidden[n.Column] {
			player = hiddenPlayer
		}
		var shares [2]float64
		shares[0], shares[1] = g.absent(t, node)
		for side, child := range [...]int{n.Left, n.Right} {
			e, q := edge{player: player, share: shares[side]}, 1.0
			for depth := len(path); depth > 0; depth-- {
				if path[depth-1].player == player {
					e.before, q = depth, path[depth-1].q
					break
				}
			}
			c.edges[child], products[child] = e, [2]float64{q, q * e.share}
			path = append(path, step{player, q * e.share})
			players[player]++
			descend(child)
			path = path[:len(path)-1]
			if players[player]--; players[player] == 0 {
				delete(players, player)
			}
		}
	}
	descend(0)
	c.quad, c.lefts = form.ExactNodes(longest), g.leftCodes(t.Nodes)
	c.terms = make([]float64, 0, vector.BranchTerms*c.quad*len(t.Nodes))
	at, weight := form.GaussLegendre(c.quad)
	c.inverse = inverses(weight)
	for node := range t.Nodes {
		before, q := products[node][0], products[node][1]
		for i, t := range at {
			f, fBefore := q+t*(1-q), before+t*(1-before)
			ratio10, ratio11 := q*(1-t)/fBefore, f/fBefore
			slope := weight[i] * (1 - before) / fBefore
			slope10, slope11 := -weight[i]/(1-t)-slope, weight[i]*(1-q)/f-slope
			// As o ≤ o′, what o′ and o add to what a row has with neither.
			c.terms = append(c.terms, ratio10-c.edges[node].share, ratio11-ratio10, slope10, slope11-slope10)
		}
	}
	return c
}

func inverses(weight []float64) []vector.Rows {
	list := make([]vector.Rows, len(weight))
	for i, w := range weight {
		for r := range list[i] {
			list[i][r] = 1 / w
		}
	}
	return list
}

// termsOf are the terms of the edge to a node.
func (c *compiled) termsOf(node int) []float64 {
	size := vector.BranchTerms * c.quad
	return c.terms[size*node:][:size]
}

// Empty is v(∅) of each output: what the ensemble expects of a row that nothing is known of.
func (g *Game) Empty() []float64 { return g.empty }
