// Package kernel evaluates the product form of the exact head by hand-written loops: values of coalitions, Shapley
// attributions, pairwise interactions, σ_d and h of encoded rows. It needs no tensor engine.
//
// Every column has a small network that maps a cell to its record: the gains of the column in every channel, and the
// inputs of σ and h. The rest of a pass consists of products over the records of a row. The contribution of a cell is
// therefore computed once and kept: the records of a category are a table, those of a number are cached during a call.
//
// The names follow docs/equations.md: a column d with factor base_dk = 1 + c_dk and gain_dk = g_dk(x_d) − c_dk, K
// channels with weights w_kc for C outputs.
package kernel

import (
	"errors"
	"math"
	"sync"

	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/kernel/vector"
)

// Net is a network of the product form with its weights. It is immutable and safe for concurrent use.
type Net struct {
	ops     vector.Set
	columns []column
	outputs int
	sigmas  int     // σ per cell: 1, or one per output
	players [][]int // columns of each player

	channels, parts, sigma, hidden int // padded widths of a record's contents; it has several parts of width channels

	base    [][]float32 // [columns + 1][channels] 1 + c, last for the column that does not exist
	rest    []float32   // [channels] Π_d base_d
	channel [][]float32 // [outputs][channels] w
	sums    []products
	none    []float32 // record of an absent cell: no gain
	own     game      // in which absent cells have no gain

	spread spread
	hide   hide

	forFew, forMany sync.Pool // pools of scratch
}

// factor returns the number of floats of a record that form factors: the gains, and the parts shared with a partner.
func (n *Net) factor() int { return n.parts * n.channels }

// record returns the number of floats of a cell's record: its factor, the input of σ's network, the input of h's
// network.
func (n *Net) record() int { return n.factor() + n.sigma + n.hidden }

// layer is a dense layer of one column, its width padded with zeros.
type layer struct {
	weights []float32 // [in, width]
	bias    []float32 // [width]
	in      int
}

func (l *layer) width() int { return len(l.bias) }

// CPU returns the name of the instruction set in use, which affects the last digits of results.
func CPU() (string, error) {
	set, err := vector.Best()
	return set.String(), err
}

// Evaluates reports whether a network has the product form.
func Evaluates(c form.Config) bool { return c.Head == form.Exact && c.Form == form.Product }

// New prepares the weights of a network for evaluation. A group of columns in the configuration is one player. nodes is
// the number of quadrature nodes of attributions.
func New(c form.Config, weights map[string][]float32, nodes int) (*Net, error) {
	if !Evaluates(c) {
		return nil, errors.New("kernel: the network has no product form")
	}
	o, err := vector.Best()
	if err := errors.Join(err, c.Validate()); err != nil {
		return nil, err
	}
	return newNet(c, weights, nodes, o), nil
}

// newNet is New with a given instruction set.
func newNet(c form.Config, weights map[string][]float32, nodes int, o vector.Set) *Net {
	n := &Net{
		ops: o, outputs: c.Outputs, sigmas: c.Sigmas(), own: newGame(nodes, nil),
		channels: vector.Padded(c.Channels), parts: c.Parts(), sigma: vector.Padded(c.SigmaWidth), hidden: vector.Padded(c.HiddenWidth),
	}
	w := source{weights}
	n.none = vector.Floats(n.record())
	n.layOutProducts(c, w)
	n.layOutColumns(c, w)
	n.spread = newSpread(c, w)
	n.hide = newHide(c, w)
	for i := range n.columns {
		n.columns[i].tabulate(n)
	}
	n.players = c.Inputs.Groups
	if n.players == nil {
		for d := range n.columns {
			n.players = append(n.players, []int{d})
		}
	}
	for _, f := range c.Factors() {
		n.sums = append(n.sums, n.newProducts(c, f))
	}
	return n
}

// layOutProducts prepares what a product over columns needs besides the gains.
func (n *Net) layOutProducts(c form.Config, w source) {
	columns := c.Inputs.Columns()
	absent := w.rows("factor_absent", columns, c.Channels, n.channels)
	n.rest = vector.Ones(n.channels)
	for d := range columns {
		base := absent[d]
		for k, v := range base {
			base[k] = 1 + float32(math.Tanh(float64(v)))
			n.rest[k] *= base[k]
		}
		n.base = append(n.base, base)
	}
	n.base = append(n.base, vector.Ones(n.channels))
	n.channel = make([][]float32, c.Outputs)
	for o := range n.channel {
		n.channel[o] = vector.Floats(n.channels)
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
	width := vector.Padded(c.Embedding)
	mix := make([]layer, columns)
	for d := range mix {
		mix[d] = layer{weights: vector.Floats(c.Embedding * n.record()), bias: vector.Floats(n.record()), in: c.Embedding}
	}
	for _, part := range []struct {
		weights, bias string
		sign          float32
		at, width     int
	}{
		{"factor", "factor_bias", 1, 0, c.Parts() * c.Channels},
		{"sigma_in", "sigma_in_bias", 1, n.factor(), c.SigmaWidth},
		{"hidden_mix", "hidden_absent", -1, n.factor() + n.sigma, c.HiddenWidth},
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
		col := column{width: width, mix: mix[d], absent: vector.Floats(n.factor())}
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
			col.levels, col.embedding = w.of("levels")[first*c.Embedding:][:rows*c.Embedding], c.Embedding
			first += rows
		}
		n.columns = append(n.columns, col)
	}
}

// source finds weights by name.
type source struct{ weights map[string][]float32 }

func (s source) of(name string) []float32 { return s.weights[name] }

// matrix returns block d [rows, width] of a weight, its rows padded to a width.
func (s source) matrix(name string, d, rows, width, to int) []float32 {
	return padded(s.of(name)[d*rows*width:], rows, width, to)
}

// padded returns a matrix [rows, width] with its rows padded to a width.
func padded(from []float32, rows, width, to int) []float32 {
	m := vector.Floats(rows * to)
	for i := range rows {
		copy(m[i*to:], from[i*width:][:width])
	}
	return m
}

// rows returns the first rows of a weight [rows, width], each padded to a width.
func (s source) rows(name string, rows, width, to int) [][]float32 {
	list := make([][]float32, rows)
	for d := range list {
		list[d] = s.matrix(name, d, 1, width, to)
	}
	return list
}
