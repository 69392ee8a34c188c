package shapley

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// Panel is a set of games that a network evaluates together, each with its own players but all with the same outputs.
// The network also divides the value of every coalition among its members, approximately as Shapley values would.
type Panel interface {
	Games() int
	Outputs() int

	// Players returns the players of a game as numbers among all players of the network.
	Players(game int) []int

	// Attributions returns for each question the network's attributions, [output][player of the game]. They add up to
	// v(S) − v(∅) and are 0 for players outside S.
	Attributions(ctx context.Context, questions []Question) ([][]float64, error)
}

// Question is a coalition of a game to evaluate.
type Question struct {
	Game    int
	Members []int
}

// Refining configures Refine.
type Refining struct {
	Prior        Prior
	Budget       int     // maximum evaluations per game; 0 means 4 per player, or 64 per player with a tolerance
	Tolerance    float64 // a game is finished when no standard error of an attribution exceeds it
	Interactions bool

	// First is the number of the first game. The players of the evaluated coalitions depend only on a game's number.
	First int
}

// Default numbers of evaluations per player.
const (
	defaultPerPlayer = 4
	maxPerPlayer     = 64
)

// Refined is the result of refining a game.
type Refined struct {
	*Values
	Interactions *InteractionIndices // nil unless requested
}

// Refine improves a network's attributions of games by evaluating a few of their coalitions. The estimates are the best
// linear ones under the prior, given the values of these coalitions and the network's attributions of each. They add up
// to v(N) − v(∅). A standard error is the posterior standard deviation. It is scaled by the size of the game's answers
// relative to the prior, and by the prior's Widths.
//
// Refine evaluates all unfinished games together, stage by stage.
func Refine(ctx context.Context, panel Panel, o Refining) ([]Refined, error) {
	if err := o.Prior.Validate(); err != nil {
		return nil, err
	}
	of := map[int]*refinement{}
	open := make([]*course, panel.Games())
	for i := range open {
		who := panel.Players(i)
		n := len(who)
		if of[n] == nil {
			of[n] = newRefinement(o.Prior, n, o.budget(n), o.Interactions)
		}
		open[i] = newCourse(of[n], i, o.First+i, who, panel.Outputs())
	}
	done := make([]Refined, len(open))
	for len(open) > 0 {
		if err := step(ctx, panel, open); err != nil {
			return nil, err
		}
		var left []*course
		for _, c := range open {
			x := c.refined(o)
			if c.at == c.r.design.Len() || o.Tolerance > 0 && x.worst() <= o.Tolerance {
				done[c.game] = x
			} else {
				left = append(left, c)
			}
		}
		open = left
	}
	return done, nil
}

// budget returns the maximum evaluations of games with n players, at most the number of coalitions.
func (o Refining) budget(n int) int {
	budget := o.Budget
	switch {
	case budget > 0:
	case o.Tolerance > 0:
		budget = maxPerPlayer * n
	default:
		budget = defaultPerPlayer * n
	}
	if n <= MaxExact {
		budget = min(budget, 1<<n-1)
	}
	return max(1, budget)
}

// course is a game being refined.
type course struct {
	r     *refinement
	game  int
	who   []int        // its players
	seats []int        // the game's player on each seat of the design
	of    []*posterior // per output
	at    int          // coalitions evaluated
}

// refineStream separates the seats from other uses of random numbers.
const refineStream = 0x7365617473

func newCourse(r *refinement, game, number int, who []int, outputs int) *course {
	c := &course{r: r, game: game, who: who, seats: rand.New(rand.NewPCG(uint64(number), refineStream)).Perm(r.n)}
	for range outputs {
		c.of = append(c.of, r.start())
	}
	return c
}

// next returns the number of coalitions of the next stage: N, those without one player, single players, and then half
// as many again each time.
func (c *course) next() int {
	n, end := c.r.n, c.r.design.Len()
	switch {
	case c.at == 0:
		return 1
	case c.at < 2*n+1:
		return min(end, c.at+n)
	}
	return min(end, c.at+max(2, c.at/4*2))
}

// step advances every game to its next stage.
func step(ctx context.Context, panel Panel, open []*course) error {
	var questions []Question
	for _, c := range open {
		for s := c.at; s < c.next(); s++ {
			q := Question{Game: c.game}
			for seat := range c.r.design.Members(s) {
				q.Members = append(q.Members, c.seats[seat])
			}
			questions = append(questions, q)
		}
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("shapley: %w", err)
	}
	answers, err := panel.Attributions(ctx, questions)
	if err != nil {
		return fmt.Errorf("shapley: attributions of %d coalitions: %w", len(questions), err)
	}
	if len(answers) != len(questions) {
		return fmt.Errorf("shapley: %d answers to %d questions", len(answers), len(questions))
	}
	for _, c := range open {
		for range c.next() - c.at {
			if err := c.take(answers[0]); err != nil {
				return err
			}
			answers = answers[1:]
		}
		c.at = c.next()
	}
	return nil
}

// take adds the attributions of a coalition, [output][player].
func (c *course) take(answer []float64) error {
	n := c.r.n
	if len(answer) != n*len(c.of) {
		return fmt.Errorf("shapley: %d attributions of %d players for %d outputs", len(answer), n, len(c.of))
	}
	for output, p := range c.of {
		f := make([]float64, n)
		for seat, player := range c.seats {
			f[seat] = answer[output*n+player]
			if math.IsNaN(f[seat]) || math.IsInf(f[seat], 0) {
				return fmt.Errorf("shapley: output %d of a coalition gives a player %v", output, f[seat])
			}
		}
		p.take(f)
	}
	return nil
}

