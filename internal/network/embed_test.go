package network_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/engine"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/form/formtest"
	"github.com/psi-shapley/psi/internal/network"
)

// embedded is z [D, B, Z] of rows.
func embedded(t *testing.T, s *subject, rows *encode.Batch) []float32 {
	t.Helper()
	return s.call(t, func(f *network.Forward, _ []*graph.Node) []*graph.Node {
		// The go backend wants an output to be the last node of its graph.
		return []*graph.Node{graph.MulScalar(f.Embeddings(), 1)}
	}, rows)[0]
}

// noGaps puts all numbers among the bins.
func noGaps(rows *encode.Batch) {
	for at := 0; at < len(rows.Numbers); at += 2 {
		rows.Numbers[at] = max(rows.Numbers[at], 0)
	}
}

// The cyclic parts of a time are its player's alone.
func TestCyclesBelongToTheirTime(t *testing.T) {
	onEachBackend(t, func(t *testing.T, b *engine.Backend) {
		rng := newRand(t)
		s := newSubject(t, b, product.small(7, 1), rng)
		in := s.Inputs
		rows := formtest.Rows(rng, in, 4, 0)
		noGaps(rows)
		before := embedded(t, s, rows)
		for k := range in.Times {
			player := in.Numeric - in.Times + k
			for row := range rows.Rows {
				for i := range formtest.Cycles(rows, row, k) {
					formtest.Cycles(rows, row, k)[i] *= -1 // half a period later
				}
			}
			after := embedded(t, s, rows)
			for d := range in.Columns() {
				per := rows.Rows * s.Embedding
				if same := slices.Equal(after[d*per:(d+1)*per], before[d*per:(d+1)*per]); same == (d == player) {
					t.Errorf("time %d moved: the embedding of player %d is the same: %v", player, d, same)
				}
			}
			before = after
		}
	})
}

// A gap that is a level is one value: what else its cell holds is not seen, and other
// cells are not moved by the level's weights.
func TestGapsAreOneLevel(t *testing.T) {
	onEachKind(t, func(t *testing.T, b *engine.Backend, k kind) {
		rng := newRand(t)
		s := newSubject(t, b, k.small(7, 2), rng)
		e := s.evaluator(t, s.exactNodes())
		rows := formtest.Rows(rng, s.Inputs, 6, 0)
		noGaps(rows)
		whole := explain(t, e, rows)
		const player = 1
		for row := range rows.Rows {
			rows.Numbers[2*(row*rows.Numeric+player)] = encode.GapPosition
		}
		gaps := explain(t, e, rows)
		for row := range rows.Rows {
			rows.Numbers[2*(row*rows.Numeric+player)+1] = float32(rng.NormFloat64())
		}
		wantSame(t, explain(t, e, rows), gaps)
		if slices.Equal(gaps.Value, whole.Value) {
			t.Error("a gap changes nothing")
		}
		last := rows.Numeric - 1 // a time: its cyclic parts go with it
		for row := range rows.Rows {
			rows.Numbers[2*(row*rows.Numeric+last)] = encode.GapPosition
		}
		gaps = explain(t, e, rows)
		for i := range rows.Cycles {
			if i/encode.CyclicParts%rows.Times == rows.Times-1 {
				rows.Cycles[i] *= -1
			}
		}
		wantSame(t, explain(t, e, rows), gaps)

		noGaps(rows)
		before := explain(t, e, rows)
		weights, err := s.Get(weightsCopy)
		if err != nil {
			t.Fatal(err)
		}
		for i := range weights["gap"] {
			weights["gap"][i]++
		}
		s.put(t, weights)
		wantSame(t, explain(t, e, rows), before)
	})
}

