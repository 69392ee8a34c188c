package learn

import (
	"fmt"

	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/kernel/vector"
)

// tensor is the position of a weight in an arena. Arenas hold all weights in one slice, group by group, with rows
// padded for vector loops; padding is always 0. A weight has blocks of rows [blocks, rows, width], usually one block
// per column.
type tensor struct {
	name                string
	offset              int
	blocks, rows, width int
	stride              int  // floats from one row to the next
	height              int  // rows of a block
	split               int  // rows of the first half of a block, whose second half begins at height / 2; 0 if it is not split
	transposed          bool // element (row, column) is stored at (column, row)
}

// span is a range of an arena.
type span struct{ from, to int }

// layout holds the positions of all weights. Weights that a network does not have are nil.
type layout struct {
	bins, binsBias, frequency, periodic, slope, cycles, gap, levels *tensor
	layers, layersBias                                              []*tensor
	factor, factorBias, factorAbsent, channel                       *tensor

	sigmaIn, sigmaInBias, sigmaContext, sigmaContextBias, sigmaLifted *tensor
	sigmaOut, sigmaOutBias, sigma0, noiseScale, noiseGrowth           *tensor

	hiddenMix, hiddenAbsent, hiddenMixBias, hiddenLayer, hiddenLayerBias, hiddenOut, hiddenOutBias *tensor

	all    []*tensor
	groups map[form.Group]span
	size   int
}

func newLayout(c form.Config) *layout {
	l := &layout{groups: map[form.Group]span{}}
	byName := map[string]*tensor{}
	weights := c.Weights()
	for _, group := range []form.Group{form.Mean, form.Absent, form.Sigma, form.Hidden, form.Fixed} {
		from := l.size
		for _, w := range weights {
			if w.Group == group {
				t := l.place(c, w)
				byName[w.Name] = t
				l.all = append(l.all, t)
			}
		}
		l.groups[group] = span{from, l.size}
	}
	l.bins, l.binsBias, l.frequency, l.periodic = byName["bins"], byName["bins_bias"], byName["frequency"], byName["periodic"]
	l.slope, l.cycles, l.gap, l.levels = byName["slope"], byName["cycles"], byName["gap"], byName["levels"]
	for _, name := range c.HiddenLayers() {
		l.layers, l.layersBias = append(l.layers, byName[name]), append(l.layersBias, byName[name+"_bias"])
	}
	l.factor, l.factorBias, l.factorAbsent, l.channel = byName["factor"], byName["factor_bias"], byName["factor_absent"], byName["channel"]
	l.sigmaIn, l.sigmaInBias = byName["sigma_in"], byName["sigma_in_bias"]
	l.sigmaContext, l.sigmaContextBias, l.sigmaLifted = byName["sigma_context"], byName["sigma_context_bias"], byName["sigma_lifted"]
	l.sigmaOut, l.sigmaOutBias, l.sigma0 = byName["sigma_out"], byName["sigma_out_bias"], byName["sigma0"]
	l.noiseScale, l.noiseGrowth = byName[form.NoiseScale], byName[form.NoiseGrowth]
	l.hiddenMix, l.hiddenAbsent, l.hiddenMixBias = byName["hidden_mix"], byName["hidden_absent"], byName["hidden_mix_bias"]
	l.hiddenLayer, l.hiddenLayerBias = byName["hidden_layer"], byName["hidden_layer_bias"]
	l.hiddenOut, l.hiddenOutBias = byName["hidden_out"], byName["hidden_out_bias"]
	return l
}

// place allocates the next position to a weight.
func (l *layout) place(c form.Config, w form.Weight) *tensor {
	t := &tensor{name: w.Name, offset: l.size, blocks: 1, rows: 1}
	dims := w.Dims
	t.width = dims[len(dims)-1]
	if len(dims) > 1 {
		t.rows = dims[len(dims)-2]
	}
	if len(dims) > 2 {
		t.blocks = dims[0]
	}
	t.stride, t.height = vector.Padded(t.width), t.rows
	switch w.Name {
	case "channel": // a row of channels for each output
		t.stride, t.height, t.transposed = vector.Padded(t.rows), t.width, true
	case "periodic": // the waves of padded frequencies: sines, then cosines
		t.split, t.height = c.Frequencies, 2*vector.Padded(c.Frequencies)
	}
	l.size += t.blocks * t.height * t.stride
	return t
}

// of returns a block of a weight in an arena.
func (t *tensor) of(arena []float32, block int) []float32 {
	size := t.height * t.stride
	return arena[t.offset+block*size:][:size]
}

// row returns the offset of a row of the weight, counted over all blocks.
func (t *tensor) row(i int) int {
	block, row := i/t.rows, i%t.rows
	if t.split > 0 && row >= t.split {
		row += t.height/2 - t.split
	}
	return t.offset + (block*t.height+row)*t.stride
}

// read copies a weight from an arena.
func (t *tensor) read(arena []float32) []float32 {
	values := make([]float32, t.blocks*t.rows*t.width)
	for i := range t.blocks * t.rows {
		to := values[i*t.width:][:t.width]
		if !t.transposed {
			copy(to, arena[t.row(i):])
			continue
		}
		for j := range to {
			to[j] = arena[t.offset+j*t.stride+i]
		}
	}
	return values
}

// write copies a weight to an arena. It resets padding to 0, which steps with NaN may have changed.
func (t *tensor) write(arena, values []float32) {
	clear(arena[t.offset:][:t.blocks*t.height*t.stride])
	for i := range t.blocks * t.rows {
		from := values[i*t.width:][:t.width]
		if !t.transposed {
			copy(arena[t.row(i):], from)
			continue
		}
		for j, v := range from {
			arena[t.offset+j*t.stride+i] = v
		}
	}
}

// read copies all weights from an arena.
func (l *layout) read(arena []float32) map[string][]float32 {
	values := make(map[string][]float32, len(l.all))
	for _, t := range l.all {
		values[t.name] = t.read(arena)
	}
	return values
}

// write copies all weights to an arena.
func (l *layout) write(arena []float32, values map[string][]float32) error {
	for _, t := range l.all {
		if n, want := len(values[t.name]), t.blocks*t.rows*t.width; n != want {
			return fmt.Errorf("learn: weight %q has %d elements, want %d", t.name, n, want)
		}
	}
	for _, t := range l.all {
		t.write(arena, values[t.name])
	}
	return nil
}
