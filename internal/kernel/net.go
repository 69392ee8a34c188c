package kernel

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/psi-shapley/psi/internal/form"
)

// Net is a network of the product form with its weights. It is immutable, and so safe for concurrent use.
type Net struct {
	ops     instructions
	columns []column
	outputs int
	players []player
	factors [][]float32 // [players, made even][channels] 1 + c of the players

	channels, sigma, hidden int // widths of the parts of a record, padded
	rule                    rule

	base    [][]float32 // [columns][channels] 1 + c
	rest    []float32   // [channels] Π_d base_d
	channel [][]float32 // [outputs][channels] w
	none    []float32   // record of an absent cell: no gain

	spread spread
	hide   hide
}

// record is the number of floats of a cell's record: gains, the input of σ's network, the input of h's network.
func (n *Net) record() int { return n.channels + n.sigma + n.hidden }

// layer is a dense layer of one column, its width padded with zeros.
type layer struct {
	weights []float32 // [in, width]
	bias    []float32 // [width]
	in      int
}

func (l *layer) width() int { return len(l.bias) }

// New lays out the weights of a network for passes. A group of columns in the configuration is one player. nodes is the number of
// quadrature nodes of attributions.
func New(c form.Config, weights map[string][]float32, nodes int) (*Net, error) {
	if c.Head != form.Exact || c.Form != form.Product {
		return nil, fmt.Errorf("kernel: the %s head has no product form", c.Head)
	}
	o, err := best()
	if err != nil {
		return nil, err
	}
	return newNet(c, weights, nodes, o), nil
}

// newNet is New with loops of choice.
func newNet(c form.Config, weights map[string][]float32, nodes int, o instructions) *Net {
	n := &Net{
		ops: o, outputs: c.Outputs, rule: newRule(nodes),
		channels: padded(c.Channels), sigma: padded(c.SigmaWidth), hidden: padded(c.HiddenWidth),
	}
	w := source{weights}
	n.none = floats(n.record())
	n.layOutProducts(c, w)
	n.layOutColumns(c, w)
	n.spread = newSpread(c, w)
	n.hide = newHide(c, w)
	for i := range n.columns {
		n.columns[i].tabulate(n)
	}
	n.layOutPlayers(c.Inputs.Groups)
	return n
}

// player is a column, or a group of them that comes and goes as one.
type player struct {
	columns []int
	base    [][]float32 // of the columns
	rest    []float32   // their product
}

// layOutPlayers makes every column a player, or every group.
func (n *Net) layOutPlayers(groups [][]int) {
	if groups == nil {
		for d := range n.columns {
			groups = append(groups, []int{d})
		}
	}
	for _, columns := range groups {
		p := player{columns: columns, rest: ones(n.channels)}
		for _, d := range columns {
			p.base = append(p.base, n.base[d])
			for k, b := range n.base[d] {
				p.rest[k] *= b
			}
		}
		n.players = append(n.players, p)
		n.factors = append(n.factors, p.rest)
	}
	if len(n.factors)%2 == 1 { // a partner without effect
		n.factors = append(n.factors, ones(n.channels))
	}
}

// layOutProducts prepares what a product over columns needs beside the gains.
func (n *Net) layOutProducts(c form.Config, w source) {
	columns := c.Inputs.Columns()
	absent := w.rows("factor_absent", columns, c.Channels, n.channels)
	n.rest = ones(n.channels)
	for d := range columns {
		base := absent[d]
		for k, v := range base {
			base[k] = 1 + float32(math.Tanh(float64(v)))
			n.rest[k] *= base[k]
		}
		n.base = append(n.base, base)
	}
	n.channel = make([][]float32, c.Outputs)
	for o := range n.channel {
		n.channel[o] = floats(n.channels)
	}
	for k := range c.Channels {
		row := w.of("channel")[k*c.Outputs:][:c.Outputs]
		mean := 0.0
		if c.Classes && c.Outputs > 1 { // scores of classes add up to 0
			for _, v := range row {
				mean += float64(v) / float64(c.Outputs)
			}
		}
		for o, v := range row {
			n.channel[o][k] = float32(float64(v) - mean)
		}
	}
}

