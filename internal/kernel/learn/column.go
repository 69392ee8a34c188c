package learn

import (
	"math"
	"slices"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/kernel/vector"
)

// column is the network of one column, from the distinct cells of a minibatch to their factors.
type column struct {
	d      int
	number bool
	time   int // index among the times; −1 if it is not a time
	first  int // embedding row of its first level
	width  int // of the embedding, padded

	cells  int
	cellOf []int32 // [B] cell of each row; −1 if missing
	rowsOf []int32 // rows whose cell is observed
	places int     // number of factors: of cells, or with dropout of rows
	find   finder

	code   []int32   // [cells] for categories
	binAt  []int32   // [cells] for numbers: start of their bin
	gaps   []int32   // cells that are gaps treated as levels
	part   []float32 // [cells] filled share of the bin
	value  []float32 // [cells] for numbers
	cycles []float32 // [cells, encode.CyclicParts]

	below         []float32 // [bins + 1, width] bias and the sum of the bins below; in the backward pass the gradient of full bins
	waves, dwaves []float32 // [cells, 2 · padded frequencies]
	layers        [][]float32
	thin          []float32 // [places, width] embeddings after dropout
	grad, other   []float32 // [B, width]
	turned        []float32 // a transposed weight

	dmix   []float32 // [B + 1, hidden] gradient by the cells' inputs of h, and last by that of an absent cell
	dmixAt []int32   // [B] offsets of the gradients of masked copies
	sigmaColumn
}

// steepest is where the linear feature of a number is clipped, in standard deviations.
const steepest = 4

func newColumn(t *Trainer, d, first int) column {
	in, n, z := t.Inputs, t.Batch, vector.Padded(t.Embedding)
	c := column{
		d: d, number: d < in.Numeric, time: -1, first: first, width: z, find: newFinder(n),
		cellOf: make([]int32, n), rowsOf: make([]int32, 0, n),
		grad: vector.Floats(n * z), other: vector.Floats(n * z), thin: vector.Floats(n * z),
		dmix: vector.Floats((n + 1) * t.hide.width), dmixAt: make([]int32, n),
		sigmaColumn: newSigmaColumn(t),
	}
	for range t.Hidden + 1 {
		c.layers = append(c.layers, vector.Floats(n*z))
	}
	waves := 2 * vector.Padded(t.Frequencies)
	c.turned = vector.Floats(max(t.parts*t.shared.channels, z, waves, t.spread.width, vector.Lanes) * max(z, waves, t.spread.width, vector.Lanes))
	if !c.number {
		c.code = make([]int32, n)
		return c
	}
	c.binAt, c.gaps, c.part, c.value = make([]int32, n), make([]int32, 0, n), make([]float32, n), make([]float32, n)
	c.below = vector.Floats((in.Bins + 1) * z)
	c.waves, c.dwaves = vector.Floats(n*waves), vector.Floats(n*waves)
	if k := d - (in.Numeric - in.Times); k >= 0 {
		c.time, c.cycles = k, make([]float32, n*encode.CyclicParts)
	}
	return c
}

// forward finds the distinct cells of the minibatch and evaluates the column's network for them.
func (c *column) forward(t *Trainer) {
	c.distinguish(t)
	c.place(t)
	k, width := t.shared.channels, t.parts*t.shared.channels
	// An absent cell contributes nothing to the parts shared with a partner.
	absent := t.records[(len(t.columns)*t.Batch+c.d)*t.stride:][:k]
	copy(absent, t.lay.factorAbsent.of(t.weights, c.d))
	t.ops.Gains(absent, k, 1, t.less[:k])
	h := t.hide.width
	copy(t.mix[(len(t.columns)*t.Batch+c.d)*h:], t.lay.hiddenAbsent.of(t.weights, c.d))
	if t.current.phase != Spread {
		clear(t.drecords[(len(t.columns)*t.Batch+c.d)*t.stride:][:t.stride])
		clear(t.drecords[c.d*t.Batch*t.stride:][:c.places*t.stride])
	}
	if c.cells == 0 {
		return
	}
	if c.number {
		c.embedNumbers(t)
	} else {
		for i, code := range c.code[:c.cells] {
			copy(c.layers[0][i*c.width:], t.weights[t.lay.levels.row(int(code)):][:c.width])
		}
	}
	t.ops.Positive(c.layers[0][:c.cells*c.width])
	for i, l := range t.lay.layers {
		t.ops.MatMul(&vector.MatMul{
			Y: c.layers[i+1], YStride: c.width, Start: t.lay.layersBias[i].of(t.weights, c.d), Rows: c.cells, Out: c.width, Positive: true,
			X: c.layers[i], XStride: c.width, In: t.Embedding, W: l.of(t.weights, c.d), WStride: c.width,
		})
	}
	z := c.embedding()
	if t.current.Kept != nil {
		c.dropOut(t)
	}
	records := t.records[c.d*t.Batch*t.stride:]
	t.ops.MatMul(&vector.MatMul{
		Y: records, YStride: t.stride, Start: t.lay.factorBias.of(t.weights, c.d), Rows: c.places, Out: width,
		X: c.game(t), XStride: c.width, In: t.Embedding, W: t.lay.factor.of(t.weights, c.d), WStride: width,
	})
	t.ops.Gains(records, t.stride, c.places, t.start) // tanh, plus 1 in the first part
	t.ops.MatMul(&vector.MatMul{
		Y: t.mix[c.d*t.Batch*h:], YStride: h, Start: t.zeros, Rows: c.cells, Out: h,
		X: z, XStride: c.width, In: t.Embedding, W: t.lay.hiddenMix.of(t.weights, c.d), WStride: h,
	})
}

