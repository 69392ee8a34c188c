package serve

import (
	"errors"
	"testing"

	"github.com/psi-shapley/psi/serve/internal/watch"
)

// However much large requests hold, a small one finds room.
func TestSmallRequestsFindRoom(t *testing.T) {
	m := newMemory(64<<20, watch.NewMetrics())
	for {
		large := m.budget(32 << 20)
		defer large.Close()
		if err := large.Reserve(4 << 20); errors.Is(err, errMemory) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for range 10 {
		small := m.budget(1 << 20)
		defer small.Close()
		if err := small.Reserve(100 << 10); err != nil {
			t.Fatal(err)
		}
	}
}
