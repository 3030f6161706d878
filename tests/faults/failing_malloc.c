/* malloc and its kin, of which the n-th call since it was asked for fails: LD_PRELOAD, glibc.
 *
 * Only calls from chosen libraries count, those of which the path holds one of the texts of ``fail_from``, and of them
 * those that ask for some bytes at least. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *at, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

#define MOST 512
#define DEPTH 64 /* callers that are looked at */
static uintptr_t starts[MOST], stops[MOST];
static size_t least[MOST];
static int n_ranges;
static atomic_long left, seen; /* calls until the one that fails; calls so far */
static atomic_int armed;

/* Code of libraries whose path holds ``text`` counts from now on; returns how many ranges there are. */
int fail_from(const char *text, size_t bytes)
{
    char line[4096];
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        unsigned long start, stop;
        if (strstr(line, text) != NULL && sscanf(line, "%lx-%lx", &start, &stop) == 2 && n_ranges < MOST) {
            starts[n_ranges] = start;
            least[n_ranges] = bytes;
            stops[n_ranges++] = stop;
        }
    }
    if (maps != NULL)
        fclose(maps);
    return n_ranges;
}

/* The n-th call from now on fails; 0: none does, and calls are counted. */
void fail_at(long n)
{
    atomic_store(&left, n);
    atomic_store(&seen, 0);
    atomic_store(&armed, 1);
}

/* No more; returns how many calls there were. */
long fail_no_more(void)
{
    atomic_store(&armed, 0);
    return atomic_load(&seen);
}

static const char *library_of(const void *address)
{
    Dl_info found = {0};
    dladdr(address, &found);
    return found.dli_fname ? found.dli_fname : "?";
}

/* The library of the fault, and the first other one among its callers. */
static void tell(int number, siginfo_t *info, void *context)
{
    void *frames[DEPTH];
    const void *at = NULL;
    const char *there, *caller = "?";
    int i, inside = 0, n = backtrace(frames, DEPTH);
#if defined(__x86_64__)
    at = (const void *)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    at = (const void *)((ucontext_t *)context)->uc_mcontext.pc;
#endif
    there = library_of(at);
    for (i = 0; i < n; i++) {
        inside = inside || frames[i] == at;
        if (inside && strcmp(library_of(frames[i]), there) != 0) {
            caller = library_of(frames[i]);
            break;
        }
    }
    dprintf(2, "signal %d in %s called by %s\n", number, there, caller);
    (void)info;
    _exit(1);
}

/* From now on SIGSEGV says in whose code it came, and who called it. */
void tell_where(void)
{
    struct sigaction action = {0};
    void *frame;
    backtrace(&frame, 1); /* loads what it needs */
    action.sa_sigaction = tell;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, NULL);
}

static int fails(const void *caller, size_t size)
{
    int i;
    if (!atomic_load(&armed))
        return 0;
    for (i = 0; i < n_ranges; i++)
        if (size >= least[i] && (uintptr_t)caller >= starts[i] && (uintptr_t)caller < stops[i]) {
            atomic_fetch_add(&seen, 1);
            if (atomic_fetch_sub(&left, 1) == 1) {
                errno = ENOMEM;
                return 1;
            }
            return 0;
        }
    return 0;
}

void *malloc(size_t size)
{
    return fails(__builtin_return_address(0), size) ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    return fails(__builtin_return_address(0), n * size) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *at, size_t size)
{
    return fails(__builtin_return_address(0), size) ? NULL : __libc_realloc(at, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return fails(__builtin_return_address(0), size) ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    if (fails(__builtin_return_address(0), size))
        return ENOMEM;
    *out = __libc_memalign(alignment, size);
    return *out == NULL ? ENOMEM : 0;
}
