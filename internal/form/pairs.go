package form

import "slices"

// Factors are channels whose products have the same factors, each of two columns.
type Factors struct {
	From, Channels int
	Learner        int     // whose channels they are
	Order          []int32 // the columns, pair by pair. A column without a partner has that of number [Inputs.Columns], which does nothing
}

// PairLanes is what the channels of an order of pairs are a multiple of: those of a vector.
const PairLanes = 16

// Parts is the number of parts of a column's factor: one that it has alone, and those that only count together with its partner's.
func (c Config) Parts() int {
	if c.Pairs == nil {
		return 1
	}
	return 1 + c.PairRank
}

// PairUp pairs the columns in the given number of orders and divides the channels among the given number of learners. Where the
// channels cannot be divided evenly, by multiples of PairLanes, it takes fewer orders, and then fewer learners.
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

// LearnerCount is the number of learners, which is one if Learners is 0.
func (c Config) LearnerCount() int { return max(1, c.Learners) }

// Factors lists how the columns are multiplied. Without pairs it is two by two as well, which is no restriction.
func (c Config) Factors() []Factors {
	var list []Factors
	if c.Pairs == nil {
		channels := c.Channels / c.LearnerCount()
		for l := range c.LearnerCount() {
			list = append(list, Factors{l * channels, channels, l, c.apart()})
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

// apart is an order of the columns in which no column of a group is beside one of another.
func (c Config) apart() (order []int32) {
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

// PlayerFactor is what the columns of some players multiply to: of one or two, unless groups were declared after the columns were
// paired.
type PlayerFactor struct {
	Players []int
	Pairs   []Pair
}

// Pair is a pair of columns.
type Pair struct {
	At int    // its place among the pairs of an order
	Of [2]int // which of the factor's players each of the columns belongs to, or −1 if there is no such column
}

// PlayerFactors divides the pairs of columns among factors of players: no player may be in two of these, or what it contributes would
// not be linear in its presence. Where players are columns, factors are in the order of the pairs.
func (c Config) PlayerFactors(f Factors) []PlayerFactor {
	of := append(c.Inputs.PlayerOf(), -1)
	joined := make([]int, c.Inputs.Players()) // a player of the same factor, or itself
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

// place is that of a player in the factor, which it becomes part of.
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

// MaxJoined is the number of players that a factor may have: what they multiply to is found for each of their coalitions.
const MaxJoined = 12

// Joined is the most players of a factor. With more than two there is no quadratic for it.
func (c Config) Joined() (most int) {
	if c.Head != Exact || c.Form != Product {
		return 0
	}
	for _, f := range c.Factors() {
		for _, of := range c.PlayerFactors(f) {
			most = max(most, len(of.Players))
		}
	}
	return most
}

// arePairs says whether an order has every one of n columns once, and pairs of them.
func arePairs(order []int, n int) bool {
	var columns []int
	for i, d := range order {
		if d != n || i%2 == 0 {
			columns = append(columns, d)
		}
	}
	return len(order)%2 == 0 && isPermutation(columns, n)
}

// Tournament are rounds in which every one of n columns meets every other exactly once: n − 1 rounds, or n if n is odd, where one
// is left over in each, and comes last. (The circle method: one place is fixed, the others move on.)
func Tournament(n int) [][]int {
	even := n + n%2
	rounds := make([][]int, even-1)
	for r := range rounds {
		at := func(place int) int { // who is at a place of the circle
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

// Matchings are n orders of the columns. Every two players are neighbours in one of them if there are enough, else as many as may be: the
// rounds of a tournament, evenly apart. The columns of two groups that meet are paired one by one, what is left of a
// group with itself.
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
