package form

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/shapley"
)

// Evaluator evaluates rows with the weights of one network. It is safe for concurrent use, and the answer of a row does
// not depend on the other rows.
type Evaluator interface {
	// Pass evaluates rows: their values, and what else is wanted.
	Pass(ctx context.Context, b *encode.Batch, want Want) (*Explained, error)
	// Coalitions returns f(x_S) [B, P, C] for masks [B, P, D] over the observed cells.
	Coalitions(ctx context.Context, b *encode.Batch, masks []float32, per int) ([]float32, error)
	// Interactions returns the pairwise Shapley interaction indices [B, C, players, players] of the coalitions of
	// observed cells.
	Interactions(ctx context.Context, b *encode.Batch) ([]float32, error)
	// Close frees memory outside Go's heap.
	Close()
}

// Want is a set of results of a pass besides values.
type Want uint8

// Results of a pass.
const (
	Spread       Want = 1 << iota // σ and h²
	Attributions                  // f_d
	Doubt                         // epistemic uncertainty of attributions, over bags

	Everything = Spread | Attributions
)

// Explained is the answer of one network for rows, in standard deviations of the target or units of scores.
type Explained struct {
	Value          []float32 // [B, C] f(x_S) of the coalition S of the observed cells
	Empty          []float32 // [B, C] v(∅), if it is not 0; else nil
	Attributions   []float32 // [B, C, players] f_d(x_S)
	Std            []float32 // [B, C, players] σ_d(x_S)
	HiddenVariance []float32 // [B, C] h²(x_S)
}

// Residual returns the root mean square of v − v(∅) − Σ_d f_d relative to that of v − v(∅).
func (x *Explained) Residual() float64 {
	d := len(x.Attributions) / len(x.Value)
	var gap, size float64
	for i, v := range x.Value {
		worth := float64(v)
		if x.Empty != nil {
			worth -= float64(x.Empty[i])
		}
		sum := worth
		for _, phi := range x.Attributions[i*d : (i+1)*d] {
			sum -= float64(phi)
		}
		gap += sum * sum
		size += worth * worth
	}
	if size == 0 {
		return 0
	}
	return math.Sqrt(gap / size)
}

// NotFiniteError reports a row whose answer contains NaN or infinity.
type NotFiniteError struct{ Row int } // within the batch

func (e *NotFiniteError) Error() string {
	return fmt.Sprintf("form: the answer for row %d is not finite", e.Row)
}

// Renumber changes the row of a NotFiniteError; other errors are returned unchanged.
func Renumber(err error, number func(row int) int) error {
	if e, is := errors.AsType[*NotFiniteError](err); is {
		return &NotFiniteError{number(e.Row)}
	}
	return err
}

// finite looks for NaN and infinity in lists with an equal number of elements per row.
func finite[T float32 | float64](rows int, lists ...[]T) error {
	for _, list := range lists {
		for i, v := range list {
			if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
				return &NotFiniteError{i / (len(list) / rows)}
			}
		}
	}
	return nil
}

// coalitionsPerPass is the number of coalitions of one row that a RowGame evaluates at once.
const coalitionsPerPass = 512

// RowGame is the game of one row, S ↦ f(x_S), for package shapley to enumerate or sample. It has all players; a row
// with missing cells is audited with shapley.Restrict.
type RowGame struct {
	config Config
	of     coalitions
	row    *encode.Batch
	at     int // index of the row in its batch
}

type coalitions interface {
	Coalitions(ctx context.Context, b *encode.Batch, masks []float32, per int) ([]float32, error)
}

// RowGame returns the game of row i of b under an evaluator or an ensemble.
func (c Config) RowGame(of coalitions, b *encode.Batch, i int) *RowGame {
	return &RowGame{c, of, b.Slice(i, i+1), i}
}

// Players returns D.
func (g *RowGame) Players() int { return g.config.Inputs.Players() }

// Outputs returns C.
func (g *RowGame) Outputs() int { return g.config.Outputs }