// embedding returns z_d of the cells.
func (c *column) embedding() []float32 { return c.layers[len(c.layers)-1] }

// game returns the embeddings behind the factors: those of cells, or with dropout those of rows.
func (c *column) game(t *Trainer) []float32 {
	if t.current.Kept != nil {
		return c.thin
	}
	return c.embedding()
}

// distinguish finds the distinct cells of the minibatch. A time has a cell per row, because its cyclic parts rarely
// repeat.
func (c *column) distinguish(t *Trainer) {
	b := t.current.Rows
	c.find.begin()
	c.cells, c.rowsOf, c.gaps = 0, c.rowsOf[:0], c.gaps[:0]
	for r := range t.Batch {
		if b.Observed[r*len(t.columns)+c.d] == 0 {
			c.cellOf[r] = -1
			continue
		}
		c.rowsOf = append(c.rowsOf, int32(r))
		if !c.number {
			code := b.Codes[r*b.Categorical+c.d-b.Numeric]
			at, there := c.find.cell(uint64(code), c.cells)
			if !there {
				c.code[c.cells] = code
				c.cells++
			}
			c.cellOf[r] = at
			continue
		}
		x := b.Numbers[(r*b.Numeric+c.d)*2:]
		at, there := int32(c.cells), false
		if c.time < 0 {
			at, there = c.find.cell(uint64(math.Float32bits(x[0]))<<32|uint64(math.Float32bits(x[1])), c.cells)
		}
		if !there {
			c.setNumber(t, c.cells, x[0], x[1])
			if c.time >= 0 {
				copy(c.cycles[c.cells*encode.CyclicParts:][:encode.CyclicParts], b.Cycles[(r*b.Times+c.time)*encode.CyclicParts:])
			}
			c.cells++
		}
		c.cellOf[r] = at
	}
	c.places = c.cells
	if t.current.Kept != nil {
		c.places = len(c.rowsOf)
	}
}

func (c *column) setNumber(t *Trainer, cell int, position, value float32) {
	bin := min(max(int(position), 0), t.Inputs.Bins-1)
	c.binAt[cell], c.part[cell], c.value[cell] = int32(bin*c.width), min(max(position-float32(bin), 0), 1), value
	if t.Inputs.Gaps && position < 0 {
		c.gaps = append(c.gaps, int32(cell))
	}
}

// place sets, for each row, the offsets of its cell's factors and of its input of h.
func (c *column) place(t *Trainer) {
	columns, players, h := len(t.columns), t.Inputs.Players(), t.hide.width
	absent, absentMix, row := int32((columns*t.Batch+c.d)*t.stride), int32((columns*t.Batch+c.d)*h), 0
	for r, cell := range c.cellOf {
		at, mixAt, dmixAt := absent, absentMix, int32(t.Batch*h)
		if cell >= 0 {
			place := int(cell)
			if t.current.Kept != nil {
				place = row
				row++
			}
			at, mixAt, dmixAt = int32((c.d*t.Batch+place)*t.stride), int32((c.d*t.Batch+int(cell))*h), cell*int32(h)
		}
		for which := range copies {
			i, j := (r*copies+which)*(columns+1)+c.d, (which*t.Batch+r)*columns+c.d
			if t.current.Masks[(r*copies+which)*players+t.player[c.d]] != 0 {
				t.at[i], t.mixAt[j] = at, mixAt
			} else {
				t.at[i], t.mixAt[j], dmixAt = absent, absentMix, int32(t.Batch*h)
			}
		}
		c.dmixAt[r] = dmixAt // the masked copy comes last
	}
}

