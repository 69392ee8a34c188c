package shapley_test

import (
	"context"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/psi-shapley/psi/shapley"
)

// panel is games of which the network's attributions are tabulated, [coalition][player]; it counts
// what it is asked.
type panel struct {
	games [][]shapley.Enumerated // [game][output]
	asked []int
}

func newPanel(games ...[]shapley.Enumerated) *panel {
	return &panel{games: games, asked: make([]int, len(games))}
}

func (p *panel) Games() int   { return len(p.games) }
func (p *panel) Outputs() int { return len(p.games[0]) }

func (p *panel) Players(game int) []int {
	who := make([]int, p.games[game][0].Players)
	for player := range who {
		who[player] = player
	}
	return who
}

func (p *panel) Attributions(_ context.Context, questions []shapley.Question) ([][]float64, error) {
	var answers [][]float64
	for _, q := range questions {
		p.asked[q.Game]++
		s := 0
		for _, member := range q.Members {
			s |= 1 << member
		}
		var answer []float64
		for _, g := range p.games[q.Game] {
			answer = append(answer, g.F[s*g.Players:(s+1)*g.Players]...)
		}
		answers = append(answers, answer)
	}
	return answers, nil
}

// game is the game behind the attributions, for the methods that know nothing of them.
func game(outputs []shapley.Enumerated) table {
	n := outputs[0].Players
	return tabulate(n, len(outputs), func(s uint, output int) float64 {
		v := 0.0
		for d := range n {
			v += outputs[output].F[int(s)*n+d]
		}
		return v
	})
}

// drawn is a game and a network's attributions as the prior has them.
func drawn(n int, p shapley.Prior, rng *rand.Rand) shapley.Enumerated {
	g := shapley.Enumerated{Players: n, F: make([]float64, n<<n)}
	for T := uint(1); T < 1<<n; T++ {
		k := bits.OnesCount(T)
		if k > len(p.Shared) {
			continue
		}
		l := rng.NormFloat64() * math.Sqrt(p.Shared[k-1])
		for s := range uint(1) << n {
			for d := range n {
				if T&s>>d&1 == 1 {
					g.F[int(s)*n+d] += l / float64(bits.OnesCount(T&s))
				}
			}
		}
	}
	errors := make([][]float64, n) // of each player, with correlation Steady^|SΔS′|
	for d := range errors {
		errors[d] = make([]float64, 1<<n)
		for T := range errors[d] {
			k := bits.OnesCount(uint(T))
			errors[d][T] = rng.NormFloat64() * math.Sqrt(math.Pow((1-p.Steady)/2, float64(k))*math.Pow((1+p.Steady)/2, float64(n-k)))
		}
		for j := range n { // Σ_T (−1)^|T∩S|
			for s := range errors[d] {
				if s>>j&1 == 1 {
					a, b := errors[d][s^1<<j], errors[d][s]
					errors[d][s^1<<j], errors[d][s] = a+b, a-b
				}
			}
		}
	}
	for s := 1; s < 1<<n; s++ {
		size, mean := bits.OnesCount(uint(s)), 0.0
		for d := range n {
			mean += errors[d][s] * float64(s>>d&1) / float64(size)
		}
		for d := range n {
			if s>>d&1 == 1 {
				g.F[s*n+d] += math.Sqrt(p.Own[min(size, len(p.Own))-1]) * (errors[d][s] - mean)
			}
		}
	}
	return g
}

var somePrior = shapley.Prior{Shared: []float64{1, 0.1, 0.01, 0.001}, Own: []float64{0, 0.05, 0.02, 0.04}, Steady: 0.8}