// Values returns f(x_S) of each coalition.
func (g *RowGame) Values(ctx context.Context, s *shapley.Coalitions) ([]float64, error) {
	d, c := g.config.Inputs.Columns(), g.Outputs()
	values := make([]float64, 0, s.Len()*c)
	mask := make([]float32, coalitionsPerPass*d)
	for from := 0; from < s.Len(); from += coalitionsPerPass {
		k := min(coalitionsPerPass, s.Len()-from)
		clear(mask)
		for i := range k {
			for player := range s.Members(from + i) {
				g.Enter(mask[i*d:(i+1)*d], player)
			}
		}
		out, err := g.of.Coalitions(ctx, g.row, mask[:k*d], k)
		if err != nil {
			return nil, Renumber(err, func(int) int { return g.at })
		}
		for _, v := range out {
			values = append(values, float64(v))
		}
	}
	return values, nil
}

// Enter adds a player to the mask of a coalition: its column, or the observed columns of its group.
func (g *RowGame) Enter(mask []float32, player int) {
	if g.config.Inputs.Groups == nil {
		mask[player] = 1
		return
	}
	for _, j := range g.config.Inputs.Groups[player] {
		mask[j] = g.row.Observed[j]
	}
}

// Present returns the players that have a cell in the row.
func (g *RowGame) Present() []int {
	var present []int
	for player := range g.Players() {
		columns := []int{player}
		if g.config.Inputs.Groups != nil {
			columns = g.config.Inputs.Groups[player]
		}
		if slices.ContainsFunc(columns, func(j int) bool { return g.row.Observed[j] != 0 }) {
			present = append(present, player)
		}
	}
	return present
}

// MaxEnumerated is the maximum number of players whose coalitions are enumerated.
const MaxEnumerated = 14

// Enumerated computes the attributions and interactions of groups by enumerating their coalitions, which is exact for
// any pairing of columns. For everything else it uses an evaluator in which every column is a player.
type Enumerated struct {
	Evaluator
	config Config
}

// NewEnumerated returns an evaluator of groups, based on one of columns.
func (c Config) NewEnumerated(columns func(Config) (Evaluator, error)) (*Enumerated, error) {
	if n := c.Inputs.Players(); n > MaxEnumerated {
		return nil, fmt.Errorf("these groups are not those the model was trained with, and %d players are too many to enumerate: train with the groups, or make at most %d", n, MaxEnumerated)
	}
	own := c
	own.Inputs.Groups = nil
	e, err := columns(own)
	return &Enumerated{e, c}, err
}

// Pass evaluates rows.
func (e *Enumerated) Pass(ctx context.Context, b *encode.Batch, want Want) (*Explained, error) {
	x, err := e.Evaluator.Pass(ctx, b, want&^Attributions)
	if err != nil {
		return nil, err
	}
	if want&Spread != 0 {
		x.Std = e.groupStd(x.Std)
	}
	if want&Attributions == 0 {
		return x, nil
	}
	for i := range b.Rows {
		game := e.game(b, i)
		values, err := shapley.Exact(ctx, game)
		if err != nil {
			return nil, err
		}
		for _, phi := range values.Extend(game).Phi {
			x.Attributions = append(x.Attributions, float32(phi))
		}
	}
	return x, nil
}

// game returns the game of a row's players that have a cell.
func (e *Enumerated) game(b *encode.Batch, i int) *shapley.Subgame {
	game := e.config.RowGame(e.Evaluator, b, i)
	return shapley.Restrict(game, game.Present())
}

// groupStd returns σ of players from σ of columns [rows, C, D]: the columns of a group are independent, so their
// variances add up.
func (e *Enumerated) groupStd(of []float32) (std []float32) {
	columns := e.config.Inputs.Columns()
	for from := 0; from < len(of); from += columns {
		for _, group := range e.config.Inputs.Groups {
			variance := 0.0
			for _, d := range group {
				variance += float64(of[from+d]) * float64(of[from+d])
			}
			std = append(std, float32(math.Sqrt(variance)))
		}
	}
	return std
}

// Interactions returns the interaction indices of the players.
func (e *Enumerated) Interactions(ctx context.Context, b *encode.Batch) ([]float32, error) {
	var all []float32
	for i := range b.Rows {
		game := e.game(b, i)
		indices, err := shapley.Interactions(ctx, game)
		if err != nil {
			return nil, err
		}
		for _, v := range indices.Extend(game).I {
			all = append(all, float32(v))
		}
	}
	return all, nil
}
