package learn

import (
	"slices"

	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/kernel/vector"
)

// spread holds the sizes of the networks of σ_d: for a column with embedding z, in a row with the value v,
//
//	σ_d = R_d · unit · softplus(out·relu(in·z + lifted·relu(context·v + b) + b') + b”).
type spread struct {
	width, context, outs int       // padded
	dvariance            []float32 // [B, sigmas] gradient by Σ_d σ_d²
}

func newSpread(t *Trainer) spread {
	return spread{
		width: vector.Padded(t.SigmaWidth), context: vector.Padded(form.ContextWidth), outs: vector.Padded(t.Sigmas()),
		dvariance: make([]float32, t.Batch*t.Sigmas()),
	}
}

// sigmaColumn computes σ_d of one column.
type sigmaColumn struct {
	std       []float32 // [B, sigmas] σ_d of rows as observed; 0 where the cell is missing
	maskedStd []float32 // [B, sigmas] that of masked copies, if the loss needs it

	cell, dcell     []float32 // [cells, width] in·z + b'
	lifted, dlifted []float32 // [B, context]
	inner, dinner   []float32 // [B, width]
	out, dout       []float32 // [B, outs]
}

func newSigmaColumn(t *Trainer) sigmaColumn {
	n, s := t.Batch, &t.spread
	return sigmaColumn{
		std: make([]float32, n*t.Sigmas()), maskedStd: make([]float32, n*t.Sigmas()), cell: vector.Floats(n * s.width), dcell: vector.Floats(n * s.width),
		lifted: vector.Floats(n * s.context), dlifted: vector.Floats(n * s.context),
		inner: vector.Floats(n * s.width), dinner: vector.Floats(n * s.width),
		out: vector.Floats(n * s.outs), dout: vector.Floats(n * s.outs),
	}
}

// sigma computes σ_d of all rows as observed and, if the loss needs it, of their masked copies.
func (c *column) sigma(t *Trainer) {
	if t.lacks() {
		c.sigmaOf(t, masked, c.maskedStd)
	}
	c.sigmaOf(t, observed, c.std) // last, because the backward pass reads its intermediate results
}

// sigmaOf computes σ_d of one copy of each row.
func (c *column) sigmaOf(t *Trainer, which int, std []float32) {
	s, n := &t.spread, t.Batch
	t.matMul(&vector.MatMul{
		Y: c.cell, YStride: s.width, Start: t.lay.sigmaInBias.of(t.weights, c.d), Rows: c.cells, Out: s.width,
		X: c.embedding(), XStride: c.width, In: t.Embedding, W: t.lay.sigmaIn.of(t.weights, c.d), WStride: s.width,
	})
	for r, cell := range c.cellOf {
		from := t.zeros
		if cell >= 0 {
			from = c.cell[int(cell)*s.width:]
		}
		copy(c.inner[r*s.width:][:s.width], from)
	}
	t.ops.MatMul(&vector.MatMul{
		Y: c.lifted, YStride: s.context, Start: t.lay.sigmaContextBias.of(t.weights, c.d), Rows: n, Out: s.context, Positive: true,
		X: t.value[which*t.Outputs:], XStride: copies * t.Outputs, In: t.Outputs, W: t.lay.sigmaContext.of(t.weights, c.d), WStride: s.context,
	})
	t.ops.MatMul(&vector.MatMul{
		Y: c.inner, YStride: s.width, Start: c.inner, StartStride: s.width, Rows: n, Out: s.width, Positive: true,
		X: c.lifted, XStride: s.context, In: form.ContextWidth, W: t.lay.sigmaLifted.of(t.weights, c.d), WStride: s.width,
	})
	t.ops.MatMul(&vector.MatMul{
		Y: c.out, YStride: s.outs, Start: t.lay.sigmaOutBias.of(t.weights, c.d), Rows: n, Out: s.outs,
		X: c.inner, XStride: s.width, In: t.SigmaWidth, W: t.lay.sigmaOut.of(t.weights, c.d), WStride: s.outs,
	})
	scale, sigmas := t.lay.noiseScale.of(t.weights, 0), t.Sigmas()
	for r, cell := range c.cellOf {
		for o := range sigmas {
			at := r*sigmas + o
			std[at] = 0
			if cell >= 0 && t.isPresent(r, which, c.d) {
				positive, slope := softplus(float64(c.out[r*s.outs+o]))
				std[at] = float32(positive) * scale[o]
				c.dout[r*s.outs+o] = float32(slope) * scale[o] // factor of the gradient by σ
			}
		}
	}
}

// sigmaBackward propagates the gradient by Σ_d σ_d² to the weights of the column's σ. The embeddings and the value are
// treated as constants.
func (c *column) sigmaBackward(t *Trainer) {
	s, n, sigmas := &t.spread, t.Batch, t.Sigmas()
	for r := range n {
		for o := range sigmas {
			at := r*sigmas + o
			if c.std[at] == 0 {
				c.dout[r*s.outs+o] = 0
				continue
			}
			c.dout[r*s.outs+o] *= 2 * c.std[at] * s.dvariance[at]
		}
	}
	t.biasGradient(t.lay.sigmaOutBias.of(t.gradient, c.d), c.dout, s.outs, s.outs, n)
	t.weightGradient(t.lay.sigmaOut.of(t.gradient, c.d), s.outs, c.inner, s.width, t.SigmaWidth, c.dout, s.outs, s.outs, n)
	t.inputGradient(c.dinner, s.width, c.dout, s.outs, n, t.lay.sigmaOut.of(t.weights, c.d), s.outs, t.SigmaWidth, sigmas, c.turned)
	t.ops.PositiveGradient(c.dinner, c.inner)
	t.biasGradient(t.lay.sigmaInBias.of(t.gradient, c.d), c.dinner, s.width, s.width, n)

	clear(c.dcell[:c.cells*s.width])
	for r, cell := range c.cellOf {
		if cell >= 0 {
			t.ops.AddScaled(c.dcell[int(cell)*s.width:][:s.width], 1, c.dinner[r*s.width:][:s.width])
		}
	}
	t.weightGradient(t.lay.sigmaIn.of(t.gradient, c.d), s.width, c.embedding(), c.width, t.Embedding, c.dcell, s.width, s.width, c.cells)

	t.weightGradient(t.lay.sigmaLifted.of(t.gradient, c.d), s.width, c.lifted, s.context, form.ContextWidth, c.dinner, s.width, s.width, n)
	t.inputGradient(c.dlifted, s.context, c.dinner, s.width, n, t.lay.sigmaLifted.of(t.weights, c.d), s.width, form.ContextWidth, t.SigmaWidth, c.turned)
	t.ops.PositiveGradient(c.dlifted, c.lifted)
	t.biasGradient(t.lay.sigmaContextBias.of(t.gradient, c.d), c.dlifted, s.context, s.context, n)
	t.weightGradient(t.lay.sigmaContext.of(t.gradient, c.d), s.context, t.value, copies*t.Outputs, t.Outputs, c.dlifted, s.context, s.context, n)
}

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
