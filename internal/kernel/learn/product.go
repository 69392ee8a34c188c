package learn

import (
	"github.com/psi-shapley/psi/internal/kernel/vector"
)

// share is a range of channels whose records are multiplied in the same order.
type share struct {
	from, channels int
	learner        int
	order          []int32
	scratch        []float32
}

// shared holds what columns write for the rows of a minibatch, and what rows write back for the columns.
type shared struct {
	channels, parts int       // padded channels; number of parts of a record, each with that many floats
	stride          int       // floats from one record to the next
	records         []float32 // [columns · B + columns + 1, stride] of the cells of each column, then of absent columns, then of no column
	drecords        []float32 // gradient
	at              []int32   // [2B + 1, columns + 1] offsets of the records of each copy; last those with no column present
	shares          []share   // of the products
	mix             []float32 // [columns · B + columns, hidden] input of h by each cell of each column, then by absent columns
	mixAt           []int32   // [2, B, columns] offsets into mix for rows as observed, then for masked copies

	rest             []float32 // [channels] Π_d (1 + c_d)
	out              []float32 // [learners, C, channels] w, centred over classes; 0 for channels of other learners
	product          []float32 // [2B, channels] Π_d F_d − rest
	up               []float32 // [2B + 1, channels] gradient by products
	value            []float32 // [2B, C]
	learnerValues    []float32 // [learners, 2B, C] value of each learner; value is their mean
	learnerGradients []float32 // [learners, 2B + 1, C] gradient by learnerValues, times learners

	zeros, ones, less []float32 // 0, 1, −1
	start             []float32 // [parts · channels] −1 in the first part, 0 in the others
}

// blockChannels are multiplied as one share, blockRows are summed as one.
const (
	blockChannels = 64
	blockRows     = 32
)

func newShared(t *Trainer) shared {
	rows, columns := t.Batch, t.Inputs.Columns()
	k, outputs := vector.Padded(t.Channels), t.learners*t.Outputs
	s := shared{
		// A stride that is not a power of 2 avoids conflicts of the records of one channel in a few cache sets.
		channels: k, parts: t.Parts(), stride: t.Parts()*k + vector.Lanes,
		at: make([]int32, (copies*rows+1)*(columns+1)), mixAt: make([]int32, copies*rows*columns),
		mix:  vector.Floats((rows + 1) * columns * vector.Padded(t.HiddenWidth)),
		rest: vector.Floats(k), out: vector.Floats(outputs * k), product: vector.Floats(copies * rows * k), up: vector.Floats((copies*rows + 1) * k),
		value: vector.Floats(copies * rows * t.Outputs), learnerValues: vector.Floats(copies * rows * outputs), learnerGradients: vector.Floats((copies*rows + 1) * outputs),
	}
	// A load whose address has the same last 12 bits as an earlier store waits for it, so records and gradients are
	// kept apart.
	const apart = 512
	floats := ((rows+1)*columns + 1) * s.stride
	s.records, s.drecords = vector.Floats(floats), vector.Floats(floats + apart)[apart:]
	none := (rows + 1) * columns * s.stride
	copy(s.records[none:], vector.Ones(k))
	for r := range copies*rows + 1 {
		s.at[r*(columns+1)+columns] = int32(none)
	}
	for d := range columns {
		s.at[copies*rows*(columns+1)+d] = int32((columns*rows + d) * s.stride)
	}
	for _, f := range t.Factors() {
		padded := vector.Padded(f.Channels)
		for from := 0; from < padded; from += blockChannels {
			s.shares = append(s.shares, share{f.From + from, min(blockChannels, padded-from), f.Learner, f.Order, vector.Floats(vector.ScratchFloats(len(f.Order)))})
		}
	}
	largest := max(rows*copies, blockRows*columns, s.parts*k, vector.Padded(t.Embedding), vector.Padded(t.HiddenWidth), vector.Padded(t.SigmaWidth), vector.Padded(t.Outputs), 2*vector.Padded(t.Frequencies), vector.Lanes)
	s.zeros, s.ones, s.less = vector.Floats(largest), vector.Ones(largest), vector.Floats(largest)
	for i := range s.less {
		s.less[i] = -1
	}
	s.start = vector.Floats(s.parts * k)
	copy(s.start, s.less[:k])
	return s
}

// isPresent reports whether a column is present in a row's copy.
func (t *Trainer) isPresent(row, which, d int) bool {
	wide := len(t.columns) + 1
	return t.at[(row*copies+which)*wide+d] != t.at[copies*t.Batch*wide+d]
}

// values multiplies the records of all copies, for some channels:
//
//	product_k = Π_(i,j) Σ_m F_imk F_jmk − Π_d (1 + c_dk).
func (t *Trainer) values(i int) {
	s, wide, rows := &t.shares[i], len(t.columns)+1, copies*t.Batch
	from, n := s.from, s.channels
	p := vector.Products{
		Y: t.rest[from:], YStride: t.shared.channels, Records: t.records[from:], At: t.at[rows*wide:], Order: s.order, Rest: t.zeros,
		Rows: 1, Columns: wide, Channels: n, Parts: t.parts, Part: t.shared.channels,
	}
	t.ops.Products(&p)
	p.Y, p.At, p.Rest, p.Rows = t.product[from:], t.at, t.rest[from:], rows
	t.ops.Products(&p)
	w := t.lay.channel.of(t.weights, 0)
	for k := from; k < from+n; k++ {
		mean := float32(0)
		if t.Outputs > 1 { // scores of classes add up to 0
			for c := range t.Outputs {
				mean += w[c*t.shared.channels+k] / float32(t.Outputs)
			}
		}
		for c := range t.Outputs {
			t.out[(s.learner*t.Outputs+c)*t.shared.channels+k] = w[c*t.shared.channels+k] - mean
		}
	}
}

