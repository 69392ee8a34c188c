package encode_test

import (
	"reflect"
	"testing"

	"github.com/psi-shapley/psi/internal/encode"
)

// twoRows is a batch of two numbers and one category in which every cell differs from
// every other.
func twoRows() *encode.Batch {
	return &encode.Batch{
		Rows: 2, Numeric: 2, Categorical: 1,
		Numbers:  []float32{1.25, -1, 2.25, -2, 3.25, -3, 4.25, -4},
		Codes:    []int32{5, 6},
		Observed: []float32{1, 0, 1, 0, 1, 0},
	}
}

func TestNewBatchIsMissing(t *testing.T) {
	want := &encode.Batch{
		Rows: 2, Numeric: 1, Categorical: 2,
		Numbers:  make([]float32, 4),
		Codes:    make([]int32, 4),
		Observed: make([]float32, 6),
	}
	got := encode.NewBatch(2, 1, 2)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("batch %+v, want %+v", got, want)
	}
	if got.Players() != 3 {
		t.Errorf("%d players, want 3", got.Players())
	}
}

func TestSetCopiesOneRow(t *testing.T) {
	b := encode.NewBatch(3, 2, 1)
	b.Set(1, twoRows(), 1)
	want := &encode.Batch{
		Rows: 3, Numeric: 2, Categorical: 1,
		Numbers:  []float32{0, 0, 0, 0, 3.25, -3, 4.25, -4, 0, 0, 0, 0},
		Codes:    []int32{0, 6, 0},
		Observed: []float32{0, 0, 0, 0, 1, 0, 0, 0, 0},
	}
	if !reflect.DeepEqual(b, want) {
		t.Errorf("batch %+v, want %+v", b, want)
	}
}

func TestSetPlayerCopiesOneCell(t *testing.T) {
	for d, change := range []func(b *encode.Batch){
		func(b *encode.Batch) { b.Numbers[0], b.Numbers[1], b.Observed[0] = 3.25, -3, 0 },
		func(b *encode.Batch) { b.Numbers[2], b.Numbers[3], b.Observed[1] = 4.25, -4, 1 },
		func(b *encode.Batch) { b.Codes[0], b.Observed[2] = 6, 0 },
	} {
		got, want := twoRows(), twoRows()
		got.SetPlayer(0, d, twoRows(), 1)
		change(want)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("player %d: batch %+v, want %+v", d, got, want)
		}
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
