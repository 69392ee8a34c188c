//go:build onnx && linux

package engine

/*
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

// ONNX Runtime's table of functions, of which all versions share one; places in it never change.
typedef void *status;
typedef struct {
	void **(*api)(uint32_t version);
	const char *(*version)(void);
} api_base;
enum { create_session_options = 10, set_intra_op_num_threads = 24 };

static status (*create)(void **options);
static status (*set_threads)(void *options, int threads);
static __thread int wanted;

static status create_limited(void **options) {
	status failed = create(options);
	return failed || !wanted ? failed : set_threads(*options, wanted);
}

static void want_threads(int threads) { wanted = threads; }

// limit_threads lets sessions be made with the threads that are wanted. It returns 0 if that cannot be had.
static int limit_threads(const char *path) {
	void *library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
	api_base *(*base)(void) = library ? (api_base *(*)(void))dlsym(library, "OrtGetApiBase") : 0;
	void **api = base ? base()->api(1) : 0;
	if (!api) return 0;
	if (api[create_session_options] == (void *)create_limited) return 1;
	uintptr_t size = sysconf(_SC_PAGESIZE);
	void *page = (void *)((uintptr_t)&api[create_session_options] & ~(size - 1));
	create = (status (*)(void **))api[create_session_options];
	set_threads = (status (*)(void *, int))api[set_intra_op_num_threads];
	if (mprotect(page, size, PROT_READ | PROT_WRITE)) return 0;
	api[create_session_options] = (void *)create_limited;
	mprotect(page, size, PROT_READ);
	return 1;
}
*/
import "C"

import (
	"runtime"
	"sync"
	"unsafe"
)

var limiting sync.Mutex // of the one table that ONNX Runtime has in a process

// limitThreads makes the number of threads of sessions a choice, which GoMLX's backend does not offer: the library's own is one
// for each core, which wait for each other by spinning. It reports whether that worked.
func limitThreads(library string) bool {
	limiting.Lock()
	defer limiting.Unlock()
	path := C.CString(library)
	defer C.free(unsafe.Pointer(path))
	return C.limit_threads(path) == 1
}

// withThreads runs f so that sessions which are made in it have that many threads.
func withThreads(threads int, f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	C.want_threads(C.int(threads))
	defer C.want_threads(0)
	return f()
}
