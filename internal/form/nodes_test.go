package form

import (
	"errors"
	"testing"
)

// The search ends at the goal, at the most there may be, and where rounding is all that is
// left; a residual that stalls above rounding is one of a game that needs more nodes.
func TestSearchOfFewestNodes(t *testing.T) {
	failed := errors.New("failed")
	for _, c := range []struct {
		name     string
		most     int
		residual func(nodes int) (float64, error)
		want     int
		tried    int
		err      error
	}{
		{"goal", 50, func(nodes int) (float64, error) { return 1 / float64(nodes*nodes*nodes*nodes), nil }, 33, 22, nil},
		{"rounding", 500, func(nodes int) (float64, error) { return max(3e-6, 1/float64(nodes*nodes*nodes*nodes)), nil }, 24, 20, nil},
		{"stalls above rounding", 20, func(int) (float64, error) { return 1e-3, nil }, 20, 16, nil},
		{"one player", 1, nil, 1, 0, nil},
		{"error", 20, func(int) (float64, error) { return 0, failed }, 0, 1, failed},
	} {
		t.Run(c.name, func(t *testing.T) {
			tried := 0
			nodes, err := minNodes(c.most, func(nodes int) (float64, error) {
				tried++
				return c.residual(nodes)
			})
			if nodes != c.want || tried != c.tried || !errors.Is(err, c.err) {
				t.Errorf("%d nodes after %d tries, error %v; want %d after %d, error %v", nodes, tried, err, c.want, c.tried, c.err)
			}
		})
	}
}
