package shapley_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/psi-shapley/psi/shapley"
)

// runway is a game of three airlines who share one runway: its cost is that of
// the longest that any of them needs.
var runway = shapley.GameFunc{N: 3, V: func(members []int) float64 {
	cost := 0.0
	for _, airline := range members {
		cost = max(cost, []float64{3, 5, 12}[airline])
	}
	return cost
}}

// Player 0 owns a left glove, players 1 and 2 a right glove each; only a pair
// can be sold.
func ExampleExact() {
	gloves := shapley.GameFunc{N: 3, V: func(members []int) float64 {
		if len(members) > 1 && members[0] == 0 {
			return 1
		}
		return 0
	}}
	phi, err := shapley.Exact(context.Background(), gloves)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%.4f\n", phi.Of(0))
	// Output: [0.6667 0.1667 0.1667]
}

func ExampleErrTooManyPlayers() {
	_, err := shapley.Exact(context.Background(), shapley.GameFunc{N: 30})
	fmt.Println(errors.Is(err, shapley.ErrTooManyPlayers))
	fmt.Println(err)
	// Output:
	// true
	// shapley: too many players to enumerate: 30 players have 2^30 coalitions, about 10^9; the limit is 16 players
}

// Thirty voters, of whom the first has ten votes and the others one each. It
// turns the vote if 10 to 19 others come before it, one time in three.
func ExamplePermutation() {
	const n = 30
	council := shapley.GameFunc{N: n, V: func(members []int) float64 {
		votes := len(members)
		if votes > 0 && members[0] == 0 {
			votes += 9
		}
		if 2*votes > n+9 {
			return 1
		}
		return 0
	}}
	phi, err := shapley.Permutation(context.Background(), council, 2000, rand.New(rand.NewPCG(1, 2)))
	if err != nil {
		panic(err)
	}
	fmt.Printf("power %.2f, standard error %.3f, from %d coalitions\n",
		phi.At(0, 0), phi.StandardError(0, 0), phi.Coalitions)
	// Output: power 0.33, standard error 0.011, from 116002 coalitions
}

// The runway is shared, so that every two airlines save something together: the
// costs interact negatively.
func ExampleInteractions() {
	indices, err := shapley.Interactions(context.Background(), runway)
	if err != nil {
		panic(err)
	}
	for i := range indices.Players {
		for j := range i {
			fmt.Printf("airlines %d and %d: %.1f\n", j, i, indices.At(0, j, i))
		}
	}
	// Output:
	// airlines 0 and 1: -1.5
	// airlines 0 and 2: -1.5
	// airlines 1 and 2: -3.5
}

// The second airline is bankrupt. It pays nothing, the others share the runway
// as if it had never been there.
func ExampleRestrict() {
	sub := shapley.Restrict(runway, []int{0, 2})
	phi, err := shapley.Exact(context.Background(), sub)
	if err != nil {
		panic(err)
	}
	fmt.Println(phi.Extend(sub).Of(0))
	// Output: [1.5 0 10.5]
}

func ExampleGameFunc() {
	s := shapley.NewCoalitions(2, 3)
	s.Add(1, 0)
	s.Add(1, 1)
	v, err := runway.Values(context.Background(), s)
	fmt.Println(v, err)
	// Output: [0 5] <nil>
}

// A model wants its coalitions as masks of ones and zeros.
func ExampleCoalitions() {
	s := shapley.NewCoalitions(2, 4)
	s.Add(0, 2)
	s.Add(1, 0)
	s.Add(1, 3)

	masks := make([]float32, s.Len()*s.Players())
	for i := range s.Len() {
		mask := masks[i*s.Players() : (i+1)*s.Players()]
		for player := range s.Members(i) {
			mask[player] = 1
		}
	}
	fmt.Println(masks)
	fmt.Println(s.Size(1), s.Has(1, 3), slices.Collect(s.Members(1)))
	// Output:
	// [0 0 1 0 1 0 0 1]
	// 2 true [0 3]
}

// What each airline pays, and that the shares add up to the cost.
func ExampleValues() {
	phi, err := shapley.Exact(context.Background(), runway)
	if err != nil {
		panic(err)
	}
	sum := 0.0
	for airline := range phi.Players {
		fmt.Printf("airline %d pays %.0f\n", airline, phi.At(0, airline))
		sum += phi.At(0, airline)
	}
	fmt.Printf("together %.0f of %.0f\n", sum, phi.Grand[0]-phi.Empty[0])
	// Output:
	// airline 0 pays 1
	// airline 1 pays 2
	// airline 2 pays 9
	// together 12 of 12
}