func (t *Trainer) rowShares() int { return (t.Batch + blockRows - 1) / blockRows }

// rows computes, for some rows' copies, the value of each learner, learners · Σ_k w_kc product_k over its channels;
// their mean v_c = Σ_k w_kc product_k over all channels; and h.
func (t *Trainer) rows(share int) {
	from, k := share*blockRows, t.shared.channels
	n := min(blockRows, t.Batch-from)
	for i := range t.learners * t.Outputs {
		l, c := i/t.Outputs, i%t.Outputs
		t.ops.Dots(t.learnerValues[(l*t.Batch+from)*copies*t.Outputs+c:], t.Outputs, t.product[from*copies*k:], n*copies, t.out[i*k:][:k])
	}
	for i := from * copies * t.Outputs; i < (from+n)*copies*t.Outputs; i++ {
		t.value[i] = 0
		for l := range t.learners {
			value := &t.learnerValues[l*t.Batch*copies*t.Outputs+i]
			t.value[i] += *value
			*value *= float32(t.learners)
		}
	}
	if t.current.phase != Absent {
		t.hide.forward(t, masked, from, n)
	}
	if t.lacks() {
		t.hide.forward(t, observed, from, n)
	}
}

// products propagates the gradient by the learners' values to channels and records, for some channels.
func (t *Trainer) products(i int) {
	s, rows, k := &t.shares[i], copies*t.Batch, t.shared.channels
	from, n := s.from, s.channels
	channel, gradients := t.lay.channel.of(t.gradient, 0), t.learnerGradients[s.learner*(rows+1)*t.Outputs:]
	t.ops.MatMul(&vector.MatMul{
		Y: channel[from:], YStride: k, Start: t.zeros, Rows: t.Outputs, Out: n,
		X: gradients, XStride: 1, XStep: t.Outputs, In: rows, W: t.product[from:], WStride: k,
	})
	if t.Outputs > 1 {
		for i := from; i < from+n; i++ {
			mean := float32(0)
			for c := range t.Outputs {
				mean += channel[c*k+i] / float32(t.Outputs)
			}
			for c := range t.Outputs {
				channel[c*k+i] -= mean
			}
		}
	}
	t.ops.MatMul(&vector.MatMul{
		Y: t.up[from:], YStride: k, Start: t.zeros, Rows: rows + 1, Out: n,
		X: gradients, XStride: t.Outputs, In: t.Outputs, W: t.out[s.learner*t.Outputs*k+from:], WStride: k,
	})
	t.ops.ProductsGradient(&vector.ProductsGradient{
		Gradient: t.drecords[from:], Up: t.up[from:], UpStride: k, Records: t.records[from:], At: t.at, Order: s.order, Scratch: s.scratch,
		Rows: rows + 1, Columns: len(t.columns) + 1, Channels: n, Parts: t.parts, Part: k,
	})
}

// matMul is a matrix product that accepts matrices without rows.
func (t *Trainer) matMul(m *vector.MatMul) {
	if m.In > 0 {
		t.ops.MatMul(m)
		return
	}
	for r := range m.Rows {
		copy(m.Y[r*m.YStride:][:m.Out], m.Start[r*m.StartStride:])
	}
}

// weightGradient returns Σ_n x_ni dy_nj, the gradient by the weights of y = x·w.
func (t *Trainer) weightGradient(to []float32, toStride int, x []float32, xStride, in int, dy []float32, dyStride, out, n int) {
	t.matMul(&vector.MatMul{
		Y: to, YStride: toStride, Start: t.zeros, Rows: in, Out: out,
		X: x, XStride: 1, XStep: xStride, In: n, W: dy, WStride: dyStride,
	})
}

// biasGradient returns Σ_n dy_nj.
func (t *Trainer) biasGradient(to, dy []float32, dyStride, out, n int) {
	t.matMul(&vector.MatMul{Y: to, YStride: out, Start: t.zeros, Rows: 1, Out: out, X: t.ones, XStride: n, In: n, W: dy, WStride: dyStride})
}

// inputGradient returns dy·wᵀ for w [in, out], whose rows are a stride apart. It writes the transpose of w to scratch.
func (t *Trainer) inputGradient(to []float32, toStride int, dy []float32, dyStride, n int, w []float32, wStride, in, out int, scratch []float32) {
	width := vector.Padded(in)
	t.ops.Transpose(scratch, width, w, wStride, in, out)
	for i := range out { // rows that another weight may have left
		clear(scratch[i*width+in : (i+1)*width])
	}
	t.matMul(&vector.MatMul{
		Y: to, YStride: toStride, Start: t.zeros, Rows: n, Out: width,
		X: dy, XStride: dyStride, In: out, W: scratch, WStride: width,
	})
}