// Both have gradients where a cell has them, and only there. The seed is fixed: of one network in 256 all eight hidden units
// are off for the one vector that all gaps share, and it learns nothing.
func TestGradientsOfTimesAndGaps(t *testing.T) {
	onEachKind(t, func(t *testing.T, b *engine.Backend, k kind) {
		rng := fixedRand(t, 1)
		s := newSubject(t, b, k.small(7, 1), rng)
		weights, err := s.Get(weightsCopy)
		if err != nil {
			t.Fatal(err)
		}
		slope := newSlope(t, s, values, form.Mean, rng)
		for i := range slope.masks {
			slope.masks[i] = 1
		}
		const player = 0
		gap := func(position float32) {
			noGaps(slope.rows)
			for row := range slope.rows.Rows {
				slope.rows.Numbers[2*(row*s.Inputs.Numeric+player)] = position
			}
		}
		moves := func(g []float32) bool { return slices.ContainsFunc(g, func(v float32) bool { return v != 0 }) }
		gap(encode.GapPosition)
		_, with := slope.at(t, weights)
		gap(0.5)
		_, without := slope.at(t, weights)
		if !moves(with["cycles"]) {
			t.Error("cyclic parts teach nothing")
		}
		z := s.Embedding
		if g := with["gap"]; !moves(g[:z]) || moves(g[z:]) || moves(without["gap"]) {
			t.Errorf("player %d has gaps, and the gradient is %v; without any it is %v", player, g, without["gap"])
		}
		per := s.Inputs.Bins * z
		if moves(with["bins"][:per]) || !moves(without["bins"][:per]) {
			t.Error("a gap teaches the bins")
		}
		for i := range slope.masks { // absent players teach nothing
			slope.masks[i] = 0
		}
		gap(encode.GapPosition)
		_, absent := slope.at(t, weights)
		if moves(absent["gap"]) || moves(absent["cycles"]) {
			t.Error("absent cells teach their embeddings")
		}
	})
}

// The paper's example of a MENN (App. G): 3 features, hidden layers of 10 and an
// output of 6, so 2 embedding dimensions per feature.
var (
	menn        = maskedNetwork{features: 3, widths: []int{10, 10, 10, 6}}
	mennPrinted = map[string]string{
		"M_1": `
			1 1 1 0 0 0 0 0 0 0
			0 0 0 1 1 1 0 0 0 0
			0 0 0 0 0 0 1 1 1 1`,
		"M_2": `
			1 1 1 0 0 0 0 0 0 0
			1 1 1 0 0 0 0 0 0 0
			1 1 1 0 0 0 0 0 0 0
			0 0 0 1 1 1 0 0 0 0
			0 0 0 1 1 1 0 0 0 0
			0 0 0 1 1 1 0 0 0 0
			0 0 0 0 0 0 1 1 1 1
			0 0 0 0 0 0 1 1 1 1
			0 0 0 0 0 0 1 1 1 1
			0 0 0 0 0 0 1 1 1 1`,
		"M_3": `
			1 1 1 0 0 0 0 0 0 0
			1 1 1 0 0 0 0 0 0 0
			1 1 1 0 0 0 0 0 0 0
			0 0 0 1 1 1 0 0 0 0
			0 0 0 1 1 1 0 0 0 0
			0 0 0 1 1 1 0 0 0 0
			0 0 0 0 0 0 1 1 1 1
			0 0 0 0 0 0 1 1 1 1
			0 0 0 0 0 0 1 1 1 1
			0 0 0 0 0 0 1 1 1 1`,
		"M_4": `
			1 1 0 0 0 0
			1 1 0 0 0 0
			1 1 0 0 0 0
			0 0 1 1 0 0
			0 0 1 1 0 0
			0 0 1 1 0 0
			0 0 0 0 1 1
			0 0 0 0 1 1
			0 0 0 0 1 1
			0 0 0 0 1 1`,
		"M_1:2": `
			3 3 3 0 0 0 0 0 0 0
			0 0 0 3 3 3 0 0 0 0
			0 0 0 0 0 0 4 4 4 4`,
		"M_1:3": `
			9 9 9 0 0 0 0  0  0  0
			0 0 0 9 9 9 0  0  0  0
			0 0 0 0 0 0 16 16 16 16`,
		"M_1:4": `
			27 27 0  0  0  0
			0  0  27 27 0  0
			0  0  0  0  64 64`,
	}
)

