package explain

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

func pTop(mean, std []float64, k int) []float64 {
	return slices.Clone(newTop(k).probabilities(mean, std, slices.Repeat([]bool{true}, len(mean))))
}

func wantTop(t *testing.T, what string, got, want []float64, tolerance float64) {
	t.Helper()
	for d := range want {
		if !(math.Abs(got[d]-want[d]) <= tolerance) {
			t.Errorf("%s: p_top = %.9v, want %.9v", what, got, want)
			return
		}
	}
}

func TestTopOfTwo(t *testing.T) {
	phi := distuv.UnitNormal.CDF
	for _, m := range [][]float64{{1, 0}, {1, -2}, {0.3, 0.3}, {5, 4}, {-7, 1e-3}} {
		for _, s := range []float64{1e-6, 0.1, 1, 50} {
			// |X| > |Y| where (X−Y)(X+Y) > 0, which are independent at equal std.
			minus, plus := (m[0]-m[1])/(s*math.Sqrt2), (m[0]+m[1])/(s*math.Sqrt2)
			p := phi(minus)*phi(plus) + phi(-minus)*phi(-plus)
			wantTop(t, fmt.Sprint(m, s), pTop(m, []float64{s, s}, 1), []float64{p, 1 - p}, 1e-8)
		}
	}
	for _, ratio := range []float64{1, 2, 1e3, 1e9} {
		p := 2 / math.Pi * math.Atan(ratio)
		wantTop(t, fmt.Sprint(ratio), pTop([]float64{0, 0}, []float64{ratio, 1}, 1), []float64{p, 1 - p}, 1e-8)
	}
}

func TestTopOfOnePointAndOneNormal(t *testing.T) {
	for _, c := range [][3]float64{{1, 1, 1}, {0.2, -3, 2}, {4, 1, 0.5}, {1, 1, 1e-9}, {0, 1, 1}} {
		point, normal := c[0], distuv.Normal{Mu: c[1], Sigma: c[2]}
		p := normal.CDF(point) - normal.CDF(-point)
		wantTop(t, fmt.Sprint(c), pTop([]float64{point, c[1]}, []float64{0, c[2]}, 1), []float64{p, 1 - p}, 1e-8)
	}
}

func TestTopOfEquals(t *testing.T) {
	for n := 1; n <= 9; n++ {
		for k := 1; k <= n+1; k++ {
			for _, std := range []float64{0, 1e-14, 1e-9, 0.3, 20} {
				mean := slices.Repeat([]float64{1, -1}, n)[:n]
				want := slices.Repeat([]float64{min(1, float64(k)/float64(n))}, n)
				wantTop(t, fmt.Sprint(n, k, std), pTop(mean, slices.Repeat([]float64{std}, n), k), want, 2e-7)
			}
		}
	}
}

func TestTopOfPointsIsTheirOrder(t *testing.T) {
	mean, still := []float64{0.5, -3, 0, 2, -2}, make([]float64, 5)
	wantTop(t, "first", pTop(mean, still, 1), []float64{0, 1, 0, 0, 0}, 0)
	wantTop(t, "two share the second place", pTop(mean, still, 2), []float64{0, 1, 0, 0.5, 0.5}, 0)
	wantTop(t, "three", pTop(mean, still, 3), []float64{0, 1, 0, 1, 1}, 0)
	wantTop(t, "nothing but dummies", pTop(still, still, 2), []float64{0.4, 0.4, 0.4, 0.4, 0.4}, 1e-15)
}

// Only the ratios of a row's numbers matter, down to the smallest and up to the
// largest there are.
func TestTopHasNoUnit(t *testing.T) {
	mean, std := []float64{1, -2, 0.5, 3}, []float64{0.5, 1, 2, 0}
	want := pTop(mean, std, 2)
	for _, unit := range []float64{1e-300, 1e-12, 1e100, 5e307} {
		scaled := func(values []float64) []float64 {
			list := slices.Clone(values)
			for i := range list {
				list[i] *= unit
			}
			return list
		}
		wantTop(t, fmt.Sprint(unit), pTop(scaled(mean), scaled(std), 2), want, 1e-9)
	}
	wantTop(t, "beside a denormal", pTop([]float64{1, 0, 0}, []float64{1, 5e-324, 0}, 2), []float64{1, 0.5, 0.5}, 1e-9)
}

