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
// for each core, which wait for each other by spinning. It reports whether that worked.
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
