package learn

import (
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
