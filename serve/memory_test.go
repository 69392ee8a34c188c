package serve

import (
	"errors"
	"testing"

	"github.com/psi-shapley/psi/serve/internal/observe"
)

// However much large requests hold, a small one finds room.
func TestSmallRequestsFindRoom(t *testing.T) {
	m := newMemory(64<<20, observe.NewMetrics())
	var err error
	for err == nil {
		err = m.budget(32 << 20).Reserve(4 << 20)
	}
	if !errors.Is(err, errMemory) {
		t.Fatal(err)
	}
	for range 10 {
		if err := m.budget(1 << 20).Reserve(100 << 10); err != nil {
			t.Fatal(err)
		}
	}
}
