package shapley

import (
	"fmt"
	"iter"
	"math/bits"
)

// Coalitions is a batch of subsets of n players, stored as a matrix of bits with one row per coalition. New coalitions
// are empty.
type Coalitions struct {
	players int
	length  int
	stride  int // words per coalition
	words   []uint64
}

const wordBits = 64

// NewCoalitions returns a batch of length empty coalitions of the given number
// of players.
func NewCoalitions(length, players int) *Coalitions {
	// One word at least, so that a game without players needs no special case.
	stride := max(1, (players+wordBits-1)/wordBits)
	return &Coalitions{players: players, length: length, stride: stride, words: make([]uint64, length*stride)}
}

// Len returns the number of coalitions in the batch.
func (s *Coalitions) Len() int { return s.length }

// Players returns the number of players that coalitions are drawn from.
func (s *Coalitions) Players() int { return s.players }

// Has reports whether player belongs to coalition i.
func (s *Coalitions) Has(i, player int) bool {
	return *s.word(i, player)&bit(player) != 0
}

// Add puts player into coalition i.
func (s *Coalitions) Add(i, player int) { *s.word(i, player) |= bit(player) }

// Remove takes player out of coalition i.
func (s *Coalitions) Remove(i, player int) { *s.word(i, player) &^= bit(player) }

// Size returns the number of players in coalition i.
func (s *Coalitions) Size(i int) int {
	size := 0
	for _, word := range s.row(i) {
		size += bits.OnesCount64(word)
	}
	return size
}

// Members iterates over the players of coalition i in increasing order. It takes one step per member, not per player.
func (s *Coalitions) Members(i int) iter.Seq[int] {
	row := s.row(i)
	return func(yield func(int) bool) {
		for w, word := range row {
			for ; word != 0; word &= word - 1 {
				if !yield(w*wordBits + bits.TrailingZeros64(word)) {
					return
				}
			}
		}
	}
}

// complement sets coalition i to the complement of coalition j.
func (s *Coalitions) complement(i, j int) {
	row := s.row(i)
	for w, word := range s.row(j) {
		row[w] = ^word
	}
	unused := s.stride*wordBits - s.players
	row[s.stride-1] &= ^uint64(0) >> unused
}

func (s *Coalitions) row(i int) []uint64 {
	return s.words[i*s.stride : (i+1)*s.stride]
}

func (s *Coalitions) word(i, player int) *uint64 {
	if uint(player) >= uint(s.players) {
		panic(fmt.Sprintf("shapley: player %d out of range of %d players", player, s.players))
	}
	return &s.row(i)[player/wordBits]
}

func bit(player int) uint64 { return 1 << (player % wordBits) }
