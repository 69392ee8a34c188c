package trees

import "math/bits"

// patterns is the game of reference rows for many rows at once. On the path of a leaf with k players, a row has a pattern: a bit for each
// player, set if the row takes all of the player's branches. Coalitions of a row with the pattern x and a reference with the pattern r reach
// the leaf if x | r has all bits: with the players that r lacks, and without those that x lacks. So rows of one pattern have one
// contribution, and so do references, which are counted by pattern.
type patterns struct {
	*References
	pairs bool

	rows, references sample
	t                *Tree
	output           int   // first of the values of the tree's output
	path             []int // players of the path, in the order of their bits

	found   interned // patterns of references, and how many have each
	counts  []float64
	known   interned    // patterns of rows, and what each contributes
	entries [][]float64 // by number in known: of each player or pair of the path; nil if it contributes nothing
	spare   []float64
}

// sample is rows by column, and their patterns by depth.
type sample struct {
	codes [][]Code   // [columns, rows]
	masks [][]uint64 // [depths, rows]
}

// patternRows is the number of rows that go through a tree together.
const patternRows = 512

func newPatterns(g *References, pairs bool) *patterns {
	p := &patterns{References: g, pairs: pairs}
	p.references = newSample(len(g.ensemble.Columns), g.count(), g.ensemble.Depth())
	p.references.load(g.rows)
	p.rows = newSample(len(g.ensemble.Columns), patternRows, g.ensemble.Depth())
	return p
}

func newSample(columns, rows, depth int) sample {
	s := sample{make([][]Code, columns), make([][]uint64, depth+1)}
	for d := range s.codes {
		s.codes[d] = make([]Code, rows)
	}
	for d := range s.masks {
		s.masks[d] = make([]uint64, rows)
	}
	return s
}

// load takes rows of codes [rows, columns], of which there may be fewer than before.
func (s *sample) load(codes []Code) {
	columns := len(s.codes)
	rows := len(codes) / columns
	for d := range s.codes {
		s.codes[d] = s.codes[d][:rows]
		for r := range s.codes[d] {
			s.codes[d][r] = codes[r*columns+d]
		}
	}
	for d := range s.masks {
		s.masks[d] = s.masks[d][:rows]
	}
}

// add adds attributions [rows, outputs, players] or pairs of rows of codes [rows, columns], which have all columns.
func (p *patterns) add(codes []Code, to []float64) {
	columns, perRow := len(p.ensemble.Columns), len(p.ensemble.Base)*p.perOutput()
	for len(codes) > 0 {
		n := min(patternRows, len(codes)/columns)
		p.rows.load(codes[:n*columns])
		for i := range p.ensemble.Trees {
			p.t = &p.ensemble.Trees[i]
			p.output = p.t.Output * p.perOutput()
			p.node(0, 0, to[:n*perRow], perRow)
		}
		codes, to = codes[n*columns:], to[n*perRow:]
	}
}

// perOutput is the number of values of a row and output.
func (p *patterns) perOutput() int {
	if p.pairs {
		return p.players * p.players
	}
	return p.players
}

// node walks what is below a node, whose patterns are those at a depth. At the root all are 0.
func (p *patterns) node(at, depth int, to []float64, perRow int) {
	n := &p.t.Nodes[at]
	if n.Column == Leaf {
		if depth > 0 {
			p.leaf(n.Value, depth, to, perRow)
		}
		return
	}
	player := p.playerOf[n.Column]
	bit, before := p.bit(player)
	if !before {
		p.path = append(p.path, player)
	}
	zero := p.ensemble.Columns[n.Column].Zero
	for side, child := range [...]int{n.Left, n.Right} {
		for _, s := range []*sample{&p.rows, &p.references} {
			s.pass(n, zero, side == 0, depth, bit, before)
		}
		p.node(child, depth+1, to, perRow)
	}
	if !before {
		p.path = p.path[:len(p.path)-1]
	}
}

// bit returns the bit of a player of the path, or that of the next one.
func (p *patterns) bit(player int) (bit uint64, before bool) {
	for i, other := range p.path {
		if other == player {
			return 1 << i, true
		}
	}
	return 1 << len(p.path), false
}

// pass finds the patterns of rows below a branch.
func (s *sample) pass(n *Node, zero Code, left bool, depth int, bit uint64, before bool) {
	from, to, codes := s.masks[depth], s.masks[depth+1], s.codes[n.Column]
	codes, to = codes[:len(from)], to[:len(from)]
	if n.Set != nil || n.Zero {
		for r, code := range codes {
			to[r] = passed(from[r], bit, n.left(code, zero) == left, before)
		}
		return
	}
	// As a number without sign, the code of a missing value is above all others; plus 1 it is below them.
	shift, below := uint32(0), uint32(n.Below)
	if n.MissingLeft {
		shift, below = 1, below+1
	}
	for r, code := range codes {
		to[r] = passed(from[r], bit, (uint32(code)+shift < below) == left, before)
	}
}

// passed is a pattern after one more branch of the player with a bit.
func passed(mask, bit uint64, passes, before bool) uint64 {
	switch {
	case !passes:
		return mask &^ bit
	case before:
		return mask
	}
	return mask | bit
}

