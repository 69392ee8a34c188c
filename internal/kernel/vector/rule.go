package vector

// Rule is a quadrature rule on [0, 1].
type Rule struct {
	nodes  []node
	blocks []byte // number of nodes computed together, four, three or two; and the position of the block
}

type node struct{ t, weight float32 }

// NewRule returns the rule with nodes t and their weights. A single node gets a second one with weight 0, because at
// least two are computed together.
func NewRule(t, weights []float64) Rule {
	r := Rule{nodes: make([]node, max(2, len(t)))}
	for q := range t {
		r.nodes[q] = node{float32(t[q]), float32(weights[q])}
	}
	left := len(r.nodes)
	for ; left > 5 || left == 4; left -= 4 {
		r.blocks = append(r.blocks, 4)
	}
	switch left {
	case 5:
		r.blocks = append(r.blocks, 3, 2)
	case 3, 2:
		r.blocks = append(r.blocks, byte(left))
	}
	for i := range r.blocks {
		r.blocks[i] |= middleBlock
	}
	r.blocks[0] ^= middleBlock ^ firstBlock
	if end := len(r.blocks) - 1; end > 0 {
		r.blocks[end] ^= middleBlock ^ lastBlock
	} else {
		r.blocks[0] |= onlyBlock
	}
	return r
}

// Position of a block: the first one initialises the moments, the last one completes them.
const (
	firstBlock  = 0 << 4
	middleBlock = 1 << 4
	lastBlock   = 2 << 4
	onlyBlock   = 3 << 4
)

// ShareFloats is the scratch that Shares needs per factor: the products before it and its value at four nodes, M_0 and
// M_1, each as a vector.
const ShareFloats = 10 * Lanes