func refine(t *testing.T, p *panel, o shapley.Refining) []shapley.Refined {
	t.Helper()
	found, err := shapley.Refine(t.Context(), p, o)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// All coalitions leave nothing open, whatever the network says of them.
func TestRefinedFromAllCoalitionsIsExact(t *testing.T) {
	rng := newRand(t)
	for n := range 8 {
		outputs := []shapley.Enumerated{{Players: n}, {Players: n}}
		for c := range outputs {
			outputs[c].F = make([]float64, n<<n)
			for at := range outputs[c].F {
				if s := at / max(1, n); s>>(at%max(1, n))&1 == 1 {
					outputs[c].F[at] = rng.NormFloat64()
				}
			}
		}
		x := refine(t, newPanel(outputs), shapley.Refining{Prior: somePrior, Budget: 1 << n, Interactions: true})[0]
		want, pairs := exact(t, game(outputs)), interactions(t, game(outputs))
		for k, phi := range want.Phi {
			if math.Abs(x.Phi[k]-phi) > 1e-12 || x.StandardErrors[k] != 0 {
				t.Errorf("%d players: φ is %g, want %g ± %g", n, x.Phi[k], phi, x.StandardErrors[k])
			}
		}
		for k, i := range pairs.I {
			if math.Abs(x.Interactions.I[k]-i) > 1e-12 || x.Interactions.StandardErrors[k] != 0 {
				t.Errorf("%d players: an interaction is %g, want %g", n, x.Interactions.I[k], i)
			}
		}
	}
}

// Divide is what Exact finds.
func TestDivideIsExact(t *testing.T) {
	rng := newRand(t)
	outputs := []shapley.Enumerated{drawn(6, somePrior, rng), drawn(6, somePrior, rng)}
	got, want := shapley.Divide(outputs), exact(t, game(outputs))
	for k, phi := range want.Phi {
		near(t, "φ", got.Phi[k], phi)
	}
	for c := range outputs {
		near(t, "v(N)", got.Grand[c], want.Grand[c])
	}
}

// Estimates add up to v(N) after any number of evaluations, and no more are made than allowed.
func TestRefinedAddsUpWithinItsBudget(t *testing.T) {
	rng := newRand(t)
	for budget := 1; budget < 130; budget += 1 + budget/4 {
		outputs := []shapley.Enumerated{drawn(7, somePrior, rng), drawn(7, somePrior, rng)}
		p := newPanel(outputs)
		x := refine(t, p, shapley.Refining{Prior: somePrior, Budget: budget})[0]
		if p.asked[0] > budget || x.Coalitions != p.asked[0] || p.asked[0] < budget-1 && p.asked[0] < 127 {
			t.Errorf("budget %d: %d evaluations, said to be %d", budget, p.asked[0], x.Coalitions)
		}
		for c := range outputs {
			sum := 0.0
			for _, phi := range x.Of(c) {
				sum += phi
			}
			near(t, "Σφ − v(N)", sum-x.Grand[c], 0)
		}
	}
}

// Of games that are as the prior says, nine in ten lie within 1.645 standard errors, and the
// root mean square error is a standard error.
func TestRefinedStandardErrorsCover(t *testing.T) {
	rng := fixedRand(t, 7)
	const n, count = 7, 400
	p := newPanel()
	for range count {
		p.games = append(p.games, []shapley.Enumerated{drawn(n, somePrior, rng)})
	}
	p.asked = make([]int, count)
	for _, budget := range []int{1, n + 1, 2*n + 1, 4 * n, 8 * n} {
		var phi, pairs []float64 // errors in standard errors
		for i, x := range refine(t, p, shapley.Refining{Prior: somePrior, Budget: budget, Interactions: true}) {
			want, ofPairs := exact(t, game(p.games[i])), interactions(t, game(p.games[i]))
			for d := range n {
				phi = append(phi, (x.At(0, d)-want.At(0, d))/x.StandardError(0, d))
				for e := range d {
					pairs = append(pairs, (x.Interactions.At(0, d, e)-ofPairs.At(0, d, e))/x.Interactions.StandardError(0, d, e))
				}
			}
		}
		for what, list := range map[string][]float64{"attributions": phi, "interactions": pairs} {
			within, squares := 0.0, 0.0
			for _, z := range list {
				squares += z * z / float64(len(list))
				if math.Abs(z) <= 1.645 {
					within += 1 / float64(len(list))
				}
			}
			t.Logf("budget %d: %s %.3f within 1.645, %.3f root mean square", budget, what, within, math.Sqrt(squares))
			if math.Abs(within-0.9) > 0.03 || math.Abs(math.Sqrt(squares)-1) > 0.08 {
				t.Errorf("budget %d: %.3f of the %s within 1.645 standard errors, %.3f root mean square", budget, within, what, math.Sqrt(squares))
			}
		}
	}
}

// A network that divides values as Shapley does leaves no doubt after one evaluation.
func TestPerfectNetworkNeedsNoMore(t *testing.T) {
	rng := newRand(t)
	p := somePrior
	p.Own = make([]float64, len(p.Shared))
	g := []shapley.Enumerated{drawn(6, p, rng)}
	x := refine(t, newPanel(g), shapley.Refining{Prior: p, Budget: 1})[0]
	for d, phi := range exact(t, game(g)).Phi {
		if math.Abs(x.Phi[d]-phi) > 1e-4 || x.StandardErrors[d] > 1e-3 {
			t.Errorf("φ is %g ± %g, want %g", x.Phi[d], x.StandardErrors[d], phi)
		}
	}
}

// More evaluations help, and fewer are needed than by sampling.
func TestRefinedIsNearerThanSampling(t *testing.T) {
	rng := fixedRand(t, 3)
	const n, count = 8, 60
	last := math.Inf(1)
	for _, pairs := range []int{2, 4, 8} {
		p := newPanel()
		for range count {
			p.games = append(p.games, []shapley.Enumerated{drawn(n, somePrior, rng)})
		}
		p.asked = make([]int, count)
		budget := 2 + 2*pairs*(n-1)
		var sampled, refined float64
		for i, x := range refine(t, p, shapley.Refining{Prior: somePrior, Budget: budget}) {
			want, other := exact(t, game(p.games[i])), permutation(t, game(p.games[i]), pairs, rng)
			for d := range n {
				refined += math.Pow(x.At(0, d)-want.At(0, d), 2)
				sampled += math.Pow(other.At(0, d)-want.At(0, d), 2)
			}
		}
		t.Logf("%d evaluations: error %.4f, of sampled orders %.4f", budget, math.Sqrt(refined/n/count), math.Sqrt(sampled/n/count))
		if refined > sampled/3 || refined > last {
			t.Errorf("%d evaluations: squared error %g, by sampled orders %g, by fewer evaluations %g", budget, refined, sampled, last)
		}
		last = refined
	}
}

// A game is done when its standard errors are small enough, and its numbers are its own: they do
// not depend on the games beside it.
func TestRefineStopsAtItsTolerance(t *testing.T) {
	rng := newRand(t)
	p := newPanel()
	for range 6 {
		p.games = append(p.games, []shapley.Enumerated{drawn(8, somePrior, rng)})
	}
	p.asked = make([]int, len(p.games))
	for _, tolerance := range []float64{0.3, 0.1, 0.03} {
		o := shapley.Refining{Prior: somePrior, Tolerance: tolerance, First: 40}
		together := refine(t, p, o)
		for i, x := range together {
			if worst := slices.Max(x.StandardErrors); worst > tolerance && x.Coalitions < 255 {
				t.Errorf("a standard error of %g is left after %d evaluations, above %g", worst, x.Coalitions, tolerance)
			}
			o.First = 40 + i
			alone := refine(t, newPanel(p.games[i]), o)[0]
			if !slices.Equal(alone.Phi, x.Phi) || alone.Coalitions != x.Coalitions {
				t.Errorf("game %d: %v alone, %v with others", i, alone.Phi, x.Phi)
			}
		}
		if tolerance == 0.3 && together[0].Coalitions >= 64 {
			t.Errorf("%d evaluations for a tolerance of %g", together[0].Coalitions, tolerance)
		}
	}
}

// What games were drawn by is found again from them, and their standard errors need no width.
func TestPriorIsLearned(t *testing.T) {
	rng := fixedRand(t, 1)
	var m shapley.Moments
	var games []shapley.Enumerated
	for range 300 {
		games = append(games, drawn(6, somePrior, rng))
		m.Add(games[len(games)-1])
	}
	p := m.Prior()
	for k, got := range p.Shared {
		want := 0.0
		if k < len(somePrior.Shared) {
			want = somePrior.Shared[k]
		}
		if math.Abs(got-want) > 0.15*want {
			t.Errorf("E l_T² is %g for %d players, drawn by %g", got, k+1, want)
		}
	}
	for k, got := range p.Own {
		if want := somePrior.Own[min(k, len(somePrior.Own)-1)]; math.Abs(got-want) > 0.15*want {
			t.Errorf("errors of %d players have variance %g, drawn by %g", k+1, got, want)
		}
	}
	if math.Abs(p.Steady-somePrior.Steady) > 0.1 {
		t.Errorf("steady is %g, drawn by %g", p.Steady, somePrior.Steady)
	}
	for _, w := range p.Calibrate(games).Widths {
		if math.Abs(w.Attribution-1) > 0.15 || math.Abs(w.Interaction-1) > 0.15 {
			t.Errorf("widths %+v of standard errors that are right", w)
		}
	}
	// A prior that thinks too well of the network is widened.
	narrow := shapley.Prior{Shared: p.Shared, Own: make([]float64, len(p.Own)), Steady: p.Steady}
	for k, own := range p.Own {
		narrow.Own[k] = own / 100
	}
	if w := narrow.Calibrate(games).Widths[0]; w.Attribution < 3 {
		t.Errorf("width %+v, of standard errors that are far too small", w)
	}
}

// A player whose errors are larger than the others' has wider standard errors, and so all hold.
func TestPlayersHaveTheirOwnWidths(t *testing.T) {
	rng := fixedRand(t, 2)
	const n = 6
	var m shapley.Moments
	var games []shapley.Enumerated
	for range 300 {
		g := drawn(n, somePrior, rng)
		swap := rng.NormFloat64()
		for s := range 1 << n { // the network takes from one of two players what it gives to the other
			if s&3 == 3 {
				g.F[s*n] += swap
				g.F[s*n+1] -= swap
			}
		}
		games = append(games, g)
		m.Add(g)
	}
	p := m.Prior().Calibrate(games[:150])
	if len(p.Players) != n || min(p.Players[0], p.Players[1]) < 1.05*slices.Max(p.Players[2:]) {
		t.Fatalf("widths of players %v", p.Players)
	}
	within := make([]float64, n)
	for _, g := range games[150:] {
		x := refine(t, newPanel([]shapley.Enumerated{g}), shapley.Refining{Prior: p, First: rng.IntN(1000)})[0]
		for d, phi := range exact(t, game([]shapley.Enumerated{g})).Phi {
			if math.Abs(x.Phi[d]-phi) <= 1.645*x.StandardErrors[d] {
				within[d] += 1.0 / 150
			}
		}
	}
	if t.Logf("within: %.2f", within); slices.Min(within) < 0.8 || slices.Max(within) > 0.99 {
		t.Errorf("within 1.645 standard errors: %.3f of each player", within)
	}
}

func TestRefineRefuses(t *testing.T) {
	for _, p := range []shapley.Prior{
		{},
		{Shared: []float64{1}, Own: []float64{1}, Steady: 1.5},
		{Shared: []float64{-1}, Own: []float64{0}},
		{Shared: []float64{1}, Own: []float64{math.NaN()}},
		{Shared: []float64{1}, Own: []float64{0}, Widths: []shapley.Width{{1, 1, 1}, {1, 1, 1}}},
	} {
		if _, err := shapley.Refine(t.Context(), newPanel(), shapley.Refining{Prior: p}); err == nil {
			t.Errorf("no error of prior %+v", p)
		}
	}
	bad := []shapley.Enumerated{{Players: 1, F: []float64{0, math.NaN()}}}
	if _, err := shapley.Refine(t.Context(), newPanel(bad), shapley.Refining{Prior: somePrior}); err == nil {
		t.Error("no error of an attribution that is no number")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := shapley.Refine(ctx, newPanel([]shapley.Enumerated{drawn(3, somePrior, newRand(t))}), shapley.Refining{Prior: somePrior}); err == nil {
		t.Error("no error of a context that is done")
	}
}