// embedNumbers computes the first layer of numbers x at positions p among the bins,
//
//	bias + Σ_i bin_i clip(p − i, 0, 1) + waves or slope of x + cycles of a time,
//
// before its activation. All bins below p are full, so their sum is a table.
func (c *column) embedNumbers(t *Trainer) {
	bins, w, z := t.lay.bins.of(t.weights, c.d), c.width, c.layers[0]
	copy(c.below, t.lay.binsBias.of(t.weights, c.d))
	for i := range t.Inputs.Bins {
		copy(c.below[(i+1)*w:], c.below[i*w:][:w])
		t.ops.AddScaled(c.below[(i+1)*w:][:w], 1, bins[i*w:][:w])
	}
	waves := vector.Padded(t.Frequencies)
	clear(z[:c.cells*w])
	t.ops.Gather(&vector.Gather{Y: z, X: c.below, At: c.binAt, Scale: t.ones, Rows: c.cells, Per: 1, Width: w})
	t.ops.Gather(&vector.Gather{Y: z, X: bins, At: c.binAt, Scale: c.part, Rows: c.cells, Per: 1, Width: w})
	for i, x := range c.value[:c.cells] {
		if waves > 0 {
			t.ops.Waves(c.waves[i*2*waves:], x, t.lay.frequency.of(t.weights, c.d))
		} else {
			t.ops.AddScaled(z[i*w:][:w], min(max(x, -steepest), steepest), t.lay.slope.of(t.weights, c.d))
		}
	}
	if waves > 0 {
		t.ops.MatMul(&vector.MatMul{
			Y: z, YStride: w, Start: z, StartStride: w, Rows: c.cells, Out: w,
			X: c.waves, XStride: 2 * waves, In: 2 * waves, W: t.lay.periodic.of(t.weights, c.d), WStride: w,
		})
	}
	if c.time >= 0 {
		t.ops.MatMul(&vector.MatMul{
			Y: z, YStride: w, Start: z, StartStride: w, Rows: c.cells, Out: w,
			X: c.cycles, XStride: encode.CyclicParts, In: encode.CyclicParts, W: t.lay.cycles.of(t.weights, c.time), WStride: w,
		})
	}
	for _, i := range c.gaps {
		copy(z[int(i)*w:], t.lay.gap.of(t.weights, c.d))
	}
}

// dropOut multiplies the embeddings of the rows' cells by their dropout factors.
func (c *column) dropOut(t *Trainer) {
	z, e := c.embedding(), t.Embedding
	for i, r := range c.rowsOf {
		from, to := z[int(c.cellOf[r])*c.width:], c.thin[i*c.width:]
		for j, k := range t.current.Kept[(c.d*t.Batch+int(r))*e:][:e] {
			to[j] = k * from[j]
		}
	}
}

// backward propagates the gradients by factors, by h's mix and by σ to the column's weights.
func (c *column) backward(t *Trainer) {
	if t.current.phase != Absent {
		c.hiddenBackward(t)
	}
	if t.current.phase == Spread {
		c.sigmaBackward(t)
		return
	}
	k, width, z, n := t.shared.channels, t.parts*t.shared.channels, t.Embedding, c.cells
	absent := (len(t.columns)*t.Batch + c.d) * t.stride
	t.ops.TanhGradient(t.drecords[absent:], t.records[absent:], t.stride, 1, k, 1)
	copy(t.lay.factorAbsent.of(t.gradient, c.d), t.drecords[absent:][:k])
	if t.current.phase == Absent {
		return
	}

	from := c.d * t.Batch * t.stride
	dr := t.drecords[from:]
	t.ops.TanhGradient(dr, t.records[from:], t.stride, c.places, k, 1)
	t.ops.TanhGradient(dr[k:], t.records[from+k:], t.stride, c.places, width-k, 0)
	t.biasGradient(t.lay.factorBias.of(t.gradient, c.d), dr, t.stride, width, c.places)
	t.weightGradient(t.lay.factor.of(t.gradient, c.d), width, c.game(t), c.width, z, dr, t.stride, width, c.places)
	grad, other := c.grad, c.other
	t.inputGradient(grad, c.width, dr, t.stride, c.places, t.lay.factor.of(t.weights, c.d), width, z, width-k+t.Channels, c.turned)
	if t.current.Kept != nil {
		clear(other[:n*c.width])
		for i, r := range c.rowsOf {
			from, to := grad[i*c.width:], other[int(c.cellOf[r])*c.width:]
			for j, k := range t.current.Kept[(c.d*t.Batch+int(r))*z:][:z] {
				to[j] += k * from[j]
			}
		}
		grad, other = other, grad
	}
	for i, l := range slices.Backward(t.lay.layers) {
		t.ops.PositiveGradient(grad[:n*c.width], c.layers[i+1])
		t.biasGradient(t.lay.layersBias[i].of(t.gradient, c.d), grad, c.width, c.width, n)
		t.weightGradient(l.of(t.gradient, c.d), c.width, c.layers[i], c.width, z, grad, c.width, c.width, n)
		t.inputGradient(other, c.width, grad, c.width, n, l.of(t.weights, c.d), c.width, z, z, c.turned)
		grad, other = other, grad
	}
	t.ops.PositiveGradient(grad[:n*c.width], c.layers[0])
	if c.number {
		c.numbersBackward(t, grad)
	} else {
		c.levelsBackward(t, grad)
	}
}

