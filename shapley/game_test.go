package shapley_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/psi-shapley/psi/shapley"
)

// solutions runs every way to solve a game and returns the errors.
func solutions(ctx context.Context, game shapley.Game) map[string]error {
	_, exact := shapley.Exact(ctx, game)
	_, interactions := shapley.Interactions(ctx, game)
	_, permutation := shapley.Permutation(ctx, game, 1000, rand.New(rand.NewPCG(1, 0)))
	return map[string]error{"Exact": exact, "Interactions": interactions, "Permutation": permutation}
}

// cancelling is a game whose context is cancelled while it is played.
type cancelling struct {
	shapley.Game
	cancel context.CancelFunc
	calls  int
}

func (g *cancelling) Values(ctx context.Context, s *shapley.Coalitions) ([]float64, error) {
	g.calls++
	g.cancel()
	return g.Game.Values(ctx, s)
}

func TestCancellation(t *testing.T) {
	before, cancel := context.WithCancel(t.Context())
	cancel()
	for name, err := range solutions(before, additive(0, 1, 2)) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s with a cancelled context: %v", name, err)
		}
	}
	for name, game := range map[string]shapley.Game{
		"a game that listens":      additive(0, make([]float64, 14)...),
		"a game that does not":     make(product, 14),
		"a sub-game that does not": shapley.Restrict(make(product, 20), []int{19, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}),
	} {
		ctx, cancel := context.WithCancel(t.Context())
		counted := &cancelling{Game: game, cancel: cancel}
		if _, err := shapley.Exact(ctx, counted); !errors.Is(err, context.Canceled) || counted.calls != 1 {
			t.Errorf("Exact of %s: error %v after %d calls", name, err, counted.calls)
		}
	}
}

// broken is a game whose batches come out as given.
type broken struct {
	values func(s *shapley.Coalitions) ([]float64, error)
}

func (g broken) Players() int { return 3 }

func (g broken) Outputs() int { return 2 }

func (g broken) Values(_ context.Context, s *shapley.Coalitions) ([]float64, error) {
	return g.values(s)
}

func TestGameErrors(t *testing.T) {
	errBroken := errors.New("engine on fire")
	lastIs := func(v float64) func(s *shapley.Coalitions) ([]float64, error) {
		return func(s *shapley.Coalitions) ([]float64, error) {
			values := make([]float64, s.Len()*2)
			values[len(values)-1] = v
			return values, nil
		}
	}
	for _, test := range []struct {
		message string
		values  func(s *shapley.Coalitions) ([]float64, error)
	}{
		{"engine on fire", func(*shapley.Coalitions) ([]float64, error) { return nil, errBroken }},
		{"of 2 outputs, want", func(s *shapley.Coalitions) ([]float64, error) { return make([]float64, s.Len()), nil }},
		{"output 1 of a coalition of 3 of 3 players is NaN", lastIs(math.NaN())},
		{"output 1 of a coalition of 3 of 3 players is -Inf", lastIs(math.Inf(-1))},
	} {
		for name, err := range solutions(t.Context(), broken{test.values}) {
			if err == nil || !strings.Contains(err.Error(), test.message) {
				t.Errorf("%s: error %v, want one with %q", name, err, test.message)
			}
		}
	}
	for name, err := range solutions(t.Context(), broken{func(*shapley.Coalitions) ([]float64, error) { return nil, errBroken }}) {
		if !errors.Is(err, errBroken) {
			t.Errorf("%s: error %v does not wrap the game's", name, err)
		}
	}
}