func TestTopOfWhatIsNotFinite(t *testing.T) {
	got := newTop(1).probabilities([]float64{1, math.NaN(), 0}, []float64{1, 1, 0}, []bool{true, true, false})
	if !math.IsNaN(got[0]) || !math.IsNaN(got[1]) || got[2] != 0 {
		t.Errorf("p_top = %v, want NaN, NaN, 0", got)
	}
	if got := pTop([]float64{1, 2, 3}, []float64{1, math.Inf(1), 0}, 1); !math.IsNaN(got[0]) {
		t.Errorf("p_top = %v beside an infinite std, want NaN", got)
	}
}

// naiveTop integrates over φ_d by Simpson's rule, on either side of the kink of |φ_d|, and goes through all sets of
// others that may exceed it.
func naiveTop(mean, std []float64, k, d int) float64 {
	const far = 9.0
	exceed := make([]float64, len(mean))
	integrand := func(z float64) float64 {
		height := math.Abs(mean[d] + std[d]*z)
		for j := range exceed {
			normal := distuv.Normal{Mu: mean[j], Sigma: std[j]}
			exceed[j] = normal.Survival(height) + normal.CDF(-height)
		}
		fewer := 0.0
		for set := range uint(1) << len(mean) {
			if set>>d&1 == 1 || bits.OnesCount(set) >= k {
				continue
			}
			product := 1.0
			for j, q := range exceed {
				switch {
				case j == d:
				case set>>j&1 == 1:
					product *= q
				default:
					product *= 1 - q
				}
			}
			fewer += product
		}
		return fewer * distuv.UnitNormal.Prob(z)
	}
	kink := max(-far, min(-mean[d]/std[d], far))
	return simpson(-far, kink, integrand) + simpson(kink, far, integrand)
}

func simpson(from, to float64, f func(float64) float64) float64 {
	const panels = 5_000
	sum, width := f(from)-f(to), (to-from)/panels
	for i := range panels {
		left := from + width*float64(i)
		sum += 4*f(left+width/2) + 2*f(left+width)
	}
	return sum * width / 6
}

func TestTopIsTheNaiveIntegral(t *testing.T) {
	rng := newRand(t)
	for range 12 {
		n := 3 + rng.IntN(3)
		k := 1 + rng.IntN(n-1)
		mean, std := make([]float64, n), make([]float64, n)
		for d := range n {
			mean[d] = rng.NormFloat64()
			std[d] = math.Exp(rng.NormFloat64() - 1)
		}
		want := make([]float64, n)
		for d := range n {
			want[d] = naiveTop(mean, std, k, d)
		}
		wantTop(t, fmt.Sprintf("k = %d, mean %v, std %v", k, mean, std), pTop(mean, std, k), want, 1e-7)
	}
}

// drawRow is a row of n players as kinds of models make them.
func drawRow(rng *rand.Rand, kind string, n int) (mean, std []float64) {
	for range n {
		m, s := rng.NormFloat64(), 1.0
		switch kind {
		case "alike":
			m = 1
		case "equal std":
		case "any std":
			s = math.Exp(rng.NormFloat64())
		case "model":
			m *= math.Exp(rng.NormFloat64())
			s = 0.2 * rng.Float64() * math.Abs(m)
		case "wild":
			s = math.Exp(-25 * rng.Float64())
		case "points":
			s = float64(rng.IntN(2))
			m = math.Round(2 * m)
		}
		mean, std = append(mean, m), append(std, s)
	}
	return mean, std
}

func kinds() []string { return []string{"alike", "equal std", "any std", "model", "wild", "points"} }

func TestTopIsWhatDrawsShow(t *testing.T) {
	rng := fixedRand(t, 1)
	const draws = 40_000
	for _, kind := range kinds() {
		for _, n := range []int{3, 10} {
			k := 1 + rng.IntN(3)
			mean, std := drawRow(rng, kind, n)
			count, size, order := make([]float64, n), make([]float64, n), make([]int, n)
			for range draws {
				for d := range n {
					size[d] = math.Abs(mean[d] + std[d]*rng.NormFloat64())
					order[d] = d
				}
				rng.Shuffle(n, func(i, j int) { order[i], order[j] = order[j], order[i] }) // ties are shared
				slices.SortStableFunc(order, func(i, j int) int { return larger(size[i], size[j]) })
				for _, d := range order[:min(k, n)] {
					count[d]++
				}
			}
			for d, p := range pTop(mean, std, k) {
				share := count[d] / draws
				if allowed := 5*math.Sqrt(p*(1-p)/draws) + 1e-4; math.Abs(p-share) > allowed {
					t.Errorf("%s, k = %d: p_top of %d is %.5f, but %.5f of draws; mean %v, std %v", kind, k, d, p, share, mean, std)
				}
			}
		}
	}
}

