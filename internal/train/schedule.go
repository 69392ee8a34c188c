package train

import "math"

// oneCycle returns the learning rate at step i of n: up from top/25 over the first tenth, then down to top/2500, both
// by half a cosine.
func oneCycle(i, n int, top float64) float64 {
	low, end := top/25, top/2500
	rise := 0.1 * float64(n)
	if x := float64(i); x < rise {
		return cosine(low, top, x/rise)
	}
	return cosine(top, end, (float64(i)-rise)/math.Max(1, float64(n-1)-rise))
}

func cosine(from, to, f float64) float64 { return to + (from-to)*(1+math.Cos(math.Pi*f))/2 }

// keep returns the decay of the moving average at step i: small at first, so that the average soon forgets the random
// initial weights.
func keep(i int, decay float64) float64 { return min(decay, float64(i+1)/float64(i+11)) }
