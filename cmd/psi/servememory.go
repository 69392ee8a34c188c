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

// spareBytes is what the collector may leave uncollected beside what is in use.
const spareBytes = 32 << 20

// limitMemory sets the soft memory limit of the process to what its models use, what requests may hold and a little more;
// without one, garbage may grow to as much as is in use. It measures again when models come and go, until stop is
// called. A limit that the environment sets stays as it is.
func limitMemory(s *serve.Server, held int64) (stop func()) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	const look = 2 * time.Second
	before := debug.SetMemoryLimit(-1)
	end := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		tick := time.NewTicker(look)
		defer tick.Stop()
		var measured []string
		for {
			if versions := s.Versions(); measured == nil || !slices.Equal(versions, measured) {
				measured = append([]string{}, versions...)
				debug.SetMemoryLimit(usedBytes() - s.Held() + held + spareBytes)
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
	}
}

// usedBytes is the memory that is in use and that the limit counts.
func usedBytes() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.Sys - m.HeapSys)
}
