package learn

import (
	"slices"

	"github.com/psi-shapley/psi/internal/kernel/vector"
)

// hide is the network of h, the standard deviation due to absent columns:
//
//	h² = softplus(out·silu(layer·silu(b + Σ_d mix_d) + b') + b”),
//
// where mix_d is linear in a present column's embedding, and a weight of its own for an absent column. Complete copies
// have h = 0.
type hide struct {
	width, outs int // padded

	// Of copies: first all masked ones, then all rows as observed. [2B, width]
	in, lifted, inner, last []float32
	out                     []float32 // [2B, outs]
	lacks                   []bool    // [2B] whether anything is absent

	dout, dlast, din []float32 // of masked copies; [B, outs], [B, width]
	turned           []float32
}

func newHide(t *Trainer) hide {
	width, outs, n := vector.Padded(t.HiddenWidth), vector.Padded(t.Outputs), t.Batch
	h := hide{
		width: width, outs: outs, lacks: make([]bool, copies*n), out: vector.Floats(copies * n * outs),
		dout: vector.Floats(n * outs), dlast: vector.Floats(n * width), din: vector.Floats(n * width), turned: vector.Floats(max(width, outs) * width),
	}
	for _, x := range []*[]float32{&h.in, &h.lifted, &h.inner, &h.last} {
		*x = vector.Floats(copies * n * width)
	}
	return h
}

// copyAt returns the index of a row's copy.
func (h *hide) copyAt(t *Trainer, row, which int) int {
	if which == observed {
		return t.Batch + row
	}
	return row
}

// forward computes h², before its softplus, of n rows' copies.
func (h *hide) forward(t *Trainer, which, from, n int) {
	columns, w := len(t.columns), h.width
	first := h.copyAt(t, from, which)
	at := t.mixAt[(which*t.Batch+from)*columns:][:n*columns]
	absent := int32(columns * t.Batch * w)
	for i := range n {
		copy(h.in[(first+i)*w:], t.lay.hiddenMixBias.of(t.weights, 0))
		h.lacks[first+i] = slices.Max(at[i*columns:][:columns]) >= absent
	}
	t.ops.Gather(&vector.Gather{Y: h.in[first*w:], X: t.mix, At: at, Scale: t.ones, Rows: n, Per: columns, Width: w})
	span := func(x []float32) []float32 { return x[first*w:][:n*w] }
	copy(span(h.lifted), span(h.in))
	t.ops.Silu(span(h.lifted))
	t.ops.MatMul(&vector.MatMul{
		Y: span(h.inner), YStride: w, Start: t.lay.hiddenLayerBias.of(t.weights, 0), Rows: n, Out: w,
		X: span(h.lifted), XStride: w, In: t.HiddenWidth, W: t.lay.hiddenLayer.of(t.weights, 0), WStride: w,
	})
	copy(span(h.last), span(h.inner))
	t.ops.Silu(span(h.last))
	t.ops.MatMul(&vector.MatMul{
		Y: h.out[first*h.outs:], YStride: h.outs, Start: t.lay.hiddenOutBias.of(t.weights, 0), Rows: n, Out: h.outs,
		X: span(h.last), XStride: w, In: t.HiddenWidth, W: t.lay.hiddenOut.of(t.weights, 0), WStride: h.outs,
	})
}

// variance returns h² of a copy's output, and its derivative by the network's output.
func (h *hide) variance(at, output int) (variance, slope float64) {
	if !h.lacks[at] {
		return 0, 0
	}
	return softplus(float64(h.out[at*h.outs+output]))
}

// backward propagates the gradient by the outputs of masked copies to the weights of h that do not belong to a column.
func (h *hide) backward(t *Trainer) {
	n, w, width := t.Batch, h.width, t.HiddenWidth
	t.biasGradient(t.lay.hiddenOutBias.of(t.gradient, 0), h.dout, h.outs, h.outs, n)
	t.weightGradient(t.lay.hiddenOut.of(t.gradient, 0), h.outs, h.last, w, width, h.dout, h.outs, h.outs, n)
	t.inputGradient(h.dlast, w, h.dout, h.outs, n, t.lay.hiddenOut.of(t.weights, 0), h.outs, width, t.Outputs, h.turned)
	t.ops.SiluGradient(h.dlast, h.inner)
	t.biasGradient(t.lay.hiddenLayerBias.of(t.gradient, 0), h.dlast, w, w, n)
	t.weightGradient(t.lay.hiddenLayer.of(t.gradient, 0), w, h.lifted, w, width, h.dlast, w, w, n)
	t.inputGradient(h.din, w, h.dlast, w, n, t.lay.hiddenLayer.of(t.weights, 0), w, width, width, h.turned)
	t.ops.SiluGradient(h.din, h.in)
	t.biasGradient(t.lay.hiddenMixBias.of(t.gradient, 0), h.din, w, w, n)
}

// hiddenBackward propagates the gradient by h's input to the column's part of it. The embeddings are treated as
// constants.
func (c *column) hiddenBackward(t *Trainer) {
	w := t.hide.width
	absent := c.dmix[t.Batch*w:]
	clear(absent)
	clear(c.dmix[:c.cells*w])
	t.ops.Scatter(c.dmix, c.dmixAt, t.ones, t.hide.din, w)
	copy(t.lay.hiddenAbsent.of(t.gradient, c.d), absent)
	t.weightGradient(t.lay.hiddenMix.of(t.gradient, c.d), w, c.embedding(), c.width, t.Embedding, c.dmix, w, w, c.cells)
}
