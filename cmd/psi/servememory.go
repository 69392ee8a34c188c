package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/psi-shapley/psi/serve"
)

// How much garbage the process may hold beside what is in use: measured by the memory that requests of strangers, and of
// callers who send as much as they may, cost it. The collector's work does not show beside that of the models.
const (
	spareBytes   = 32 << 20
	sparePercent = 50
)

// limitMemory sets the soft memory limit of the process to what its models use, what requests may hold and a little more, and
// has garbage collected when it is half of what is in use: else it may grow to as much. It measures again when models come
// and go, until stop is called. GOGC stays as the environment sets it, and GOMEMLIMIT is an upper bound.
func limitMemory(s *serve.Server, held int64) (stop func()) {
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
			if versions := s.Versions(); !slices.Equal(versions, measured) {
				measured = versions
				debug.SetMemoryLimit(min(before, usedBytes()-s.Held()+held+spareBytes))
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

// usedBytes is the memory that is in use and that the limit counts.
func usedBytes() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.Sys - m.HeapSys)
}