// levelsBackward sets the gradient of the levels that occur, and 0 for others.
func (c *column) levelsBackward(t *Trainer, grad []float32) {
	from, to := t.lay.levels.row(c.first), t.lay.levels.row(c.first+t.Inputs.Levels[c.d-t.Inputs.Numeric])
	clear(t.gradient[from:to])
	for i, code := range c.code[:c.cells] {
		copy(t.gradient[t.lay.levels.row(int(code)):][:c.width], grad[i*c.width:])
	}
}

func (c *column) numbersBackward(t *Trainer, grad []float32) {
	w, n := c.width, c.cells
	if t.Inputs.Gaps {
		gap := t.lay.gap.of(t.gradient, c.d)
		clear(gap)
		for _, i := range c.gaps {
			t.ops.AddScaled(gap, 1, grad[int(i)*w:][:w])
			clear(grad[int(i)*w:][:w])
		}
	}
	t.biasGradient(t.lay.binsBias.of(t.gradient, c.d), grad, w, w, n)
	// A cell fills its own bin partly and all bins below it.
	bins, full := t.lay.bins.of(t.gradient, c.d), c.below
	clear(bins)
	clear(full)
	t.ops.Scatter(full, c.binAt[:n], t.ones, grad, w)
	t.ops.Scatter(bins, c.binAt[:n], c.part, grad, w)
	for i := t.Inputs.Bins - 2; i >= 0; i-- {
		above := full[(i+1)*w:][:w]
		t.ops.AddScaled(bins[i*w:][:w], 1, above)
		t.ops.AddScaled(full[i*w:][:w], 1, above)
	}
	if c.time >= 0 {
		t.weightGradient(t.lay.cycles.of(t.gradient, c.time), w, c.cycles, encode.CyclicParts, encode.CyclicParts, grad, w, w, n)
	}
	if t.Frequencies > 0 {
		c.wavesBackward(t, grad)
		return
	}
	slope := t.lay.slope.of(t.gradient, c.d)
	clear(slope)
	for i, v := range c.value[:n] {
		t.ops.AddScaled(slope, min(max(v, -steepest), steepest), grad[i*w:][:w])
	}
}

// wavesBackward propagates gradients through sin(2πxf) and cos(2πxf).
func (c *column) wavesBackward(t *Trainer, grad []float32) {
	w, n, f := c.width, c.cells, vector.Padded(t.Frequencies)
	periodic := t.lay.periodic.of(t.gradient, c.d)
	t.weightGradient(periodic, w, c.waves, 2*f, 2*f, grad, w, w, n)
	clear(periodic[t.Frequencies*w : f*w]) // padding: the cosine of frequency 0 is 1
	clear(periodic[(f+t.Frequencies)*w:])
	t.inputGradient(c.dwaves, 2*f, grad, w, n, t.lay.periodic.of(t.weights, c.d), w, 2*f, t.Embedding, c.turned)
	frequency := t.lay.frequency.of(t.gradient, c.d)
	clear(frequency)
	for i, x := range c.value[:n] {
		waves, dwaves := c.waves[i*2*f:], c.dwaves[i*2*f:]
		for j := range t.Frequencies {
			frequency[j] += 2 * math.Pi * x * (waves[f+j]*dwaves[j] - waves[j]*dwaves[f+j])
		}
	}
}

// finder identifies equal cells.
type finder struct {
	keys  []uint64
	cells []int32
	seen  []uint32 // epoch of a slot's last use
	epoch uint32
}

func newFinder(cells int) finder {
	slots := 1
	for slots < 2*cells {
		slots *= 2
	}
	return finder{keys: make([]uint64, slots), cells: make([]int32, slots), seen: make([]uint32, slots)}
}

// begin forgets all cells.
func (f *finder) begin() {
	if f.epoch++; f.epoch == 0 { // after 2³² minibatches
		clear(f.seen)
		f.epoch = 1
	}
}

// cell returns the index of the cell with a key, which is next if it is new.
func (f *finder) cell(key uint64, next int) (cell int32, there bool) {
	mask := uint64(len(f.keys) - 1)
	for i := key * 0x9e3779b97f4a7c15 >> 32; ; i++ {
		at := i & mask
		if f.seen[at] != f.epoch {
			f.seen[at], f.keys[at], f.cells[at] = f.epoch, key, int32(next)
			return int32(next), false
		}
		if f.keys[at] == key {
			return f.cells[at], true
		}
	}
}
