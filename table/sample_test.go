package table

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Every row is as likely as any other to be drawn, however the table is cut, and its cells stay together.
func TestSampleIsEven(t *testing.T) {
	const rows, most, runs = 50, 10, 4000
	numbers, labels := make([]float64, rows), make([]string, rows)
	for i := range numbers {
		numbers[i], labels[i] = float64(i), string(rune('a'+i%26))
	}
	whole, err := New(NumberColumn("n", numbers, nil), CategoryColumn("c", labels, nil))
	if err != nil {
		t.Fatal(err)
	}
	drawn := make([]int, rows)
	for seed := range uint64(runs) {
		s := NewSample(most, rand.New(rand.NewPCG(seed, 0)))
		for from := 0; from < rows; from += 20 {
			var chunk []int
			for i := from; i < min(rows, from+20); i++ {
				chunk = append(chunk, i)
			}
			s.Add(whole.Select(chunk))
		}
		got, at := s.Rows()
		if got.Rows() != most || s.Seen() != rows || !slices.IsSorted(at) {
			t.Fatalf("seed %d: %d rows, %v", seed, got.Rows(), at)
		}
		for i, row := range at {
			drawn[row]++
			if got.Column("n").Numbers[i] != float64(row) || got.Column("c").Text(i) != labels[row] {
				t.Fatalf("seed %d: row %d has the cells of another", seed, row)
			}
		}
	}
	want, sd := float64(runs*most)/rows, math.Sqrt(runs*.2*.8)
	for row, n := range drawn {
		if math.Abs(float64(n)-want) > 5*sd {
			t.Errorf("row %d was drawn %d times, want about %g", row, n, want)
		}
	}
}

// A table smaller than the sample is all of it.
func TestSampleOfAFew(t *testing.T) {
	few, err := New(NumberColumn("n", []float64{4, 5}, nil))
	if err != nil {
		t.Fatal(err)
	}
	s := NewSample(10, rand.New(rand.NewPCG(0, 0)))
	s.Add(few)
	if got, at := s.Rows(); got.Rows() != 2 || !slices.Equal(at, []int{0, 1}) {
		t.Errorf("%d rows, %v", got.Rows(), at)
	}
}