// The recipe of §3.4 gives every matrix that App. G prints, and γ = 27, 27, 64.
func TestMasksAreThePapers(t *testing.T) {
	masks, products := menn.masks()
	got := map[string]matrix{"M_1": masks[0]} // M_1:1 is M_1, and not printed twice
	for k := 1; k < len(masks); k++ {
		got[fmt.Sprintf("M_%d", k+1)] = masks[k]
		got[fmt.Sprintf("M_1:%d", k+1)] = products[k]
	}
	for name, text := range mennPrinted {
		if want := parseMatrix(t, text); !slices.EqualFunc(got[name], want, slices.Equal) {
			t.Errorf("%s is\n%v\nwant\n%v", name, got[name], want)
		}
	}
	last := products[len(products)-1]
	if gamma := []float64{last[0][0], last[1][2], last[2][4]}; !slices.Equal(gamma, []float64{27, 27, 64}) {
		t.Errorf("γ = %v", gamma)
	}
}

// A dense network under the paper's masks, in double precision, embeds as ours does
// with a block of weights per player: of widths 3, 3 and 4, padded by zeros to 4.
func TestBlocksAreTheMaskedNetwork(t *testing.T) {
	const block, rows = 4, 9
	onEachBackend(t, func(t *testing.T, b *engine.Backend) {
		rng := newRand(t)
		dense := menn.random(rng)
		s := newSubject(t, b, form.Config{
			Inputs:  form.Inputs{Numeric: menn.features, Bins: 1}, // one bin: the code of a number in [0, 1] is itself
			Outputs: 1, Head: form.Exact, Form: form.Product, Channels: 1,
			Embedding: block, Hidden: len(menn.widths) - 1, SigmaWidth: 1, HiddenWidth: 1,
		}, rng)
		weights, err := s.Get(weightsCopy)
		if err != nil {
			t.Fatal(err)
		}
		for k, name := range []string{"bins", "player1", "player2", "player3"} {
			weights[name], weights[name+"_bias"] = dense[k].blocks(menn, k, block)
		}
		s.put(t, weights)

		x := encode.NewBatch(rows, menn.features, 0)
		var want []float64 // [D, B, block]
		perPlayer := make([][]float64, menn.features)
		for i := range rows {
			features := make([]float64, menn.features)
			for d := range features {
				v := rng.Float32()
				x.Numbers[2*(i*menn.features+d)], features[d] = v, float64(v)
			}
			z := forward(dense, features)
			for d := range perPlayer {
				from, to := menn.span(len(menn.widths)-1, d)
				padded := make([]float64, block)
				copy(padded, z[from:to])
				perPlayer[d] = append(perPlayer[d], padded...)
			}
		}
		want = slices.Concat(perPlayer...)
		got := s.call(t, func(f *network.Forward, _ []*graph.Node) []*graph.Node {
			// The go backend wants an output to be the last node of its graph.
			return []*graph.Node{graph.MulScalar(f.Embeddings(), 1)}
		}, x)[0]
		e := relativeError(got, want)
		t.Logf("relative error %.1e", e)
		atMost(t, "relative error", e, 1e-6)
	})
}

// maskedNetwork is the shape of a MENN as the paper writes it.
type maskedNetwork struct {
	features int
	widths   []int // D_2^k of layer k
}

type matrix [][]float64

