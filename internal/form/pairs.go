package form

import "slices"

// Factors is a set of channels whose products have the same factors, each of two columns.
type Factors struct {
	From, Channels int
	Learner        int     // learner of the channels
	Order          []int32 // columns, pair by pair; a column without a partner is paired with the number [Inputs.Columns], which has no effect
}

// PairLanes divides the number of channels of an order of pairs: the lanes of a vector.
const PairLanes = 16

// Parts returns the number of parts of a column's factor: its own, and those that count only together with its
// partner's.
func (c Config) Parts() int {
	if c.Pairs == nil {
		return 1
	}
	return 1 + c.PairRank
}

// PairUp pairs the columns in the given number of orders and divides the channels among the learners. If the channels
// cannot be divided evenly in multiples of PairLanes, it uses fewer orders, and then fewer learners.
func (c *Config) PairUp(orders, rank, learners int) {
	for orders > 0 && c.Channels%(orders*PairLanes) != 0 {
		orders--
	}
	c.Pairs, c.PairRank = nil, 0
	if orders > 0 && c.Inputs.Columns() > 1 {
		c.Pairs, c.PairRank = c.Inputs.Matchings(orders), rank
	}
	c.Learners = max(1, learners)
	for c.Channels%(c.Learners*PairLanes) != 0 && c.Learners > 1 || len(c.Pairs)%c.Learners != 0 {
		c.Learners--
	}
}

// LearnerCount returns the number of learners, one if Learners is 0.
func (c Config) LearnerCount() int { return max(1, c.Learners) }

// Factors lists how the columns are multiplied. Without pairs they are also multiplied two by two, which is no
// restriction.
func (c Config) Factors() []Factors {
	var list []Factors
	if c.Pairs == nil {
		channels := c.Channels / c.LearnerCount()
		for l := range c.LearnerCount() {
			list = append(list, Factors{l * channels, channels, l, c.separateGroups()})
		}
		return list
	}
	channels := c.Channels / len(c.Pairs)
	for i, order := range c.Pairs {
		f := Factors{From: i * channels, Channels: channels, Learner: i * c.LearnerCount() / len(c.Pairs)}
		for _, d := range order {
			f.Order = append(f.Order, int32(d))
		}
		list = append(list, f)
	}
	return list
}

// separateGroups returns an order of the columns in which columns of different groups are not paired.
func (c Config) separateGroups() (order []int32) {
	var single []int32
	if c.Inputs.Groups == nil {
		for d := range c.Inputs.Columns() {
			single = append(single, int32(d))
		}
	}
	even := func() {
		if len(order)%2 == 1 {
			order = append(order, int32(c.Inputs.Columns()))
		}
	}
	for _, columns := range c.Inputs.Groups {
		if len(columns) == 1 {
			single = append(single, int32(columns[0]))
			continue
		}
		for _, d := range columns {
			order = append(order, int32(d))
		}
		even()
	}
	order = append(order, single...)
	even()
	return order
}

// PlayerFactor is the product of the columns of some players. There are one or two, unless groups were declared after
// the columns were paired.
type PlayerFactor struct {
	Players []int
	Pairs   []Pair
}

// Pair is a pair of columns.
type Pair struct {
	At int    // index among the pairs of an order
	Of [2]int // which of the factor's players each column belongs to, or −1 if there is no such column
}

// PlayerFactors divides the pairs of columns among factors of players. No player may be in two factors, otherwise its
// contribution would not be linear in its presence. If players are columns, factors are in the order of the pairs.
func (c Config) PlayerFactors(f Factors) []PlayerFactor {
	of := append(c.Inputs.PlayerOf(), -1)
	joined := make([]int, c.Inputs.Players()) // another player of the same factor, or itself
	for p := range joined {
		joined[p] = p
	}
	first := func(p int) int {
		for joined[p] != p {
			p = joined[p]
		}
		return p
	}
	for i := 0; i < len(f.Order); i += 2 {
		if a, b := of[f.Order[i]], of[f.Order[i+1]]; b >= 0 {
			joined[first(b)] = first(a)
		}
	}
	var list []PlayerFactor
	at := map[int]int{} // factor of each first player
	for i := 0; i < len(f.Order); i += 2 {
		player := first(of[f.Order[i]])
		if _, is := at[player]; !is {
			at[player] = len(list)
			list = append(list, PlayerFactor{})
		}
		pair, factor := Pair{At: i / 2}, &list[at[player]]
		for n := range pair.Of {
			pair.Of[n] = factor.place(of[f.Order[i+n]])
		}
		factor.Pairs = append(factor.Pairs, pair)
	}
	return list
}

// place returns the index of a player in the factor, to which it is added if necessary.
func (f *PlayerFactor) place(player int) int {
	if player < 0 {
		return -1
	}
	at := slices.Index(f.Players, player)
	if at < 0 {
		at = len(f.Players)
		f.Players = append(f.Players, player)
	}
	return at
}

// MaxJoined is the maximum number of players of a factor: the factor is computed for each of their coalitions.
const MaxJoined = 12

// Joined returns the maximum number of players of a factor. With more than two it is not a quadratic polynomial.
func (c Config) Joined() (largest int) {
	if c.Head != Exact || c.Form != Product {
		return 0
	}
	for _, f := range c.Factors() {
		for _, of := range c.PlayerFactors(f) {
			largest = max(largest, len(of.Players))
		}
	}
	return largest
}

// arePairs reports whether an order contains every one of n columns once, in pairs.
func arePairs(order []int, n int) bool {
	var columns []int
	for i, d := range order {
		if d != n || i%2 == 0 {
			columns = append(columns, d)
		}
	}
	return len(order)%2 == 0 && isPermutation(columns, n)
}

// Tournament returns rounds in which every one of n columns meets every other exactly once: n − 1 rounds, or n if n is
// odd. If n is odd, one column is left over in each round, and comes last. (The circle method: one position is fixed,
// the others rotate.)
func Tournament(n int) [][]int {
	even := n + n%2
	rounds := make([][]int, even-1)
	for r := range rounds {
		at := func(place int) int { // column at a position of the circle
			if place == 0 {
				return even - 1
			}
			return (r + place) % (even - 1)
		}
		last := -1
		for i := range even / 2 {
			a, b := at(i), at(even-1-i)
			switch {
			case a >= n:
				last = b
			case b >= n:
				last = a
			default:
				rounds[r] = append(rounds[r], a, b)
			}
		}
		if last >= 0 {
			rounds[r] = append(rounds[r], last)
		}
	}
	return rounds
}

// Matchings returns n orders of the columns. If n suffices, every two players are neighbours in one of them, else as
// many as possible: the rounds of a tournament, evenly spaced. When two groups meet, their columns are paired one by
// one, and the rest of a group with itself.
func (in Inputs) Matchings(n int) [][]int {
	players := in.Groups
	if players == nil {
		for d := range in.Columns() {
			players = append(players, []int{d})
		}
	}
	rounds := Tournament(len(players))
	list := make([][]int, n)
	for i := range list {
		round := rounds[i%len(rounds)]
		if n < len(rounds) {
			round = rounds[i*len(rounds)/n]
		}
		for k := 0; k < len(round); k += 2 {
			a := players[round[k]]
			var b []int
			if k+1 < len(round) {
				b = players[round[k+1]]
			}
			m := min(len(a), len(b))
			for j := range m {
				list[i] = append(list[i], a[j], b[j])
			}
			for _, rest := range [][]int{a[m:], b[m:]} {
				list[i] = append(list[i], rest...)
				if len(rest)%2 == 1 {
					list[i] = append(list[i], in.Columns())
				}
			}
		}
	}
	return list
}
