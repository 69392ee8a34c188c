package shapley_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/psi-shapley/psi/shapley"
)

// Random additions and removals, against a plain matrix of bools.
func TestCoalitionsAreSets(t *testing.T) {
	rng := newRand(t)
	for _, n := range []int{1, 63, 64, 65, 1000} {
		const length = 4
		s := shapley.NewCoalitions(length, n)
		if s.Len() != length || s.Players() != n {
			t.Fatalf("%d coalitions of %d players, want %d of %d", s.Len(), s.Players(), length, n)
		}
		model := make([][]bool, length)
		for i := range model {
			model[i] = make([]bool, n)
		}
		for range 4 * length * n {
			i, player := rng.IntN(length), rng.IntN(n)
			model[i][player] = rng.IntN(3) > 0
			if model[i][player] {
				s.Add(i, player)
			} else {
				s.Remove(i, player)
			}
		}
		for i := range model {
			var members []int
			for player, in := range model[i] {
				if in {
					members = append(members, player)
				}
				if s.Has(i, player) != in {
					t.Errorf("n=%d: Has(%d, %d) = %v", n, i, player, !in)
				}
			}
			if got := slices.Collect(s.Members(i)); !slices.Equal(got, members) {
				t.Errorf("n=%d: members %v, want %v", n, got, members)
			}
			if s.Size(i) != len(members) {
				t.Errorf("n=%d: size %d, want %d", n, s.Size(i), len(members))
			}
		}
	}
}

func TestMembersStopsWithTheLoop(t *testing.T) {
	s := shapley.NewCoalitions(1, 100)
	s.Add(0, 3)
	s.Add(0, 99)
	for player := range s.Members(0) {
		if player != 3 {
			t.Errorf("player %d after the loop was left", player)
		}
		break
	}
}

// A player out of range must not end up in the neighbouring coalition.
func TestIndexOutOfRangePanics(t *testing.T) {
	s := shapley.NewCoalitions(2, 3)
	values := &shapley.Values{Players: 3, Outputs: 2, Phi: make([]float64, 6), StandardErrors: make([]float64, 6)}
	indices := &shapley.InteractionIndices{Players: 3, Outputs: 2, I: make([]float64, 18)}
	game := additive(0, 1, 2)
	for name, access := range map[string]func(){
		"Has player":      func() { s.Has(0, 3) },
		"Add player":      func() { s.Add(0, 64) },
		"Remove player":   func() { s.Remove(1, -1) },
		"Has coalition":   func() { s.Has(2, 0) },
		"At player":       func() { values.At(0, 3) },
		"At output":       func() { values.At(2, 0) },
		"StandardError":   func() { values.StandardError(0, 3) },
		"interaction":     func() { indices.At(0, 0, 3) },
		"interaction row": func() { indices.At(0, 3, 0) },
		"Restrict":        func() { shapley.Restrict(game, []int{0, 2}) },
		"Restrict twice":  func() { shapley.Restrict(game, []int{1, 1}) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			access()
		})
	}
}

func BenchmarkCoalitionsToMasks(b *testing.B) {
	for _, n := range []int{16, 1000} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			const length = 1 << 12
			s := shapley.NewCoalitions(length, n)
			for i := range length {
				for player := i % 2; player < n; player += 2 {
					s.Add(i, player)
				}
			}
			masks := make([]float32, length*n)
			b.SetBytes(length * int64(n) * 4)
			for b.Loop() {
				clear(masks)
				for i := range length {
					row := masks[i*n : (i+1)*n]
					for player := range s.Members(i) {
						row[player] = 1
					}
				}
			}
		})
	}
}
