package shapley_test

import (
	"fmt"
	"testing"

	"github.com/psi-shapley/psi/shapley"
)

// The game is nearly free, so that the times are those of the solvers.

func BenchmarkExact(b *testing.B) {
	for _, n := range []int{12, 16} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := shapley.Exact(b.Context(), make(product, n)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkInteractions(b *testing.B) {
	for b.Loop() {
		if _, err := shapley.Interactions(b.Context(), make(product, 12)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPermutation(b *testing.B) {
	rng := fixedRand(b, 1)
	for b.Loop() {
		if _, err := shapley.Permutation(b.Context(), make(product, 1000), 2, rng); err != nil {
			b.Fatal(err)
		}
	}
}
