//go:build onnx && linux

// What ONNX Runtime's table of functions is given in place of two of its own. All versions share one table, and places in it never change.

#include <dlfcn.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "_cgo_export.h"

typedef void *status;
typedef status (*run_function)(void *, const void *, const char *const *, const void *const *, size_t, const char *const *, size_t, void **);
typedef struct {
	void **(*api)(uint32_t version);
	const char *(*version)(void);
} api_base;
enum { run = 9, create_session_options = 10, set_intra_op_num_threads = 24 };

static run_function real_run;
static status (*real_create)(void **options);
static status (*set_threads)(void *options, int threads);
static __thread int wanted;

// run_at_once lets others run meanwhile: the caller holds a lock of all sessions of the process. Runs of other users of the library,
// who hold no such lock, pass through: psi's own are the ones that want a number of threads.
static status run_at_once(void *session, const void *options, const char *const *input_names, const void *const *inputs, size_t input_count,
		const char *const *output_names, size_t output_count, void **outputs) {
	if (!wanted) return real_run(session, options, input_names, inputs, input_count, output_names, output_count, outputs);
	psiUnlockRuns();
	status failed = real_run(session, options, input_names, inputs, input_count, output_names, output_count, outputs);
	psiLockRuns();
	return failed;
}

static status create_limited(void **options) {
	status failed = real_create(options);
	return failed || !wanted ? failed : set_threads(*options, wanted);
}

void want_threads(int threads) { wanted = threads; }

// change_table lets sessions be made with the threads that are wanted, and run at once. It returns 0 if that cannot be had.
int change_table(const char *path) {
	void *library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
	api_base *(*base)(void) = library ? (api_base * (*)(void)) dlsym(library, "OrtGetApiBase") : 0;
	void **api = base ? base()->api(1) : 0;
	if (!api) return 0;
	if (api[run] == (void *)run_at_once) return 1;
	uintptr_t size = sysconf(_SC_PAGESIZE);
	uintptr_t first = (uintptr_t)&api[run] & ~(size - 1), end = (uintptr_t)&api[create_session_options + 1];
	real_run = (run_function)api[run];
	real_create = (status (*)(void **))api[create_session_options];
	set_threads = (status (*)(void *, int))api[set_intra_op_num_threads];
	if (mprotect((void *)first, end - first, PROT_READ | PROT_WRITE)) return 0;
	api[run] = (void *)run_at_once;
	api[create_session_options] = (void *)create_limited;
	mprotect((void *)first, end - first, PROT_READ);
	return 1;
}
