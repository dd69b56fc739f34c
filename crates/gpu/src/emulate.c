// Runs the kernel on the host, for tests of its arithmetic without a driver or a compiler for
// devices. The threads of a group run one after the other from barrier to barrier.
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <ucontext.h>

#define KERNEL static void
#define FUNCTION static
#define GLOBAL
#define SHARED static
#define SHARED_POINTER
#define THREAD fiber
#define GROUP group
// Continues with the next thread. Unlike swapcontext, this makes no system call.
#define BARRIER \
    do { \
        if (!_setjmp(resumed[fiber])) _longjmp(scheduler, 1); \
    } while (0)
#define ONES(x) __builtin_popcount(x)
#define ATOMIC_ADD(to, value) __sync_fetch_and_add(to, value)
#define UNROLL _Pragma("GCC unroll 16")
#define CELLS_ARGUMENT
#define CELLS_HERE static u32 cells[1u << 15]
typedef uint32_t u32;
typedef uint64_t u64;

#define FIBERS 256 // THREADS, which the text defines
#define STACK (64 << 10)

static ucontext_t fibers[FIBERS];
static jmp_buf scheduler, resumed[FIBERS];
static char stacks[FIBERS][STACK];
static u32 fiber, group, ended, begun, before;

#include "kernels.c"

// A pointer for each parameter of the kernel: the memory of a buffer, or the task.
static void *const *arguments;

static void run(void) {
    void *const *a = arguments;
    count_split(a[0], a[1], a[2], a[3], a[4], *(const Split *)a[5]);
    ended++;
    _longjmp(scheduler, 1);
}

// Runs `groups` groups of the kernel. Returns 1 if some threads of a group wait at a barrier that
// others do not reach.
int launch(u32 groups, void *const *given) {
    arguments = given;
    for (group = 0; group < groups; group++) {
        for (u32 i = 0; i < FIBERS; i++) {
            getcontext(&fibers[i]);
            fibers[i].uc_stack.ss_sp = stacks[i];
            fibers[i].uc_stack.ss_size = STACK;
            makecontext(&fibers[i], run, 0);
        }
        for (begun = 0, ended = 0; ended < FIBERS; begun = 1) {
            before = ended;
            for (fiber = 0; fiber < FIBERS; fiber++) {
                if (_setjmp(scheduler)) continue;
                if (begun) _longjmp(resumed[fiber], 1);
                setcontext(&fibers[fiber]);
            }
            if (ended != before && ended != FIBERS) return 1;
        }
    }
    return 0;
}
