//go:build onnx && linux

package engine

/*
#cgo LDFLAGS: -ldl
#include <stdlib.h>
int change_table(const char *library);
void want_threads(int threads);
*/
import "C"

import (
	"runtime"
	"sync"
	"unsafe"
)

var changing sync.Mutex // of the one table that ONNX Runtime has in a process

// limitThreads makes the number of threads of sessions a choice, which GoMLX's backend does not offer: the library's own is one
// for each core, which wait for each other by spinning. It also lets sessions run at once, which the backend does not. It reports
// whether that worked.
func limitThreads(library string) bool {
	changing.Lock()
	defer changing.Unlock()
	path := C.CString(library)
	defer C.free(unsafe.Pointer(path))
	return C.change_table(path) == 1
}

// withThreads runs f so that sessions which are made in it have that many threads.
func withThreads(threads int, f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	C.want_threads(C.int(threads))
	defer C.want_threads(0)
	return f()
}

// backendRuns is a lock of the backend's, which it holds while a session runs, of all that the process has. A session has a lock
// of its own besides, and the library lets any number of sessions run.
//
//go:linkname backendRuns github.com/gomlx/compute-onnx/internal/ort.runMu
var backendRuns sync.Mutex

// backendLocks is whether it does, which the first run tells: a later version may have no such lock.
var backendLocks = sync.OnceValue(func() bool {
	if backendRuns.TryLock() {
		backendRuns.Unlock()
		return false
	}
	return true
})

//export psiUnlockRuns
func psiUnlockRuns() {
	if backendLocks() {
		backendRuns.Unlock()
	}
}

//export psiLockRuns
func psiLockRuns() {
	if backendLocks() {
		backendRuns.Lock()
	}
}
