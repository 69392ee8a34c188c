//go:build onnx && linux

// What ONNX Runtime's table of functions is given in place of one of its own. All versions share one table, and places in it never change.

#include <dlfcn.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

typedef void *status;
typedef struct {
	void **(*api)(uint32_t version);
	const char *(*version)(void);
} api_base;
enum { create_session_options = 10, set_intra_op_num_threads = 24 };

static status (*real_create)(void **options);
static status (*set_threads)(void *options, int threads);
static __thread int wanted;

static status create_limited(void **options) {
	status failed = real_create(options);
	return failed || !wanted ? failed : set_threads(*options, wanted);
}

void want_threads(int threads) { wanted = threads; }

// change_table lets sessions be made with the threads that are wanted. It returns 0 if that cannot be had.
int change_table(const char *path) {
	void *library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
	api_base *(*base)(void) = library ? (api_base * (*)(void)) dlsym(library, "OrtGetApiBase") : 0;
	void **api = base ? base()->api(1) : 0;
	if (!api) return 0;
	if (api[create_session_options] == (void *)create_limited) return 1;
	uintptr_t size = sysconf(_SC_PAGESIZE);
	uintptr_t first = (uintptr_t)&api[create_session_options] & ~(size - 1), end = (uintptr_t)&api[create_session_options + 1];
	real_create = (status (*)(void **))api[create_session_options];
	set_threads = (status (*)(void *, int))api[set_intra_op_num_threads];
	if (mprotect((void *)first, end - first, PROT_READ | PROT_WRITE)) return 0;
	api[create_session_options] = (void *)create_limited;
	mprotect((void *)first, end - first, PROT_READ);
	return 1;
}
