package shapley

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
)

// Permutation estimates the Shapley values from random orders of the players, drawn in antithetic pairs: an order and
// its reverse. With P_k the first k players of an order, one pair credits the player at position k with
//
//	g(k) − g(k−1),   g(k) = ½ [v(P_k) − v(N∖P_k)]
//
// which is the mean of its marginal contributions in the order and in its reverse. The estimate is the mean credit. It
// is unbiased, and efficient for any number of pairs. Its standard error is that of a mean over pairs, since the two
// halves of a pair depend on each other. It vanishes, up to rounding, if players interact at most in pairs.
//
// Permutation needs at least two pairs, and evaluates 2 + 2·pairs·(n−1) coalitions. The orders depend on n and rng
// alone.
func Permutation(ctx context.Context, game Game, pairs int, rng *rand.Rand) (*Values, error) {
	if pairs < 2 {
		return nil, fmt.Errorf("shapley: a standard error needs at least 2 pairs of permutations, got %d", pairs)
	}
	values := newValues(game)
	n, outputs := values.Players, values.Outputs

	ends := NewCoalitions(2, n)
	ends.complement(1, 0)
	v, err := evaluate(ctx, game, ends)
	if err != nil {
		return nil, err
	}
	copy(values.Empty, v[:outputs])
	copy(values.Grand, v[outputs:])
	values.Coalitions = ends.Len()

	credit := make([]float64, len(values.Phi))  // of one pair
	squares := make([]float64, len(values.Phi)) // Σ (credit − φ)² over pairs
	perPair := coalitionsPerPair(n)
	perBatch := max(1, batchSize/max(1, perPair))
	for drawn := 0; drawn < pairs; {
		orders := make([][]int, min(perBatch, pairs-drawn))
		for p := range orders {
			orders[p] = rng.Perm(n)
		}
		batch := walks(orders, n)
		v, err := evaluate(ctx, game, batch)
		if err != nil {
			return nil, err
		}
		values.Coalitions += batch.Len()
		for p, order := range orders {
			values.creditPair(credit, order, v[p*perPair*outputs:(p+1)*perPair*outputs])
			drawn++
			for k, x := range credit { // Welford's recurrence
				deviation := x - values.Phi[k]
				values.Phi[k] += deviation / float64(drawn)
				squares[k] += deviation * (x - values.Phi[k])
			}
		}
	}
	for k, sum := range squares {
		values.StandardErrors[k] = math.Sqrt(sum / float64(pairs) / float64(pairs-1))
	}
	return values, nil
}

// coalitionsPerPair returns the number of coalitions along an order of n players and back, without ∅ and N, which all
// orders share.
func coalitionsPerPair(n int) int { return 2 * max(0, n-1) }

// walks returns for each order the coalitions P_1, N∖P_1, …, P_{n−1}, N∖P_{n−1}.
func walks(orders [][]int, n int) *Coalitions {
	s := NewCoalitions(len(orders)*coalitionsPerPair(n), n)
	i := 0
	for _, order := range orders {
		for k := range n - 1 {
			if k > 0 {
				copy(s.row(i), s.row(i-2))
			}
			s.Add(i, order[k])
			s.complement(i+1, i)
			i += 2
		}
	}
	return s
}

// creditPair sets credit, [output][player], to the credits of an order and its reverse. walk holds the values of the
// coalitions of that order as [walks] lists them.
func (v *Values) creditPair(credit []float64, order []int, walk []float64) {
	for c := range v.Outputs {
		credit := credit[c*v.Players : (c+1)*v.Players]
		end := (v.Grand[c] - v.Empty[c]) / 2 // g(n) = −g(0)
		g := -end
		for k, player := range order {
			next := end
			if k < len(order)-1 {
				next = (walk[2*k*v.Outputs+c] - walk[(2*k+1)*v.Outputs+c]) / 2
			}
			credit[player] = next - g
			g = next
		}
	}
}
