package serve

import (
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/psi-shapley/psi/serve/internal/registry"
)

// How much garbage the process may hold beside the memory in use. The values follow from the memory that requests of
// strangers, and of callers who send as much as they may, cost the process. The collector's work is small beside the models'.
const (
	spareBytes   = 32 << 20
	sparePercent = 50
)

// limitMemory sets the soft memory limit of the process to the memory of its models, the limit of requests and spareBytes. It
// also makes the collector run when garbage is half of the memory in use, where Go's default is as much. It measures again
// when models come and go, until stop is called. GOGC of the environment stays, and GOMEMLIMIT is an upper bound.
func (s *Server) limitMemory() (stop func()) {
	restore := func() {}
	if os.Getenv("GOGC") == "" {
		before := debug.SetGCPercent(sparePercent)
		restore = func() { debug.SetGCPercent(before) }
	}
	const look = 2 * time.Second
	before := debug.SetMemoryLimit(-1)
	end := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		tick := time.NewTicker(look)
		defer tick.Stop()
		measured := []string{""} // which is no version
		for {
			if versions := s.versions(); !slices.Equal(versions, measured) {
				measured = versions
				debug.SetMemoryLimit(min(before, usedBytes()-s.memory.inUse()+s.config.MaxHeld+spareBytes))
			}
			select {
			case <-tick.C:
			case <-end:
				return
			}
		}
	})
	return func() {
		close(end)
		watching.Wait()
		debug.SetMemoryLimit(before)
		restore()
	}
}

// versions returns the model versions that answer, as NAME@VERSION.
func (s *Server) versions() []string {
	var all []string
	for _, status := range s.registry.Index() {
		if status.State == registry.Ready {
			all = append(all, status.Name+"@"+status.Version)
		}
	}
	return all
}

// usedBytes is the memory that is in use and that the limit counts.
func usedBytes() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.Sys - m.HeapSys)
}