// layOutColumns prepares the columns' networks.
func (n *Net) layOutColumns(c form.Config, w source) {
	in, columns := c.Inputs, c.Inputs.Columns()
	width := padded(c.Embedding)
	mix := make([]layer, columns)
	for d := range mix {
		mix[d] = layer{weights: floats(c.Embedding * n.record()), bias: floats(n.record()), in: c.Embedding}
	}
	for _, part := range []struct {
		weights, bias string
		sign          float32
		at, width     int
	}{
		{"factor", "factor_bias", 1, 0, c.Channels},
		{"sigma_in", "sigma_in_bias", 1, n.channels, c.SigmaWidth},
		{"hidden_mix", "hidden_absent", -1, n.channels + n.sigma, c.HiddenWidth},
	} {
		for d := range mix {
			for i := range c.Embedding {
				copy(mix[d].weights[i*n.record()+part.at:], w.of(part.weights)[(d*c.Embedding+i)*part.width:][:part.width])
			}
			for j, v := range w.of(part.bias)[d*part.width:][:part.width] {
				mix[d].bias[part.at+j] = part.sign * v
			}
		}
	}
	first := 0 // row of the embedding table
	for d := range columns {
		col := column{width: width, mix: mix[d], absent: floats(n.channels)}
		for k, b := range n.base[d] {
			col.absent[k] = b - 1
		}
		for _, name := range c.HiddenLayers() {
			col.layers = append(col.layers, layer{
				weights: w.matrix(name, d, c.Embedding, c.Embedding, width), bias: w.matrix(name+"_bias", d, 1, c.Embedding, width), in: c.Embedding,
			})
		}
		if d < in.Numeric {
			col.number = newNumber(c, w, d, width)
		} else {
			rows := in.Levels[d-in.Numeric]
			col.first = int32(first)
			col.levels = w.matrix("levels", 0, first+rows, c.Embedding, width)[first*width:]
			first += rows
		}
		n.columns = append(n.columns, col)
	}
}

// source finds weights by their names.
type source struct{ weights map[string][]float32 }

func (s source) of(name string) []float32 { return s.weights[name] }

// matrix is block number d [rows, width] of a weight, its rows padded to a width.
func (s source) matrix(name string, d, rows, width, to int) []float32 {
	m := floats(rows * to)
	from := s.of(name)[d*rows*width:]
	for i := range rows {
		copy(m[i*to:], from[i*width:][:width])
	}
	return m
}

// rows are the first rows of a weight [rows, width], each padded to a width.
func (s source) rows(name string, rows, width, to int) [][]float32 {
	list := make([][]float32, rows)
	for d := range list {
		list[d] = s.matrix(name, d, 1, width, to)
	}
	return list
}

// padded is the next multiple of lanes.
func padded(n int) int { return (n + lanes - 1) / lanes * lanes }

// floats are zeros that begin at a multiple of a cache line, so that no vector lies across two.
func floats(n int) []float32 {
	const line = 64 / 4
	all := make([]float32, n+line)
	skip := 0
	for uintptr(unsafe.Pointer(&all[skip]))%64 != 0 {
		skip++
	}
	return all[skip : skip+n : skip+n]
}

func ones(n int) []float32 {
	v := floats(n)
	for i := range v {
		v[i] = 1
	}
	return v
}

// newRule is the Gauss–Legendre rule of some nodes. A single node gets a second one without weight: nodes are done together in twos,
// threes and fours.
func newRule(nodes int) rule {
	r := rule{nodes: make([]node, max(2, nodes))}
	t, weights := form.GaussLegendre(nodes)
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
	r.blocks = append(r.blocks, 0)
	return r
}
