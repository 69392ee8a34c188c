package encode_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/psi-shapley/psi/internal/encode"
)

// twoRows is a batch of one number, two times and one category in which every cell differs
// from every other.
func twoRows() *encode.Batch {
	return &encode.Batch{
		Rows: 2, Numeric: 3, Times: 2, Categorical: 1,
		Numbers:  []float32{1.25, -1, 2.25, -2, 3.25, -3, 4.25, -4, 5.25, -5, 6.25, -6},
		Cycles:   append(append(parts(10), parts(20)...), append(parts(30), parts(40)...)...),
		Codes:    []int32{5, 6},
		Observed: []float32{1, 0, 1, 1, 0, 1, 0, 0},
	}
}

// parts are the cyclic parts of a time, all different.
func parts(from float32) []float32 {
	p := make([]float32, encode.CyclicParts)
	for i := range p {
		p[i] = from + float32(i)
	}
	return p
}

func nothing(times int) []float32 { return make([]float32, times*encode.CyclicParts) }

func TestNewBatchIsMissing(t *testing.T) {
	want := &encode.Batch{
		Rows: 2, Numeric: 3, Times: 1, Categorical: 2,
		Numbers:  make([]float32, 12),
		Cycles:   nothing(2),
		Codes:    make([]int32, 4),
		Observed: make([]float32, 10),
	}
	timed := encode.NewTimedBatch(2, 3, 1, 2)
	for _, got := range []*encode.Batch{timed, timed.Like(2), timed.Like(7).Like(2)} {
		if !reflect.DeepEqual(got, want) {
			t.Errorf("batch %+v, want %+v", got, want)
		}
		if got.Players() != 5 {
			t.Errorf("%d players, want 5", got.Players())
		}
	}
	if got, want := encode.NewBatch(4, 3, 2), encode.NewTimedBatch(4, 3, 0, 2); !reflect.DeepEqual(got, want) {
		t.Errorf("batch %+v, want %+v", got, want)
	}
}

func TestSetCopiesOneRow(t *testing.T) {
	b := twoRows().Like(3)
	b.Set(1, twoRows(), 1)
	want := &encode.Batch{
		Rows: 3, Numeric: 3, Times: 2, Categorical: 1,
		Numbers:  []float32{0, 0, 0, 0, 0, 0, 4.25, -4, 5.25, -5, 6.25, -6, 0, 0, 0, 0, 0, 0},
		Cycles:   slices.Concat(nothing(2), parts(30), parts(40), nothing(2)),
		Codes:    []int32{0, 6, 0},
		Observed: []float32{0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0},
	}
	if !reflect.DeepEqual(b, want) {
		t.Errorf("batch %+v, want %+v", b, want)
	}
}

func TestSetPlayerCopiesOneCell(t *testing.T) {
	for d, change := range []func(b *encode.Batch){
		func(b *encode.Batch) { b.Numbers[0], b.Numbers[1], b.Observed[0] = 4.25, -4, 0 },
		func(b *encode.Batch) {
			b.Numbers[2], b.Numbers[3], b.Observed[1] = 5.25, -5, 1
			copy(b.Cycles[:encode.CyclicParts], parts(30))
		},
		func(b *encode.Batch) {
			b.Numbers[4], b.Numbers[5], b.Observed[2] = 6.25, -6, 0
			copy(b.Cycles[encode.CyclicParts:], parts(40))
		},
		func(b *encode.Batch) { b.Codes[0], b.Observed[3] = 6, 0 },
	} {
		got, want := twoRows(), twoRows()
		got.SetPlayer(0, d, twoRows(), 1)
		change(want)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("player %d: batch %+v, want %+v", d, got, want)
		}
	}
}

// Slices, one after the other, are the whole again; they share its memory.
func TestSlicesAppended(t *testing.T) {
	b := twoRows()
	joined := b.Like(0)
	joined.Append(b.Slice(0, 1))
	joined.Append(b.Slice(1, 2))
	if !reflect.DeepEqual(joined, b) {
		t.Errorf("batch %+v, want %+v", joined, b)
	}
	b.Slice(1, 2).Cycles[0] = -7
	if b.Cycles[2*encode.CyclicParts] != -7 {
		t.Error("a slice has its own memory")
	}
	if got := b.Head(1); !reflect.DeepEqual(got, b.Slice(0, 1)) {
		t.Errorf("head %+v, want row 0", got)
	}
}

// All players of a row are the row.
func TestSettingEveryPlayerSetsTheRow(t *testing.T) {
	byPlayer, byRow := twoRows(), twoRows()
	for d := range byPlayer.Players() {
		byPlayer.SetPlayer(1, d, twoRows(), 0)
	}
	byRow.Set(1, twoRows(), 0)
	if !reflect.DeepEqual(byPlayer, byRow) {
		t.Errorf("batch %+v, want %+v", byPlayer, byRow)
	}
}