// P(top k) against a million draws, fewer unless PSI_SLOW is set, at up to 100 players: to within .002.
func TestTopAgainstAMillionDraws(t *testing.T) {
	rng := fixedRand(t, 2)
	draws := 30_000
	if os.Getenv("PSI_SLOW") != "" {
		draws = 1_000_000
	}
	for _, c := range []struct {
		kind string
		n, k int
	}{{"model", 12, 3}, {"any std", 12, 1}, {"equal std", 30, 5}, {"model", 100, 3}, {"any std", 100, 10}} {
		mean, std := drawRow(rng, c.kind, c.n)
		count, size := make([]int, c.n), make([]float64, c.n)
		sorted := make([]float64, c.n)
		for range draws {
			for d := range c.n {
				size[d] = math.Abs(mean[d] + std[d]*rng.NormFloat64())
			}
			copy(sorted, size)
			slices.Sort(sorted)
			for d, last := 0, sorted[c.n-c.k]; d < c.n; d++ {
				if size[d] >= last {
					count[d]++
				}
			}
		}
		worst := 0.0
		for d, p := range pTop(mean, std, c.k) {
			worst = max(worst, math.Abs(p-float64(count[d])/float64(draws)))
		}
		t.Logf("%s, %d players, top %d: at most %.5f from %d draws", c.kind, c.n, c.k, worst, draws)
		if allowed := .002 * math.Sqrt(1e6/float64(draws)); worst > allowed {
			t.Errorf("%s, %d players, top %d: %.5f from the draws, more than %.4f", c.kind, c.n, c.k, worst, allowed)
		}
	}
}

// As many players as there are places are in the top: Σ_d p_d = min(k, n).
func TestTopAddsUp(t *testing.T) {
	rng := newRand(t)
	for _, kind := range kinds() {
		for range 100 {
			n, k := 1+rng.IntN(15), 1+rng.IntN(5)
			mean, std := drawRow(rng, kind, n)
			sum := 0.0
			for _, p := range pTop(mean, std, k) {
				if p < 0 || p > 1 {
					t.Errorf("%s: p_top = %v", kind, p)
				}
				sum += p
			}
			if want := float64(min(k, n)); math.Abs(sum-want) > 2e-6 {
				t.Errorf("%s, k = %d: Σ p_top = %.9f, want %v; mean %v, std %v", kind, k, sum, want, mean, std)
			}
		}
	}
}

// More nodes change nothing that shows.
func TestTopConverges(t *testing.T) {
	rng := newRand(t)
	for _, c := range []struct {
		n, rows   int
		tolerance float64
	}{{4, 50, 1e-8}, {12, 50, 1e-6}, {60, 10, 3e-5}, {1000, 1, 3e-4}} {
		fine := newTop(3)
		fine.rules = [panelWidth]rule{newRule(60), newRule(60), newRule(60)}
		observed := slices.Repeat([]bool{true}, c.n)
		for _, kind := range kinds() {
			for range c.rows {
				mean, std := drawRow(rng, kind, c.n)
				got, want := pTop(mean, std, 3), fine.probabilities(mean, std, observed)
				for d := range want {
					if math.Abs(got[d]-want[d]) > c.tolerance {
						t.Errorf("%s, %d players: p_top %.9f, converged %.9f", kind, c.n, got[d], want[d])
					}
				}
			}
		}
	}
}

func BenchmarkTop(b *testing.B) {
	for _, kind := range []string{"model", "any std", "alike"} {
		for _, n := range []int{8, 12, 60, 100} {
			b.Run(fmt.Sprintf("%s/n=%d", kind, n), func(b *testing.B) {
				rng := rand.New(rand.NewPCG(1, 0))
				const rows = 100
				var means, stds [rows][]float64
				for row := range rows {
					means[row], stds[row] = drawRow(rng, kind, n)
				}
				top, observed := newTop(3), slices.Repeat([]bool{true}, n)
				b.ReportAllocs()
				row := 0
				for b.Loop() {
					top.probabilities(means[row%rows], stds[row%rows], observed)
					row++
				}
			})
		}
	}
}
