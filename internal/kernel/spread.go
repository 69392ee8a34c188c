package kernel

import (
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/kernel/vector"
)

// spread holds the networks of σ_d: for a column with embedding z and the value v of the row,
//
//	σ_d = R_d · unit · softplus(out·relu(in·z + lifted·relu(context·v + b) + b') + b”).
//
// in·z + b' is part of a cell's record.
type spread struct {
	columns []spreadColumn
	bias    []float32 // [sigmas, columns] of the last layer
	unit    []float32 // [sigmas]
}

type spreadColumn struct {
	context layer       // outputs → context
	lifted  []float32   // [context, sigma]
	out     [][]float32 // [sigmas][sigma]
}

func newSpread(c form.Config, w source) spread {
	columns, sigma, sigmas := c.Inputs.Columns(), vector.Padded(c.SigmaWidth), c.Sigmas()
	s := spread{bias: make([]float32, sigmas*columns), unit: w.of("noise_scale")}
	for d := range columns {
		col := spreadColumn{
			context: layer{
				weights: w.matrix("sigma_context", d, c.Outputs, form.ContextWidth, vector.Padded(form.ContextWidth)),
				bias:    w.matrix("sigma_context_bias", d, 1, form.ContextWidth, vector.Padded(form.ContextWidth)), in: c.Outputs,
			},
			lifted: w.matrix("sigma_lifted", d, form.ContextWidth, c.SigmaWidth, sigma),
		}
		for o := range sigmas {
			column := vector.Floats(sigma)
			for i := range c.SigmaWidth {
				column[i] = w.of("sigma_out")[(d*c.SigmaWidth+i)*sigmas+o]
			}
			col.out = append(col.out, column)
			s.bias[o*columns+d] = w.of("sigma_out_bias")[d*sigmas+o]
		}
		s.columns = append(s.columns, col)
	}
	return s
}

// std writes σ_d of the rows of a tile, whose values are given, to s.std [rows, sigmas, columns].
func (n *Net) std(s *scratch, values []float32, rows int) {
	columns := len(n.columns)
	std := s.std[:rows*n.sigmas*columns]
	for d := range n.spread.columns {
		c := &n.spread.columns[d]
		n.ops.MatMul(&vector.MatMul{
			Y: s.lift, YStride: c.context.width(), Start: c.context.bias, Rows: rows, Out: c.context.width(), Positive: true,
			X: values, XStride: n.outputs, In: n.outputs, W: c.context.weights, WStride: c.context.width(),
		})
		for r := range rows {
			copy(s.inner[r*n.sigma:], s.row(n, r)[d][n.factor():][:n.sigma])
		}
		n.ops.MatMul(&vector.MatMul{
			Y: s.inner, YStride: n.sigma, Start: s.inner, StartStride: n.sigma, Rows: rows, Out: n.sigma, Positive: true,
			X: s.lift, XStride: c.context.width(), In: form.ContextWidth, W: c.lifted, WStride: n.sigma,
		})
		for o, w := range c.out {
			n.ops.Dots(std[o*columns+d:], n.sigmas*columns, s.inner, rows, w)
		}
	}
	for i := range std {
		std[i] += n.spread.bias[i%len(n.spread.bias)]
	}
	n.ops.Softplus(s.std[:vector.Padded(len(std))])
}

// hide is the network of h, the standard deviation due to absent columns. Its input is a linear mix of the cells, the
// sum of a part of their records.
type hide struct {
	rest  []float32 // [hidden] with all columns absent
	inner layer     // hidden → hidden
	out   [][]float32
	bias  []float32 // [outputs]
}

func newHide(c form.Config, w source) hide {
	width := vector.Padded(c.HiddenWidth)
	h := hide{
		rest:  w.matrix("hidden_mix_bias", 0, 1, c.HiddenWidth, width),
		inner: layer{weights: w.matrix("hidden_layer", 0, c.HiddenWidth, c.HiddenWidth, width), bias: w.matrix("hidden_layer_bias", 0, 1, c.HiddenWidth, width), in: c.HiddenWidth},
		bias:  w.of("hidden_out_bias"),
	}
	for d := range c.Inputs.Columns() {
		for j, v := range w.of("hidden_absent")[d*c.HiddenWidth:][:c.HiddenWidth] {
			h.rest[j] += v
		}
	}
	for o := range c.Outputs {
		column := vector.Floats(width)
		for i := range c.HiddenWidth {
			column[i] = w.of("hidden_out")[i*c.Outputs+o]
		}
		h.out = append(h.out, column)
	}
	return h
}

// hiddenVariance writes h² of a row [outputs] with absent cells.
func (n *Net) hiddenVariance(s *scratch, cells [][]float32, variance []float32) {
	x, y := s.mixed, s.mixed[n.hidden:]
	copy(x, n.hide.rest)
	for _, record := range cells {
		n.ops.AddScaled(x[:n.hidden], 1, record[n.factor()+n.sigma:])
	}
	n.ops.Silu(x[:n.hidden])
	n.ops.MatMul(&vector.MatMul{
		Y: y, YStride: n.hidden, Start: n.hide.inner.bias, Rows: 1, Out: n.hidden,
		X: x, XStride: n.hidden, In: n.hide.inner.in, W: n.hide.inner.weights, WStride: n.hidden,
	})
	n.ops.Silu(y[:n.hidden])
	for o, w := range n.hide.out {
		n.ops.Dots(s.outs[o:], 1, y, 1, w)
		s.outs[o] += n.hide.bias[o]
	}
	n.ops.Softplus(s.outs)
	copy(variance, s.outs[:n.outputs])
}
