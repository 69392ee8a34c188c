package form_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/psi-shapley/psi/internal/form"
)

// In a tournament every two columns meet exactly once, and no column meets two at a time.
func TestTournament(t *testing.T) {
	for n := 1; n <= 17; n++ {
		met := map[[2]int]int{}
		for _, round := range form.Tournament(n) {
			sorted := slices.Sorted(slices.Values(round))
			for i, d := range sorted {
				if d != i {
					t.Fatalf("%d columns: round %v", n, round)
				}
			}
			for i := 0; i+1 < len(round); i += 2 {
				met[[2]int{min(round[i], round[i+1]), max(round[i], round[i+1])}]++
			}
		}
		for pair, times := range met {
			if times != 1 {
				t.Errorf("%d columns: %v meet %d times", n, pair, times)
			}
		}
		if len(met) != n*(n-1)/2 {
			t.Errorf("%d columns: %d pairs meet", n, len(met))
		}
	}
}

// Columns of groups are paired such that no more than two groups are joined.
func TestMatchingsOfGroups(t *testing.T) {
	for _, groups := range [][][]int{nil, {{0}, {1, 2, 3}, {4, 5}, {6}}, {{0, 1, 2, 3, 4, 5, 6}}, {{6, 0, 1}, {2, 3, 4, 5}}} {
		c := form.Default(form.Inputs{Numeric: 7, Bins: 4, Groups: groups}, form.Exact, form.Size{Rows: 20_000, Columns: 7})
		for _, n := range []int{1, 2, 8} {
			t.Run(fmt.Sprint(groups, n), func(t *testing.T) {
				c.PairUp(n, 1, 1)
				if err := c.Validate(); err != nil {
					t.Error(err)
				}
				if c.Joined() > 2 {
					t.Error("more than two groups are joined")
				}
			})
		}
	}
}

// Whatever the channels, they are divided among as many orders and learners as they can be.
func TestPairUp(t *testing.T) {
	for _, of := range []struct{ channels, orders, learners int }{{256, 16, 4}, {128, 8, 4}, {96, 6, 3}, {48, 3, 3}, {32, 2, 2}, {16, 1, 1}, {20, 0, 1}, {8, 0, 1}} {
		c := form.Default(form.Inputs{Numeric: 7, Bins: 4}, form.Exact, form.Size{Rows: 20_000, Columns: 7})
		c.Channels = of.channels
		c.PairUp(16, 1, 4)
		if err := c.Validate(); err != nil || len(c.Pairs) != of.orders || c.Learners != of.learners {
			t.Errorf("%d channels: %d orders, %d learners, want %d and %d: %v", of.channels, len(c.Pairs), c.Learners, of.orders, of.learners, err)
		}
	}
	one := form.Default(form.Inputs{Numeric: 1, Bins: 4}, form.Exact, form.Size{Rows: 20_000, Columns: 1})
	if err := one.Validate(); err != nil || one.Pairs != nil {
		t.Errorf("one column is paired: %v, %v", one.Pairs, err)
	}
}