// refined returns the current estimates.
func (c *course) refined(o Refining) Refined {
	n, outputs := c.r.n, len(c.of)
	v := &Values{
		Players: n, Outputs: outputs, Phi: make([]float64, n*outputs), StandardErrors: make([]float64, n*outputs),
		Empty: make([]float64, outputs), Grand: make([]float64, outputs), Coalitions: c.at,
	}
	x := Refined{Values: v}
	width := o.Prior.width(c.at, n)
	if o.Interactions {
		x.Interactions = newInteractionIndices(n, outputs)
		x.Interactions.Coalitions = c.at
		x.Interactions.StandardErrors = make([]float64, outputs*n*n)
	}
	for output, p := range c.of {
		v.Grand[output] = p.whole
		values, errors := p.values(), p.deviations(p.phiVariance)
		for seat, player := range c.seats {
			v.Phi[output*n+player] = values[seat]
			v.StandardErrors[output*n+player] = width.Attribution * o.Prior.player(c.who[player]) * errors[seat]
		}
		if !o.Interactions {
			continue
		}
		k, errors := 0, p.deviations(p.pairVariance)
		for d := range n {
			for e := d + 1; e < n; e++ {
				a, b := c.seats[d], c.seats[e]
				wider := math.Sqrt(o.Prior.player(c.who[a]) * o.Prior.player(c.who[b]))
				for _, at := range []int{(output*n+a)*n + b, (output*n+b)*n + a} {
					x.Interactions.I[at], x.Interactions.StandardErrors[at] = p.pair[k], width.Interaction*wider*errors[k]
				}
				k++
			}
		}
	}
	return x
}

// worst returns the largest standard error of an attribution.
func (x Refined) worst() float64 {
	worst := 0.0
	for _, se := range x.StandardErrors {
		worst = max(worst, se)
	}
	return worst
}

// designSeed determines the coalitions of a design. Games differ by the assignment of their players to the design's
// seats.
const designSeed = 0x726566696e6564

// newDesign lists at most budget coalitions of n players, the most informative ones about Shapley values first. These
// are N, then all coalitions that lack one player, then all single players. Then follow pairs of a coalition and its
// complement, with sizes drawn by the Shapley kernel 1/(s(n−s)), without repetition. ∅ is not included, because a
// network's f(∅) is 0.
func newDesign(n, budget int) *Coalitions {
	list := [][]uint64{}
	words := max(1, (n+wordBits-1)/wordBits)
	seen := map[string]bool{}
	add := func(s []uint64) {
		if key := wordsKey(s); len(list) < budget && !seen[key] {
			seen[key] = true
			list = append(list, slices.Clone(s))
		}
	}
	one := NewCoalitions(2, n)
	single := func(player int) {
		clear(one.words)
		if player >= 0 {
			one.Add(0, player)
		}
		one.complement(1, 0)
	}
	single(-1)
	add(one.row(1))
	for j := range n {
		if n > 1 {
			single(j)
			add(one.row(1))
		}
	}
	for j := range n {
		single(j)
		add(one.row(0))
	}
	rng := rand.New(rand.NewPCG(designSeed, uint64(n)))
	pairs := func(s []uint64) {
		copy(one.row(0), s)
		one.complement(1, 0)
		if seen[wordsKey(s)] || len(list)+2 > budget {
			return
		}
		add(one.row(0))
		add(one.row(1))
	}
	if n <= MaxExact {
		for _, s := range kernelOrder(n, rng) {
			pairs([]uint64{s})
		}
	} else {
		weights := kernelSizes(n)
		for tries := 0; len(list)+2 <= budget && tries < 2*budget; tries++ {
			clear(one.words)
			for _, player := range rng.Perm(n)[:drawSize(weights, rng)] {
				one.Add(0, player)
			}
			pairs(slices.Clone(one.row(0)))
		}
	}
	all := NewCoalitions(len(list), n)
	for i, s := range list {
		copy(all.row(i), s[:words])
	}
	return all
}

func wordsKey(s []uint64) string {
	key := make([]byte, 0, 8*len(s))
	for _, w := range s {
		for k := 0; k < wordBits; k += 8 {
			key = append(key, byte(w>>k))
		}
	}
	return string(key)
}

// kernelSizes returns 1/(s(n−s)) for s = 2, …, n−2 at index s, and 0 elsewhere.
func kernelSizes(n int) []float64 {
	weights := make([]float64, n+1)
	for s := 2; s <= n-2; s++ {
		weights[s] = 1 / float64(s*(n-s))
	}
	return weights
}

func drawSize(weights []float64, rng *rand.Rand) int {
	total := 0.0
	for _, w := range weights {
		total += w
	}
	pick := rng.Float64() * total
	last := 0
	for s, w := range weights {
		if w == 0 {
			continue
		}
		last = s
		if pick -= w; pick < 0 {
			break
		}
	}
	return last
}

// kernelOrder returns one of each pair of complements of n players, in random order: the kernel draws them without
// replacement.
func kernelOrder(n int, rng *rand.Rand) []uint64 {
	type drawn struct {
		s    uint64
		when float64
	}
	weights := kernelSizes(n)
	var list []drawn
	for s := range uint64(1) << max(0, n-1) { // those without the last player
		if size := bits.OnesCount64(s); weights[size] > 0 {
			list = append(list, drawn{s, rng.ExpFloat64() * binomial(n, size) / weights[size]})
		}
	}
	slices.SortFunc(list, func(a, b drawn) int {
		if a.when < b.when {
			return -1
		}
		return 1
	})
	order := make([]uint64, len(list))
	for i, d := range list {
		order[i] = d.s
	}
	return order
}

// overlap returns |S∩S′|.
func overlap(s *Coalitions, i, j int) int {
	a, b := s.row(i), s.row(j)
	size := 0
	for w := range a {
		size += bits.OnesCount64(a[w] & b[w])
	}
	return size
}