// leaf adds what a leaf contributes to the values of all rows.
func (p *patterns) leaf(value float64, depth int, to []float64, perRow int) {
	k := len(p.path)
	p.found.reset(k)
	p.counts = p.counts[:0]
	for _, mask := range p.references.masks[depth] {
		number, isNew := p.found.number(mask)
		if isNew {
			p.counts = append(p.counts, 0)
		}
		p.counts[number]++
	}
	p.known.reset(k)
	p.entries, p.spare = p.entries[:0], p.spare[:0]
	value /= float64(p.count())
	for r, mask := range p.rows.masks[depth] {
		number, isNew := p.known.number(mask)
		if isNew {
			p.entries = append(p.entries, p.entry(mask, value))
		}
		entry := p.entries[number]
		if entry == nil {
			continue
		}
		row := to[r*perRow+p.output:][:p.perOutput()]
		if !p.pairs {
			for i, player := range p.path {
				row[player] += entry[i]
			}
			continue
		}
		at := 0
		for i, player := range p.path {
			for _, other := range p.path[:i] {
				row[player*p.players+other] += entry[at]
				row[other*p.players+player] += entry[at]
				at++
			}
		}
	}
}

// entry is what a leaf contributes to a row with a pattern, for each player of the path or for each pair of them: as fork.leaf says, summed
// over references.
func (p *patterns) entry(mask uint64, value float64) []float64 {
	k := len(p.path)
	all := ^uint64(0) >> (64 - k)
	lacks := all &^ mask
	var entry []float64
	for number, reference := range p.found.masks {
		if lacks&^reference != 0 {
			continue
		}
		with := all &^ reference
		if with == 0 && lacks == 0 {
			continue
		}
		if entry == nil {
			entry = p.newEntry(k)
		}
		if x := value * p.counts[number]; p.pairs {
			p.addPairs(entry, with, lacks, x)
		} else {
			p.addPlayers(entry, with, lacks, x)
		}
	}
	return entry
}

// newEntry is a new entry of zeros.
func (p *patterns) newEntry(k int) []float64 {
	size := k
	if p.pairs {
		size = k * (k - 1) / 2
	}
	from := len(p.spare)
	for range size {
		p.spare = append(p.spare, 0)
	}
	return p.spare[from:][:size:size]
}

func (p *patterns) addPlayers(entry []float64, with, without uint64, x float64) {
	a, b := bits.OnesCount64(with), bits.OnesCount64(without)
	if a > 0 {
		gain := x * p.weights.at(a-1, b)
		for ; with != 0; with &= with - 1 {
			entry[bits.TrailingZeros64(with)] += gain
		}
	}
	if b > 0 {
		loss := x * p.weights.at(a, b-1)
		for ; without != 0; without &= without - 1 {
			entry[bits.TrailingZeros64(without)] -= loss
		}
	}
}

func (p *patterns) addPairs(entry []float64, with, without uint64, x float64) {
	a, b := bits.OnesCount64(with), bits.OnesCount64(without)
	var both, mixed, neither float64
	if a > 1 {
		both = x * p.weights.at(a-2, b)
	}
	if a > 0 && b > 0 {
		mixed = -x * p.weights.at(a-1, b-1)
	}
	if b > 1 {
		neither = x * p.weights.at(a, b-2)
	}
	for left := with | without; left != 0; left &= left - 1 {
		i := bits.TrailingZeros64(left)
		isWith := with>>i&1 != 0
		row := entry[i*(i-1)/2:]
		below := uint64(1)<<i - 1
		same, other, of, ofOther := neither, mixed, without&below, with&below
		if isWith {
			same, of, ofOther = both, with&below, without&below
		}
		for ; of != 0; of &= of - 1 {
			row[bits.TrailingZeros64(of)] += same
		}
		for ; ofOther != 0; ofOther &= ofOther - 1 {
			row[bits.TrailingZeros64(ofOther)] += other
		}
	}
}

// interned numbers patterns in the order in which they come.
type interned struct {
	masks  []uint64
	table  []int32          // by pattern, number + 1, of short paths
	sparse map[uint64]int32 // the same of long ones
	short  bool
}

// maxTable is the most players of a path whose patterns have a table.
const maxTable = 12

// reset forgets all patterns. The next ones have k bits.
func (n *interned) reset(k int) {
	if n.table == nil {
		n.table, n.sparse = make([]int32, 1<<maxTable), map[uint64]int32{}
	}
	if n.short {
		for _, mask := range n.masks {
			n.table[mask] = 0
		}
	} else {
		clear(n.sparse)
	}
	n.masks, n.short = n.masks[:0], k <= maxTable
}

// number returns the number of a pattern, and whether it is new.
func (n *interned) number(mask uint64) (number int32, isNew bool) {
	if n.short {
		number = n.table[mask]
	} else {
		number = n.sparse[mask]
	}
	if number > 0 {
		return number - 1, false
	}
	n.masks = append(n.masks, mask)
	if number = int32(len(n.masks)); n.short {
		n.table[mask] = number
	} else {
		n.sparse[mask] = number
	}
	return number - 1, true
}