// span is the columns l of layer k that belong to feature d, counted from 0:
// 1 + (d−1)e_k ≤ l ≤ d e_k, or to the end for the last feature, with e_k = nint(D_2^k / D).
func (n maskedNetwork) span(k, d int) (from, to int) {
	e := int(math.RoundToEven(float64(n.widths[k]) / float64(n.features)))
	if d == n.features-1 {
		return d * e, n.widths[k]
	}
	return d * e, (d + 1) * e
}

// masks builds M_1, M_2, … and the products M_1:1, M_1:2, … by the recipe of §3.4:
// column l of M_k is the sign of row d of M_1:k−1 for every l of feature d.
func (n maskedNetwork) masks() (masks, products []matrix) {
	upTo := newMatrix(n.features, n.features) // M_1:0, the identity
	for d := range n.features {
		upTo[d][d] = 1
	}
	for k, width := range n.widths {
		mask := newMatrix(len(upTo[0]), width)
		for d := range n.features {
			from, to := n.span(k, d)
			for l := from; l < to; l++ {
				for i, v := range upTo[d] {
					mask[i][l] = min(v, 1) // sgn: elements are whole and not negative
				}
			}
		}
		upTo = times(upTo, mask)
		masks, products = append(masks, mask), append(products, upTo)
	}
	return masks, products
}

// maskedLayer is z ↦ relu(z (W′ ⊙ M) + b).
type maskedLayer struct {
	weight, mask matrix
	bias         []float64
}

// random draws the weights of every layer, also those under the mask's zeros.
func (n maskedNetwork) random(rng *rand.Rand) []maskedLayer {
	var layers []maskedLayer
	masks, _ := n.masks()
	for _, mask := range masks {
		layer := maskedLayer{newMatrix(len(mask), len(mask[0])), mask, make([]float64, len(mask[0]))}
		for _, row := range append(layer.weight, layer.bias) {
			for j := range row {
				row[j] = float64(float32(rng.NormFloat64()))
			}
		}
		layers = append(layers, layer)
	}
	return layers
}

func forward(layers []maskedLayer, z []float64) []float64 {
	for _, l := range layers {
		next := slices.Clone(l.bias)
		for j := range next {
			for i, v := range z {
				next[j] += v * l.weight[i][j] * l.mask[i][j]
			}
			next[j] = max(next[j], 0)
		}
		z = next
	}
	return z
}

// blocks cuts layer k into a block per player, [D, in, width] and [D, 1, width], with
// zeros where a player has fewer units. A player is one input of the first layer.
func (l maskedLayer) blocks(n maskedNetwork, k, width int) (weight, bias []float32) {
	in := 1
	if k > 0 {
		in = width
	}
	weight = make([]float32, n.features*in*width)
	bias = make([]float32, n.features*width)
	for d := range n.features {
		firstRow, rowEnd := d, d+1
		if k > 0 {
			firstRow, rowEnd = n.span(k-1, d)
		}
		from, to := n.span(k, d)
		for j := from; j < to; j++ {
			for i := firstRow; i < rowEnd; i++ {
				weight[(d*in+i-firstRow)*width+j-from] = float32(l.weight[i][j])
			}
			bias[d*width+j-from] = float32(l.bias[j])
		}
	}
	return weight, bias
}

func newMatrix(rows, columns int) matrix {
	m := make(matrix, rows)
	for i := range m {
		m[i] = make([]float64, columns)
	}
	return m
}

func times(a, b matrix) matrix {
	c := newMatrix(len(a), len(b[0]))
	for i := range a {
		for k, v := range a[i] {
			for j := range c[i] {
				c[i][j] += v * b[k][j]
			}
		}
	}
	return c
}

func parseMatrix(t *testing.T, text string) matrix {
	t.Helper()
	var m matrix
	for line := range strings.Lines(strings.TrimSpace(text)) {
		var row []float64
		for field := range strings.FieldsSeq(line) {
			v, err := strconv.ParseFloat(field, 64)
			if err != nil {
				t.Fatal(err)
			}
			row = append(row, v)
		}
		m = append(m, row)
	}
	return m
}
